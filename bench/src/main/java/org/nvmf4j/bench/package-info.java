/** Workloads in fio's words, statistics and reports. */
@NullMarked
package org.nvmf4j.bench;

import org.jspecify.annotations.NullMarked;
