/** What a backend of a namespace implements. */
@NullMarked
package org.nvmf4j.target.spi;

import org.jspecify.annotations.NullMarked;
