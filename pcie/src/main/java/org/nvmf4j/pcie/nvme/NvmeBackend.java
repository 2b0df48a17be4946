package org.nvmf4j.pcie.nvme;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;
import org.nvmf4j.nvme.IdentifyController;
import org.nvmf4j.target.spi.Backend;
import org.nvmf4j.target.spi.BackendLane;
import org.nvmf4j.target.spi.BackendRequest;
import org.nvmf4j.target.spi.BackendStatus;
import org.nvmf4j.target.spi.OptimalSizes;
import org.nvmf4j.target.spi.PeerClient;

/** A namespace of a drive that is ours; each lane has a queue pair of it. */
final class NvmeBackend implements Backend {
    private static final System.Logger LOG = System.getLogger(NvmeBackend.class.getName());

    private final NvmeDrive drive;
    private final NvmeNamespace namespace;
    private final @Nullable CmbQueues places;
    private final AtomicBoolean toldOfNoRoom = new AtomicBoolean();

    /**
     * Of an open drive.
     *
     * @param places where its submission queues are to be, or null for host memory
     */
    NvmeBackend(NvmeDrive drive, NvmeNamespace namespace, @Nullable CmbQueues places) {
        this.drive = drive;
        this.namespace = namespace;
        this.places = places;
    }

    NvmeDrive drive() {
        return drive;
    }

    @Override
    public long sizeBytes() {
        return namespace.blocks() << namespace.blockShift();
    }

    @Override
    public int preferredBlockSizeBytes() {
        return 1 << namespace.blockShift();
    }

    @Override
    public int minBlockSizeBytes() {
        return preferredBlockSizeBytes();
    }

    @Override
    public boolean readOnly() {
        return namespace.readOnly();
    }

    @Override
    public boolean volatileWriteCache() {
        return namespace.volatileWriteCache();
    }

    @Override
    public OptimalSizes optimalSizes() {
        return namespace.optimalSizes();
    }

    /** From the drive's model and serial number and the namespace's number. */
    @Override
    public Optional<UUID> identity() {
        IdentifyController identify = drive.controller().identify();
        String name = identify.mn().strip() + ":" + identify.sn().strip() + ":" + namespace.nsid();
        return Optional.of(UUID.nameUUIDFromBytes(name.getBytes(StandardCharsets.UTF_8)));
    }

    @Override
    public PeerClient peerClient() {
        return new PeerClient.PciFunction(drive.address().toString(), "the drive");
    }

    @Override
    public int laneLimit() {
        return drive.controller().maxQueues();
    }

    @Override
    public BackendLane openLane(Runnable wakeUp) throws IOException {
        if (drive.controller().isUnusable()) {
            return new GoneLane();
        }
        NvmeLane lane = NvmeLane.open(drive, namespace, places, wakeUp);
        if (places != null) {
            tellWhere(lane.queue());
        }
        drive.lookSoon();
        return lane;
    }

    private void tellWhere(NvmeQueue queue) {
        if (queue.isInBuffer()) {
            LOG.log(
                    System.Logger.Level.INFO,
                    description() + ": submission queue " + queue.qid() + " is in the drive's memory buffer");
        } else if (toldOfNoRoom.compareAndSet(false, true)) {
            LOG.log(
                    System.Logger.Level.WARNING,
                    description() + ": the drive's memory buffer has no room for submission queue " + queue.qid()
                            + ": it is in host memory, as are later ones without room");
        }
    }

    /** Not called: lanes take all requests. */
    @Override
    public BackendStatus submit(BackendRequest request) {
        throw new UnsupportedOperationException(description() + " takes requests by lanes");
    }

    @Override
    public String description() {
        return "drive " + drive.address() + ", namespace " + namespace.nsid();
    }

    @Override
    public void close() {
        drive.release(namespace.nsid());
    }
}
