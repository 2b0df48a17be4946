/** Connection management over QP 1. */
@NullMarked
package org.nvmf4j.roce.cm;

import org.jspecify.annotations.NullMarked;
