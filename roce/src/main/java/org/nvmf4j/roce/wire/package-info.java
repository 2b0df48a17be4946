/** RoCEv2 packets: headers, opcode table, ICRC, pcap files. */
@NullMarked
package org.nvmf4j.roce.wire;

import org.jspecify.annotations.NullMarked;
