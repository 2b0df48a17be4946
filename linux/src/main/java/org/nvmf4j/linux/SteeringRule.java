package org.nvmf4j.linux;

/**
 * Which socket of a group receives a datagram: the big-endian 32-bit word at {@code payloadOffset} of the UDP payload,
 * and-ed with {@code valueMask}, is the datagram's value; its low bits are the socket's index. Datagrams with {@code
 * pinnedValue}, and those too short to hold the word, go to socket 0.
 *
 * <p>The kernel steers a whole buffer of coalesced datagrams by its first one. A receiver that has coalescing on must
 * therefore be ready for datagrams of other sockets.
 *
 * @param payloadOffset bytes from the start of the UDP payload, at least 0
 * @param valueMask the bits of the word that are the value
 * @param pinnedValue the value that always goes to socket 0
 */
public record SteeringRule(int payloadOffset, int valueMask, int pinnedValue) {
    public SteeringRule {
        if (payloadOffset < 0) {
            throw new IllegalArgumentException("payload offset " + payloadOffset + " is negative");
        }
    }

    /** The index of the socket that a datagram with this word goes to, in a group of {@code sockets}, a power of two. */
    public int socketIndex(int word, int sockets) {
        int value = word & valueMask;
        return value == pinnedValue ? 0 : value & sockets - 1;
    }
}
