/** The PCI world: topology from sysfs, the devices behind names, peer-to-peer memory. */
module org.nvmf4j.pcie {
    requires static transitive org.jspecify;
    requires transitive org.nvmf4j.target;
    requires org.nvmf4j.linux;

    exports org.nvmf4j.pcie;
}
