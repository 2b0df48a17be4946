package org.nvmf4j.linux;

/**
 * How to open a {@link UdpSocket}. Immutable; start from {@link #defaults}.
 *
 * @param implementation which implementation to use
 * @param receiveBufferBytes wanted size of the kernel's receive buffer, positive; what was granted is {@link
 *     UdpSocket#receiveBufferBytes}
 * @param sendBufferBytes wanted size of the kernel's send buffer, positive
 * @param segmentation whether to let the kernel split messages of several datagrams (generic segmentation offload)
 * @param coalescing whether to let the kernel join datagrams of one size and flow (generic receive offload)
 */
public record UdpOptions(
        Implementation implementation,
        int receiveBufferBytes,
        int sendBufferBytes,
        boolean segmentation,
        boolean coalescing) {
    /** The system property that chooses where {@link Implementation#AUTOMATIC} is asked for: automatic, native, portable. */
    public static final String IMPLEMENTATION_PROPERTY = "nvmf4j.udp";

    private static final int MEBIBYTE = 1 << 20;

    /** The two implementations of a socket, and the choice between them. */
    public enum Implementation {
        /** Native where it works, else portable; the system property {@value #IMPLEMENTATION_PROPERTY} overrides it. */
        AUTOMATIC,
        /** System calls by {@code java.lang.foreign}: Linux on x86-64 or aarch64, or opening fails. */
        NATIVE,
        /** {@code java.nio}: everywhere, one datagram a system call, neither segmentation nor coalescing. */
        PORTABLE
    }

    public UdpOptions {
        if (receiveBufferBytes <= 0 || sendBufferBytes <= 0) {
            throw new IllegalArgumentException(
                    "socket buffer sizes must be positive, not " + receiveBufferBytes + " and " + sendBufferBytes);
        }
    }

    /** Automatic choice, 16 MiB to receive, 4 MiB to send, segmentation and coalescing on. */
    public static UdpOptions defaults() {
        return new UdpOptions(Implementation.AUTOMATIC, 16 * MEBIBYTE, 4 * MEBIBYTE, true, true);
    }

    /** The same with another implementation. */
    public UdpOptions withImplementation(Implementation other) {
        return new UdpOptions(other, receiveBufferBytes, sendBufferBytes, segmentation, coalescing);
    }

    /** The same with another receive buffer size. */
    public UdpOptions withReceiveBufferBytes(int bytes) {
        return new UdpOptions(implementation, bytes, sendBufferBytes, segmentation, coalescing);
    }

    /** The same with another send buffer size. */
    public UdpOptions withSendBufferBytes(int bytes) {
        return new UdpOptions(implementation, receiveBufferBytes, bytes, segmentation, coalescing);
    }

    /** The same with segmentation on or off. */
    public UdpOptions withSegmentation(boolean on) {
        return new UdpOptions(implementation, receiveBufferBytes, sendBufferBytes, on, coalescing);
    }

    /** The same with coalescing on or off. */
    public UdpOptions withCoalescing(boolean on) {
        return new UdpOptions(implementation, receiveBufferBytes, sendBufferBytes, segmentation, on);
    }
}
