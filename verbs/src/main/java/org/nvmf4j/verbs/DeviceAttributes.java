package org.nvmf4j.verbs;

import java.net.InetAddress;

/**
 * What a device is and can do.
 *
 * @param provider see {@link org.nvmf4j.verbs.spi.VerbsProvider#name}
 * @param name as the system or the provider calls it
 * @param localAddress the address that it answers to
 * @param vectors completion vectors
 * @param pathMtuBytes largest path MTU towards its link, 256 to 4096
 * @param maxWorkRequests of a send or receive queue
 * @param maxSge elements of a scatter/gather list
 * @param maxReadRequests RDMA READs outstanding per queue pair, in either direction
 */
public record DeviceAttributes(
        String provider,
        String name,
        InetAddress localAddress,
        int vectors,
        int pathMtuBytes,
        int maxWorkRequests,
        int maxSge,
        int maxReadRequests) {}
