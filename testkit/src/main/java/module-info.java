/** Virtual time, a simulated network and the provider contract suite, for tests. */
module org.nvmf4j.testkit {
    requires static transitive org.jspecify;
    requires transitive org.nvmf4j.verbs;
    requires transitive org.junit.jupiter.api;
    requires transitive org.assertj.core;
    requires org.nvmf4j.linux;
    requires java.management;
    requires jdk.management;

    exports org.nvmf4j.testkit;
    exports org.nvmf4j.testkit.contract;
}
