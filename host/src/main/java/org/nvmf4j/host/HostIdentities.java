package org.nvmf4j.host;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;
import org.nvmf4j.nvme.HostIdentity;
import org.nvmf4j.nvme.Nqn;

/**
 * Where a host's NQN and identifier come from, and that they stay paired: targets tell hosts apart by either, so one identifier with
 * two NQNs is refused.
 */
public final class HostIdentities {
    private static final Path SYSTEM_FOLDER = Path.of("/etc/nvme");
    private static final ConcurrentHashMap<UUID, String> PAIRS = new ConcurrentHashMap<>();

    private HostIdentities() {}

    /**
     * This machine's identity, from {@code /etc/nvme/hostnqn} and {@code hostid} as nvme-cli keeps them; where they are missing, one
     * that this process made at random and keeps.
     */
    public static HostIdentity local() {
        return Local.IDENTITY;
    }

    /**
     * An identity of that NQN with the identifier that belongs to it: this machine's if the NQN is, else the UUID that is in the NQN,
     * else one derived from it.
     *
     * @throws IllegalArgumentException if it is no NQN
     */
    public static HostIdentity of(String hostNqn) {
        HostIdentity local = local();
        return hostNqn.equals(local.hostNqn()) ? local : new HostIdentity(hostNqn, derivedId(hostNqn));
    }

    /** Reads the two files of a folder; null if there is no host NQN. */
    static @Nullable HostIdentity read(Path folder) {
        String nqn = firstLine(folder.resolve("hostnqn"));
        if (nqn.isEmpty()) {
            return null;
        }
        String id = firstLine(folder.resolve("hostid"));
        return new HostIdentity(nqn, id.isEmpty() ? derivedId(nqn) : UUID.fromString(id));
    }

    private static UUID derivedId(String nqn) {
        String uuidNqn = Nqn.of(new UUID(0, 0));
        String prefix = uuidNqn.substring(0, uuidNqn.lastIndexOf(':') + 1);
        if (nqn.startsWith(prefix)) {
            try {
                return UUID.fromString(nqn.substring(prefix.length()));
            } catch (IllegalArgumentException e) {
                return UUID.nameUUIDFromBytes(nqn.getBytes(UTF_8));
            }
        }
        return UUID.nameUUIDFromBytes(nqn.getBytes(UTF_8));
    }

    private static String firstLine(Path file) {
        try {
            return Files.readString(file).lines().findFirst().orElse("").strip();
        } catch (IOException e) {
            return ""; // missing, or not for this user: then it is as if there were none
        }
    }

    /**
     * Marks a pair as used by this process.
     *
     * @throws HostException if its identifier belongs to another NQN, here or in {@code /etc/nvme}
     */
    static void claim(HostIdentity identity) throws HostException {
        HostIdentity local = local();
        String owner = identity.hostId().equals(local.hostId())
                ? local.hostNqn()
                : PAIRS.computeIfAbsent(identity.hostId(), id -> identity.hostNqn());
        if (!owner.equals(identity.hostNqn())) {
            throw new HostException("host ID " + identity.hostId() + " belongs to host NQN " + owner
                    + " and cannot be paired with " + identity.hostNqn() + "; give each host NQN its own host ID");
        }
    }

    private static final class Local {
        static final HostIdentity IDENTITY = find();

        private static HostIdentity find() {
            try {
                HostIdentity system = read(SYSTEM_FOLDER);
                return system != null ? system : HostIdentity.of(UUID.randomUUID());
            } catch (IllegalArgumentException e) {
                System.getLogger(HostIdentities.class.getName())
                        .log(
                                System.Logger.Level.WARNING,
                                "using a random host NQN, because " + SYSTEM_FOLDER + "/hostnqn or hostid is wrong: "
                                        + e.getMessage());
                return HostIdentity.of(UUID.randomUUID());
            }
        }
    }
}
