/** Comparisons of bench runs: interleaved pairs, differences with their uncertainty, and reports about them. */
@NullMarked
package org.nvmf4j.bench.compare;

import org.jspecify.annotations.NullMarked;
