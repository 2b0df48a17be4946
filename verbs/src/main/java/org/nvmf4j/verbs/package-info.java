/** RDMA in libibverbs' words: devices, protection domains, memory regions, queue pairs, completion queues. */
@NullMarked
package org.nvmf4j.verbs;

import org.jspecify.annotations.NullMarked;
