/** The RoCEv2 protocol as pure state machines. */
module org.nvmf4j.roce {
    requires static transitive org.jspecify;
    requires transitive org.nvmf4j.verbs;

    exports org.nvmf4j.roce.cm;
    exports org.nvmf4j.roce.rc;
    exports org.nvmf4j.roce.wire;
}
