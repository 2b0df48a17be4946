package org.nvmf4j.linux;

import java.nio.ByteOrder;
import java.util.Locale;

/** Whether this machine and this JVM let us make system calls. */
final class NativeAccess {
    private static final System.Logger LOGGER = System.getLogger("org.nvmf4j.linux");
    private static final String PROBLEM = probe();

    private NativeAccess() {}

    static boolean isAvailable() {
        return PROBLEM.isEmpty();
    }

    /** Why system calls are not possible, and what to do; empty if they are. */
    static String problem() {
        return PROBLEM;
    }

    private static String probe() {
        String system = System.getProperty("os.name", "");
        String machine = System.getProperty("os.arch", "").toLowerCase(Locale.ROOT);
        boolean known = machine.equals("amd64") || machine.equals("x86_64") || machine.equals("aarch64");
        if (!system.equals("Linux") || !known || ByteOrder.nativeOrder() != ByteOrder.LITTLE_ENDIAN) {
            return "native sockets need Linux on x86-64 or aarch64, this is " + system + " on " + machine;
        }
        try {
            LibC.schedGetcpu(LibC.newErrnoState());
            return "";
        } catch (IllegalCallerException | LinkageError e) {
            String problem = "native access is denied; start Java with --enable-native-access=org.nvmf4j.linux"
                    + " (on the class path: ALL-UNNAMED)";
            LOGGER.log(System.Logger.Level.WARNING, problem);
            return problem;
        }
    }
}
