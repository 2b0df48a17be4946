package org.nvmf4j.nvme;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.util.UUID;

/** NVMe Qualified Names: the rules for them, and the well-known ones (NVMe Base 2.0, section 4.5). */
public final class Nqn {
    /** The discovery subsystem that every target has. */
    public static final String DISCOVERY = "nqn.2014-08.org.nvmexpress.discovery";
    /** The longest name, in bytes of UTF-8. */
    public static final int MAX_BYTES = 223;
    /** Names lie in fields of this size, padded with NUL. */
    public static final int FIELD_BYTES = 256;

    private static final String PREFIX = "nqn.";
    private static final String UUID_PREFIX = "nqn.2014-08.org.nvmexpress:uuid:";

    private Nqn() {}

    /** The name made of a UUID, which needs no domain name. */
    public static String of(UUID uuid) {
        return UUID_PREFIX + uuid;
    }

    /**
     * Whether this may be a name: it begins with {@code nqn.}, goes on, has at most {@link #MAX_BYTES}, and has no space or control
     * character.
     */
    public static boolean isValid(String nqn) {
        return problem(nqn).isEmpty();
    }

    /**
     * The name itself.
     *
     * @throws IllegalArgumentException if it is not valid; the message says why
     */
    public static String requireValid(String nqn) {
        String problem = problem(nqn);
        if (!problem.isEmpty()) {
            throw new IllegalArgumentException("\"" + nqn + "\" is not an NQN: " + problem);
        }
        return nqn;
    }

    private static String problem(String nqn) {
        if (!nqn.startsWith(PREFIX) || nqn.length() == PREFIX.length()) {
            return "it must be nqn. and a name, as in nqn.2025-01.com.example:disk1";
        }
        int length = nqn.getBytes(UTF_8).length;
        if (length > MAX_BYTES) {
            return "it has " + length + " bytes, at most " + MAX_BYTES + " are allowed";
        }
        for (int i = 0; i < nqn.length(); i++) {
            char c = nqn.charAt(i);
            if (c == ' ' || c == '\ufffd' || Character.isISOControl(c)) {
                return "it has a space, a control character or broken UTF-8 at position " + i;
            }
        }
        return "";
    }
}
