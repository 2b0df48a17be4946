/** The reliable connection: requester, responder and their timers. */
@NullMarked
package org.nvmf4j.roce.rc;

import org.jspecify.annotations.NullMarked;
