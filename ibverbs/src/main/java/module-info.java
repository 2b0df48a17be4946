/** The provider that drives RDMA devices through libibverbs and librdmacm. */
module org.nvmf4j.ibverbs {
    requires static transitive org.jspecify;
    requires transitive org.nvmf4j.verbs;
    requires org.nvmf4j.linux;
    requires org.jctools.core.jdk11;

    exports org.nvmf4j.ibverbs;

    provides org.nvmf4j.verbs.spi.VerbsProvider with
            org.nvmf4j.ibverbs.IbVerbsProvider;
}
