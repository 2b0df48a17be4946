/** Software RoCEv2: devices and lanes on UDP sockets. */
@NullMarked
package org.nvmf4j.softroce;

import org.jspecify.annotations.NullMarked;
