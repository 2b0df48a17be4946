/** The PCI world: topology from sysfs, and the devices behind names. */
module org.nvmf4j.pcie {
    requires static transitive org.jspecify;

    exports org.nvmf4j.pcie;
}
