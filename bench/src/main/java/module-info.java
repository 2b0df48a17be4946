/** Workloads in fio's words, and their statistics. */
module org.nvmf4j.bench {
    requires static transitive org.jspecify;
    requires transitive org.nvmf4j.host;
    requires org.nvmf4j.linux;
    requires java.management;
    requires transitive HdrHistogram;
    requires org.apache.commons.statistics.descriptive;
    requires org.apache.commons.statistics.distribution;
    requires transitive tools.jackson.core;

    exports org.nvmf4j.bench;
    exports org.nvmf4j.bench.compare;
}
