package org.nvmf4j.nvme;

import java.util.UUID;

/**
 * Who a host is: its name and its identifier, which belong together one to one on all of its connections.
 *
 * @param hostNqn a valid NQN
 * @param hostId not all zeroes
 */
public record HostIdentity(String hostNqn, UUID hostId) {
    private static final UUID NIL = new UUID(0, 0);

    public HostIdentity {
        Nqn.requireValid(hostNqn);
        if (hostId.equals(NIL)) {
            throw new IllegalArgumentException("the host ID is all zeroes; use a random UUID");
        }
    }

    /** The identity made of one UUID, with the name {@code nqn.2014-08.org.nvmexpress:uuid:...}. */
    public static HostIdentity of(UUID uuid) {
        return new HostIdentity(Nqn.of(uuid), uuid);
    }
}
