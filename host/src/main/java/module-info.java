/** NVMe over Fabrics host. */
module org.nvmf4j.host {
    requires static transitive org.jspecify;
    requires transitive org.nvmf4j.nvme;
    requires transitive org.nvmf4j.verbs;

    exports org.nvmf4j.host;
}
