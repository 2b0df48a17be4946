/** Which addresses, or which bytes of a memory, are free. */
@NullMarked
package org.nvmf4j.pcie.ranges;

import org.jspecify.annotations.NullMarked;
