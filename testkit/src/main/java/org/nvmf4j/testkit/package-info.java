/** Virtual time, a simulated network from a seed, and the contract that every provider keeps. */
@NullMarked
package org.nvmf4j.testkit;

import org.jspecify.annotations.NullMarked;
