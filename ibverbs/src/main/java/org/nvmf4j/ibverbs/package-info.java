/** RDMA devices through rdma-core's libibverbs and librdmacm, by {@code java.lang.foreign}. */
@NullMarked
package org.nvmf4j.ibverbs;

import org.jspecify.annotations.NullMarked;
