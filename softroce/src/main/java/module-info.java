/** The provider that runs RoCEv2 on UDP sockets. */
module org.nvmf4j.softroce {
    requires static transitive org.jspecify;
    requires transitive org.nvmf4j.verbs;
    requires org.nvmf4j.roce;
    requires org.nvmf4j.linux;
    requires org.jctools.core.jdk11;

    exports org.nvmf4j.softroce;

    provides org.nvmf4j.verbs.spi.VerbsProvider with
            org.nvmf4j.softroce.SoftRoceProvider;
}
