/** NVMe over Fabrics target. */
module org.nvmf4j.target {
    requires static transitive org.jspecify;
    requires transitive org.nvmf4j.nvme;
    requires transitive org.nvmf4j.verbs;
}
