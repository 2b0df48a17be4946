package org.nvmf4j.pcie;

/** What stands behind a name: a PCI function, or something else. */
public sealed interface FoundDevice {
    /**
     * A PCI function.
     *
     * @param address where it sits
     */
    record OnPci(PciAddress address) implements FoundDevice {}

    /**
     * Something that is no PCI function, so that peer-to-peer memory is out of its reach.
     *
     * @param reason for people
     */
    record NotOnPci(String reason) implements FoundDevice {}
}
