/** RDMA as an API, with the policy that sits above every provider. */
module org.nvmf4j.verbs {
    requires static transitive org.jspecify;
    requires org.jctools.core.jdk11;

    exports org.nvmf4j.verbs;
    exports org.nvmf4j.verbs.spi;

    uses org.nvmf4j.verbs.spi.VerbsProvider;

    provides org.nvmf4j.verbs.spi.VerbsProvider with
            org.nvmf4j.verbs.loopback.LoopbackProvider;
}
