package org.nvmf4j.target.spi;

import java.nio.file.Path;

/** Who moves data into and out of peer memory: the RDMA device, or what stands behind a namespace. */
public sealed interface PeerClient {
    /** For people, as the subject of a sentence. */
    String description();

    /**
     * A PCI function.
     *
     * @param pciAddress as {@code 0000:05:00.0}
     * @param role what it is here, such as {@code the drive}
     */
    record PciFunction(String pciAddress, String role) implements PeerClient {
        @Override
        public String description() {
            return role + " " + pciAddress;
        }
    }

    /**
     * An RDMA device.
     *
     * @param name as below {@code /sys/class/infiniband}, or what a software provider calls it
     */
    record RdmaDevice(String name) implements PeerClient {
        @Override
        public String description() {
            return "RDMA device " + name;
        }
    }

    /**
     * The block device that a file is on, or the file itself if it is a block device.
     *
     * @param path of the file
     */
    record File(Path path) implements PeerClient {
        @Override
        public String description() {
            return "the device behind " + path;
        }
    }

    /**
     * The CPU, which reaches all memory but is no PCI device.
     *
     * @param what moves its data with the CPU, such as {@code the null backend}
     */
    record Cpu(String what) implements PeerClient {
        @Override
        public String description() {
            return what;
        }
    }
}
