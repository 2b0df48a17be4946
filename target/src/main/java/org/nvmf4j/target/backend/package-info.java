/** The backends that come with the target: null, memory, and file or block device. */
@NullMarked
package org.nvmf4j.target.backend;

import org.jspecify.annotations.NullMarked;
