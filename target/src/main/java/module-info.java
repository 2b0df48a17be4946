/** NVMe over Fabrics target. */
module org.nvmf4j.target {
    requires static transitive org.jspecify;
    requires transitive org.nvmf4j.nvme;
    requires transitive org.nvmf4j.verbs;
    requires org.jctools.core.jdk11;
    requires jdk.unsupported; // com.sun.nio.file: direct I/O

    exports org.nvmf4j.target;
    exports org.nvmf4j.target.backend;
    exports org.nvmf4j.target.spi;
}
