/** The nvmf command. */
module org.nvmf4j.cli {
    requires static transitive org.jspecify;
    requires org.nvmf4j.host;
    requires org.nvmf4j.target;
    requires org.nvmf4j.pcie;
    requires org.nvmf4j.bench;
    requires org.nvmf4j.nvme;
    requires org.nvmf4j.verbs;
    requires org.nvmf4j.roce;
    requires org.nvmf4j.linux;
    requires info.picocli;
    requires tools.jackson.core;
    requires me.tongfei.progressbar;
    requires java.logging;
    requires java.management;
    requires jdk.management;
    requires HdrHistogram;

    opens org.nvmf4j.cli to
            info.picocli,
            java.logging;
}
