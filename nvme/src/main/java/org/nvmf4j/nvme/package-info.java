/** Commands, completions, SGLs, Identify and log pages, Fabrics commands, NVMe/RDMA private data. */
@NullMarked
package org.nvmf4j.nvme;

import org.jspecify.annotations.NullMarked;
