package org.nvmf4j.target.spi;

import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import org.jspecify.annotations.Nullable;
import org.nvmf4j.verbs.OnDemandMemory;

/**
 * One operation on a {@link Backend}. The target owns these objects and uses them again and again; a backend has one from {@link
 * Backend#submit} until it ends it, and may hand it to another thread in a safe way meanwhile.
 */
public abstract class BackendRequest {
    private BackendOperation operation = BackendOperation.FLUSH;
    private long offsetBytes;
    private long lengthBytes;
    private boolean forceUnitAccess;
    private MemorySegment segment = MemorySegment.NULL;
    private long segmentOffset;
    private boolean mayVanish;
    private @Nullable BackendMapping mapping;
    private int deviceStatus;

    /** Sets up a request without data. */
    protected final void operation(BackendOperation operation, long offsetBytes, long lengthBytes) {
        this.operation = operation;
        this.offsetBytes = offsetBytes;
        this.lengthBytes = lengthBytes;
        this.forceUnitAccess = false;
        this.segment = MemorySegment.NULL;
        this.segmentOffset = 0;
        this.mayVanish = false;
        this.mapping = null;
    }

    /**
     * Says where the data of a read, write or compare is.
     *
     * @param mayVanish see {@link #mayVanish}
     */
    protected final void data(MemorySegment segment, long segmentOffset, boolean mayVanish) {
        this.segment = segment;
        this.segmentOffset = segmentOffset;
        this.mayVanish = mayVanish;
    }

    /** Says what the {@link BackendLane} that gets the request has made of the memory of the data; null for none. */
    protected final void mapping(@Nullable BackendMapping mapping) {
        this.mapping = mapping;
    }

    protected final void forceUnitAccess(boolean forceUnitAccess) {
        this.forceUnitAccess = forceUnitAccess;
    }

    public final BackendOperation operation() {
        return operation;
    }

    /** Where in the backend, in bytes. */
    public final long offsetBytes() {
        return offsetBytes;
    }

    /** How much: at most 1 MiB where there is data, any length for {@link BackendOperation#DEALLOCATE}, 0 for a flush. */
    public final long lengthBytes() {
        return lengthBytes;
    }

    /** Whether a write must be on the medium before it ends. */
    public final boolean forceUnitAccess() {
        return forceUnitAccess;
    }

    /**
     * Whether the memory of the data is a device's, which may be unplugged. Java code then touches it by {@link #copyToData} and {@link
     * #copyFromData} alone, since a fault in any other place may end the thread or the process; the kernel's own copying is safe.
     */
    public final boolean mayVanish() {
        return mayVanish;
    }

    /**
     * Copies into the data of a read.
     *
     * @param at where in the data
     * @return false if the memory has vanished: the request can only end with {@link BackendStatus#DATA_LOST}
     */
    public final boolean copyToData(MemorySegment source, long sourceOffset, long at, long length) {
        if (!mayVanish) {
            MemorySegment.copy(source, sourceOffset, segment, segmentOffset + at, length);
            return true;
        }
        return OnDemandMemory.copy(source, sourceOffset, segment, segmentOffset + at, length);
    }

    /** Copies from the data of a write; see {@link #copyToData}. */
    public final boolean copyFromData(long at, MemorySegment target, long targetOffset, long length) {
        if (!mayVanish) {
            MemorySegment.copy(segment, segmentOffset + at, target, targetOffset, length);
            return true;
        }
        return OnDemandMemory.copy(segment, segmentOffset + at, target, targetOffset, length);
    }

    /** Whether the data, of a compare, is the same as that of other memory. */
    public final boolean isSame(MemorySegment other, long otherOffset, long at, long length) {
        long from = segmentOffset + at;
        return MemorySegment.mismatch(other, otherOffset, otherOffset + length, segment, from, from + length) < 0;
    }

    /** Memory that holds the data of a write or compare or takes that of a read, from {@link #segmentOffset} on; native. */
    public final MemorySegment segment() {
        return segment;
    }

    public final long segmentOffset() {
        return segmentOffset;
    }

    /**
     * What the {@link BackendLane} that has the request made of the whole {@link #segment}; null if it was not asked to, since the data
     * came in a capsule: the memory of capsules comes and goes with connections, has commands and responses in it, and little data, so
     * that copying that costs less than mapping.
     */
    public final @Nullable BackendMapping mapping() {
        return mapping;
    }

    /**
     * The data as a direct buffer whose position and limit enclose it. The same object each time, so for one use at a time. Its address is
     * a multiple of 4096 unless the data came in a capsule of odd size.
     */
    public final ByteBuffer data() {
        ByteBuffer view = viewOfSegment();
        return view.limit((int) (segmentOffset + lengthBytes)).position((int) segmentOffset);
    }

    /** A view of the whole {@link #segment} that serves this request alone as long as it lasts. */
    protected abstract ByteBuffer viewOfSegment();

    /**
     * Ends a request for which {@link Backend#submit} returns or has returned {@link BackendStatus#PENDING}; from any thread, once.
     *
     * @throws IllegalStateException if it has ended already
     */
    public abstract void complete(BackendStatus status);

    /**
     * Says how the device behind the backend ended the request, before that ends with {@link BackendStatus#DEVICE_STATUS}.
     *
     * @param deviceStatus an NVMe status that means to the host of the target what it means to the backend: code and Do Not Retry
     */
    public final void deviceStatus(int deviceStatus) {
        this.deviceStatus = deviceStatus;
    }

    public final int deviceStatus() {
        return deviceStatus;
    }
}
