/** What a provider implements. */
@NullMarked
package org.nvmf4j.verbs.spi;

import org.jspecify.annotations.NullMarked;
