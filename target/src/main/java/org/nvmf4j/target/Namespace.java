package org.nvmf4j.target;

import java.util.UUID;
import org.jspecify.annotations.Nullable;
import org.nvmf4j.nvme.Nguid;
import org.nvmf4j.target.spi.Backend;

/**
 * A namespace: a backend with a number and an identity. Immutable; it becomes visible to hosts by {@link Subsystem#addNamespace}, and
 * from then on the subsystem owns the backend and closes it when the namespace or the target goes.
 */
public final class Namespace {
    /** The highest NSID. */
    public static final int MAX_NSID = 1024;

    private final int nsid;
    private final Backend backend;
    private final int blockSizeBytes;
    private final int blockShift;
    private final long blocks;
    private final UUID uuid;
    private final Nguid nguid;
    private final boolean readOnly;
    private final PeerMemoryChoice peerMemory;
    private final boolean hasBackendLanes;

    private Namespace(Builder builder) {
        nsid = builder.nsid;
        backend = builder.backend;
        blockSizeBytes = builder.blockSizeBytes == 0 ? backend.preferredBlockSizeBytes() : builder.blockSizeBytes;
        if (blockSizeBytes != 512 && blockSizeBytes != 4096) {
            throw new IllegalArgumentException("block size must be 512 or 4096 bytes, not " + blockSizeBytes);
        }
        if (blockSizeBytes < backend.minBlockSizeBytes()) {
            throw new IllegalArgumentException(
                    backend.description() + " serves blocks of " + backend.minBlockSizeBytes() + " bytes, not of "
                            + blockSizeBytes + "; open it with that block size");
        }
        if (backend.sizeBytes() < blockSizeBytes) {
            throw new IllegalArgumentException(backend.description() + " has " + backend.sizeBytes()
                    + " bytes, less than one block of " + blockSizeBytes);
        }
        blockShift = Integer.numberOfTrailingZeros(blockSizeBytes);
        blocks = backend.sizeBytes() >>> blockShift;
        uuid = builder.uuid == null ? UUID.randomUUID() : builder.uuid;
        nguid = builder.nguid;
        readOnly = builder.readOnly || backend.readOnly();
        peerMemory = builder.peerMemory;
        hasBackendLanes = backend.laneLimit() > 0;
    }

    /**
     * Starts the description of a namespace.
     *
     * @param nsid 1 to {@link #MAX_NSID}
     */
    public static Builder builder(int nsid, Backend backend) {
        return new Builder(nsid, backend);
    }

    /** A namespace with the backend's block size and a random UUID. */
    public static Namespace of(int nsid, Backend backend) {
        return builder(nsid, backend).build();
    }

    public int nsid() {
        return nsid;
    }

    public Backend backend() {
        return backend;
    }

    /** Whether requests go to a lane's part of the backend, see {@link Backend#laneLimit}. */
    boolean hasBackendLanes() {
        return hasBackendLanes;
    }

    /** 512 or 4096. */
    public int blockSizeBytes() {
        return blockSizeBytes;
    }

    /** Size in logical blocks; what the backend has beyond whole blocks is left out. */
    public long blocks() {
        return blocks;
    }

    public UUID uuid() {
        return uuid;
    }

    /** Namespace globally unique identifier, {@link Nguid#NONE} if it has none. */
    public Nguid nguid() {
        return nguid;
    }

    /** Whether writes are refused with Namespace is Write Protected. */
    public boolean readOnly() {
        return readOnly;
    }

    /** Which peer memory the data is to pass through; see {@link PeerMemorySelection}. */
    public PeerMemoryChoice peerMemory() {
        return peerMemory;
    }

    boolean wantsPeerMemory() {
        return peerMemory.kind() != PeerMemoryChoice.Kind.OFF;
    }

    /** The same namespace, of the same backend, with another peer memory. */
    Namespace withPeerMemory(PeerMemoryChoice choice) {
        return builder(nsid, backend)
                .blockSizeBytes(blockSizeBytes)
                .uuid(uuid)
                .nguid(nguid)
                .readOnly(readOnly)
                .peerMemory(choice)
                .build();
    }

    /** Two to the power of this is the block size. */
    int blockShift() {
        return blockShift;
    }

    @Override
    public String toString() {
        return "namespace " + nsid + ", " + blocks + " blocks of " + blockSizeBytes + " bytes, "
                + backend.description();
    }

    /** Describes a namespace step by step. */
    public static final class Builder {
        private final int nsid;
        private final Backend backend;
        private int blockSizeBytes;
        private @Nullable UUID uuid;
        private Nguid nguid = Nguid.NONE;
        private boolean readOnly;
        private PeerMemoryChoice peerMemory = PeerMemoryChoice.OFF;

        private Builder(int nsid, Backend backend) {
            if (nsid < 1 || nsid > MAX_NSID) {
                throw new IllegalArgumentException("nsid must be 1 to " + MAX_NSID + ", not " + nsid);
            }
            this.nsid = nsid;
            this.backend = backend;
        }

        /** 512 or 4096, or 0 for what suits the backend, which is the default. */
        public Builder blockSizeBytes(int blockSizeBytes) {
            this.blockSizeBytes = blockSizeBytes;
            return this;
        }

        /** Identity of the data, the same wherever and whenever it is exported; random by default. */
        public Builder uuid(@Nullable UUID uuid) {
            this.uuid = uuid;
            return this;
        }

        /** See {@link Namespace#nguid}; none by default. */
        public Builder nguid(Nguid nguid) {
            this.nguid = nguid;
            return this;
        }

        public Builder readOnly(boolean readOnly) {
            this.readOnly = readOnly;
            return this;
        }

        /** Which peer memory the data is to pass through; {@link PeerMemoryChoice#OFF} by default. */
        public Builder peerMemory(PeerMemoryChoice peerMemory) {
            this.peerMemory = peerMemory;
            return this;
        }

        /**
         * The namespace.
         *
         * @throws IllegalArgumentException if the block size is not one that there is, or larger than the backend
         */
        public Namespace build() {
            return new Namespace(this);
        }
    }
}
