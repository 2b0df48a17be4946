package org.nvmf4j.roce.wire;

/**
 * A frame from a capture file.
 *
 * @param number position in the file, from 1
 * @param timestampNanos since the epoch
 * @param linkType what the frame begins with, a LINKTYPE number of the pcap formats: 1 is Ethernet
 * @param bytes what was captured; not copied
 * @param originalLengthBytes what was on the link, which may be more
 */
@SuppressWarnings("ArrayRecordComponent") // handed through once
public record PcapFrame(long number, long timestampNanos, int linkType, byte[] bytes, int originalLengthBytes) {}
