/** The {@code nvmf} command. */
@NullMarked
package org.nvmf4j.cli;

import org.jspecify.annotations.NullMarked;
