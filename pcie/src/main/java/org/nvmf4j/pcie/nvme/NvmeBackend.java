package org.nvmf4j.pcie.nvme;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;
import org.nvmf4j.nvme.IdentifyController;
import org.nvmf4j.nvme.NvmeStatus;
import org.nvmf4j.target.spi.Backend;
import org.nvmf4j.target.spi.BackendLane;
import org.nvmf4j.target.spi.BackendRequest;
import org.nvmf4j.target.spi.BackendStatus;
import org.nvmf4j.target.spi.OptimalSizes;
import org.nvmf4j.target.spi.PeerClient;

/**
 * A namespace of a drive that is ours; each lane has a queue pair of it.
 *
 * <p>A namespace that others change under us, so that commands for what it was would be wrong, is not used any more: its requests end with
 * {@link #CHANGED_STATUS}. The drive tells of it afterwards. What was in its queue already cannot be called back: such a command may have
 * read or written more than it should, or at another place, and its request ends like that too.
 */
final class NvmeBackend implements Backend {
    /** What requests end with once {@link #isChanged}; trying again does not help. */
    static final int CHANGED_STATUS = NvmeStatus.INVALID_NAMESPACE_OR_FORMAT | NvmeStatus.DNR;

    private static final System.Logger LOG = System.getLogger(NvmeBackend.class.getName());

    private final NvmeDrive drive;
    private final NvmeNamespace namespace;
    private final @Nullable CmbQueues places;
    private final AtomicBoolean toldOfNoRoom = new AtomicBoolean();
    private volatile boolean changed;
    /** The size that was told last; the control thread's. */
    private long toldBlocks;

    /**
     * Of an open drive.
     *
     * @param places where its submission queues are to be, or null for host memory
     */
    NvmeBackend(NvmeDrive drive, NvmeNamespace namespace, @Nullable CmbQueues places) {
        this.drive = drive;
        this.namespace = namespace;
        this.places = places;
        toldBlocks = namespace.blocks();
    }

    NvmeDrive drive() {
        return drive;
    }

    NvmeNamespace namespace() {
        return namespace;
    }

    /** Whether the namespace is not what it was, for good; lanes ask before each command. */
    boolean isChanged() {
        return changed;
    }

    /** Takes the namespace as it has been identified again; the control thread's. */
    void compare(NvmeNamespace now) {
        if (now.blockShift() != namespace.blockShift()) {
            change("it had blocks of " + preferredBlockSizeBytes() + " bytes and has blocks of "
                    + (1 << now.blockShift()));
        } else if (now.blocks() < namespace.blocks()) {
            change("it had " + namespace.blocks() + " blocks and has " + now.blocks());
        } else if (now.blocks() != toldBlocks) {
            toldBlocks = now.blocks();
            LOG.log(
                    System.Logger.Level.WARNING,
                    description() + " has " + now.blocks() + " blocks now, of which " + namespace.blocks()
                            + " are exported; start the target again to export all");
        }
    }

    /** Has requests fail from now on; says so the first time. The control thread's. */
    void change(String what) {
        if (!changed) {
            changed = true;
            LOG.log(
                    System.Logger.Level.ERROR,
                    description() + " has changed, and its requests fail from now on: " + what
                            + "; start the target again to export it as it is");
        }
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
        NvmeLane lane = NvmeLane.open(this, places, wakeUp);
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
