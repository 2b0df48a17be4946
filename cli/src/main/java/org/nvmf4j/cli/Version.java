package org.nvmf4j.cli;

import picocli.CommandLine.IVersionProvider;

/** The version in the jar's manifest, and the Java that runs it. */
final class Version implements IVersionProvider {
    @Override
    public String[] getVersion() {
        String version = Main.class.getPackage().getImplementationVersion();
        return new String[] {
            "nvmf " + (version == null ? "(not packaged)" : version) + ", Java " + Runtime.version() + " on "
                    + System.getProperty("os.name") + " " + System.getProperty("os.arch")
        };
    }
}
