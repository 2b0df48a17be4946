/** Linux system calls by {@code java.lang.foreign}, with portable stand-ins. */
@NullMarked
package org.nvmf4j.linux;

import org.jspecify.annotations.NullMarked;
