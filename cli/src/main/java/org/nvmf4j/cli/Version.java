package org.nvmf4j.cli;

import picocli.CommandLine.IVersionProvider;

/** The version in the jar's manifest, and the Java that runs it. */
final class Version implements IVersionProvider {
    @Override
    public String[] getVersion() {
        return new String[] {
            name() + ", Java " + Runtime.version() + " on " + System.getProperty("os.name") + " "
                    + System.getProperty("os.arch")
        };
    }

    /** {@code nvmf} and the version. */
    static String name() {
        String version = Main.class.getPackage().getImplementationVersion();
        return "nvmf " + (version == null ? "(not packaged)" : version);
    }
}
