/** The provider that runs RoCEv2 on UDP sockets. */
module org.nvmf4j.softroce {
    requires static transitive org.jspecify;
    requires org.nvmf4j.roce;
    requires org.nvmf4j.verbs;
    requires org.nvmf4j.linux;
}
