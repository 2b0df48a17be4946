/** What the bytes of NVMe over Fabrics mean: formats only. */
module org.nvmf4j.nvme {
    requires static transitive org.jspecify;

    exports org.nvmf4j.nvme;
}
