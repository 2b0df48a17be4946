/** Linux system calls for data planes: batched UDP, memory, affinity. */
module org.nvmf4j.linux {
    requires static transitive org.jspecify;
    requires jdk.net;

    exports org.nvmf4j.linux;
}
