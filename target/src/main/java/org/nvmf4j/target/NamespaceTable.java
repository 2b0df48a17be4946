package org.nvmf4j.target;

import java.util.Arrays;
import java.util.Objects;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** The namespaces of a subsystem at one time, by NSID. Immutable, so that lanes can look at it without asking. */
final class NamespaceTable {
    static final NamespaceTable EMPTY = new NamespaceTable(new Namespace[0]);

    private final @Nullable Namespace[] byNsid;

    private NamespaceTable(@Nullable Namespace[] byNsid) {
        this.byNsid = byNsid;
    }

    /** The namespace with that NSID, for any value, or null. */
    @Nullable
    Namespace get(int nsid) {
        return nsid >= 0 && nsid < byNsid.length ? byNsid[nsid] : null;
    }

    NamespaceTable with(Namespace namespace) {
        @Nullable Namespace[] copy = Arrays.copyOf(byNsid, Math.max(byNsid.length, namespace.nsid() + 1));
        copy[namespace.nsid()] = namespace;
        return new NamespaceTable(copy);
    }

    NamespaceTable without(int nsid) {
        @Nullable Namespace[] copy = byNsid.clone();
        copy[nsid] = null;
        return new NamespaceTable(copy);
    }

    /** In the order of their NSIDs. */
    Stream<Namespace> stream() {
        return Arrays.stream(byNsid).filter(Objects::nonNull).map(Objects::requireNonNull);
    }

    /** NSIDs above a given one, ascending, unsigned. */
    int[] nsidsAbove(int nsid) {
        return stream()
                .mapToInt(Namespace::nsid)
                .filter(n -> Integer.compareUnsigned(n, nsid) > 0)
                .toArray();
    }

    /** The lowest NSID that is free, or 0 if none is. */
    int nextFree() {
        for (int nsid = 1; nsid <= Namespace.MAX_NSID; nsid++) {
            if (get(nsid) == null) {
                return nsid;
            }
        }
        return 0;
    }
}
