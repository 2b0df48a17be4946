/**
 * RDMA devices of one process that reach each other through memory: a provider without a network, with the semantics of a reliable
 * connection between two NICs.
 */
@NullMarked
package org.nvmf4j.verbs.loopback;

import org.jspecify.annotations.NullMarked;
