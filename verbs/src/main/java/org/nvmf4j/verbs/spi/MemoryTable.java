package org.nvmf4j.verbs.spi;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.BitSet;
import java.util.Set;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;
import org.nvmf4j.verbs.AccessFlag;
import org.nvmf4j.verbs.MemoryRegion;
import org.nvmf4j.verbs.OnDemandMemory;
import org.nvmf4j.verbs.ProtectionDomain;
import org.nvmf4j.verbs.VerbsException;
import org.nvmf4j.verbs.WorkRequest;

/**
 * The registrations of a software device, and the checks that hardware makes before it touches memory. A key is a 16-bit index
 * and 16 random bits, so that a guessed or stale key does not open anything.
 *
 * <p>Registering and closing may happen on any thread; look-ups take no lock and allocate nothing.
 */
public final class MemoryTable {
    private static final int MAX_REGIONS = 1 << 16;

    private final RandomGenerator random;
    private final @Nullable DmaBufMapper dmaBufs;
    private final BitSet used = new BitSet();
    private volatile @Nullable Region[] regions = new Region[64];

    /** Makes a part of a dma-buf memory, for as long as an arena lives; the file descriptor is free again when this returns. */
    @FunctionalInterface
    public interface DmaBufMapper {
        MemorySegment map(Arena arena, int fd, long offsetBytes, long lengthBytes) throws VerbsException;
    }

    /**
     * An empty table that registers no dma-buf.
     *
     * @param random where keys come from, used under this table's own lock
     */
    public MemoryTable(RandomGenerator random) {
        this(random, null);
    }

    /** The same, with what it takes to register a dma-buf. */
    public MemoryTable(RandomGenerator random, @Nullable DmaBufMapper dmaBufs) {
        this.random = random;
        this.dmaBufs = dmaBufs;
        used.set(0); // no key is 0: that means "none"
    }

    /** A protection domain whose regions are in this table. */
    public ProtectionDomain newDomain() {
        return new Domain();
    }

    /** Whether it is a protection domain of this table. */
    public boolean owns(ProtectionDomain domain) {
        return domain instanceof Domain one && one.table() == this;
    }

    /** Registers native memory for a domain; see {@link ProtectionDomain#register}. */
    public MemoryRegion register(ProtectionDomain domain, MemorySegment memory, Set<AccessFlag> access)
            throws VerbsException {
        RegistrationChecks.memory(memory, access);
        return add(domain, memory, access, null);
    }

    @SuppressWarnings("MustBeClosedChecker") // the region closes its mapping
    private MemoryRegion registerDmaBuf(
            ProtectionDomain domain, DmaBufMapper mapper, int fd, long offset, long length, Set<AccessFlag> access)
            throws VerbsException {
        RegistrationChecks.dmaBuf(offset, length, access);
        Arena mapping = Arena.ofShared(); // a region may be closed on any thread
        try {
            return add(domain, mapper.map(mapping, fd, offset, length), access, mapping);
        } catch (VerbsException | RuntimeException e) {
            mapping.close();
            throw e;
        }
    }

    private synchronized MemoryRegion add(
            ProtectionDomain domain, MemorySegment memory, Set<AccessFlag> access, @Nullable Arena mapping)
            throws VerbsException {
        int index = used.nextClearBit(0);
        if (index >= MAX_REGIONS) {
            throw new VerbsException("no room for another memory region: " + (MAX_REGIONS - 1) + " are registered");
        }
        used.set(index);
        Region region = new Region(domain, memory, access, mapping, index);
        @Nullable Region[] grown = Arrays.copyOf(regions, Math.max(regions.length, index + 1 + index / 2));
        grown[index] = region;
        regions = grown;
        return region;
    }

    /**
     * The region that a local key names, if the device may use {@code length} bytes at {@code address} of it.
     *
     * @param write whether the device is about to write
     * @return null if the key, domain, range or right is wrong
     */
    public @Nullable MemoryRegion local(ProtectionDomain domain, int lkey, long address, long length, boolean write) {
        Region region = regionAt(lkey);
        return region != null
                        && region.lkey == lkey
                        && region.allows(domain, address, length)
                        && (!write || region.localWrite)
                ? region
                : null;
    }

    /**
     * The region that a remote key names, if the peer may use {@code length} bytes at {@code address} of it. Not to be asked for
     * zero length, which needs no valid key.
     *
     * @param write whether the peer wants to write
     * @return null if the key, domain, range or right is wrong
     */
    public @Nullable MemoryRegion remote(ProtectionDomain domain, int rkey, long address, long length, boolean write) {
        Region region = regionAt(rkey);
        return region != null
                        && rkey != 0
                        && region.rkey == rkey
                        && region.allows(domain, address, length)
                        && (write ? region.remoteWrite : region.remoteRead)
                ? region
                : null;
    }

    /** Makes a remote key invalid, as SEND with invalidate asks; false if it names nothing in that domain. */
    public boolean invalidate(ProtectionDomain domain, int rkey) {
        Region region = regionAt(rkey);
        if (region == null || rkey == 0 || region.rkey != rkey || region.domain != domain) {
            return false;
        }
        region.rkey = 0;
        return true;
    }

    /**
     * Copies a work request's data, as a device does at once with what is inline, whose keys need not be valid.
     *
     * @return false if some of it is {@link AccessFlag#ON_DEMAND} and gone
     */
    public boolean copyInline(WorkRequest request, MemorySegment to, long offset) {
        long at = offset;
        for (int i = 0; i < request.sgeCount(); i++) {
            MemorySegment from = request.sgeSegment(i);
            int length = request.sgeLength(i);
            Region region = regionAt(request.sgeLkey(i));
            if (region == null || !region.onDemand) {
                MemorySegment.copy(from, request.sgeOffset(i), to, at, length);
            } else if (!OnDemandMemory.copy(from, request.sgeOffset(i), to, at, length)) {
                return false;
            }
            at += length;
        }
        return true;
    }

    private @Nullable Region regionAt(int key) {
        @Nullable Region[] current = regions;
        int index = key >>> 16;
        return index < current.length ? current[index] : null;
    }

    private synchronized int newKey(int index) {
        return index << 16 | random.nextInt(1, 1 << 16);
    }

    /** False if it was removed before. */
    private synchronized boolean remove(Region region) {
        if (regions[region.index] != region) {
            return false;
        }
        @Nullable Region[] copy = regions.clone();
        copy[region.index] = null;
        regions = copy;
        used.clear(region.index);
        return true;
    }

    private final class Region implements MemoryRegion {
        private final ProtectionDomain domain;
        private final MemorySegment memory;
        private final long base;
        private final long size;
        private final boolean localWrite;
        private final boolean remoteWrite;
        private final boolean remoteRead;
        private final boolean onDemand;
        private final @Nullable Arena mapping;
        private final int index;
        private final int lkey;
        private volatile int rkey;

        Region(
                ProtectionDomain domain,
                MemorySegment memory,
                Set<AccessFlag> access,
                @Nullable Arena mapping,
                int index) {
            this.domain = domain;
            this.memory = memory;
            this.base = memory.address();
            this.size = memory.byteSize();
            this.localWrite = access.contains(AccessFlag.LOCAL_WRITE);
            this.remoteWrite = access.contains(AccessFlag.REMOTE_WRITE);
            this.remoteRead = access.contains(AccessFlag.REMOTE_READ);
            this.onDemand = mapping != null || access.contains(AccessFlag.ON_DEMAND);
            this.mapping = mapping;
            this.index = index;
            this.lkey = newKey(index);
            this.rkey = remoteWrite || remoteRead ? newKey(index) : 0;
        }

        boolean allows(ProtectionDomain user, long address, long length) {
            long offset = address - base;
            return domain == user && offset >= 0 && offset <= size && length >= 0 && length <= size - offset;
        }

        @Override
        public MemorySegment segment() {
            return memory;
        }

        @Override
        public int lkey() {
            return lkey;
        }

        @Override
        public int rkey() {
            return rkey;
        }

        @Override
        public boolean isOnDemand() {
            return onDemand;
        }

        @Override
        public int renewRkey() {
            if (!remoteWrite && !remoteRead) {
                throw new IllegalStateException("the region grants no remote right");
            }
            int fresh = newKey(index);
            while (fresh == rkey) {
                fresh = newKey(index);
            }
            rkey = fresh;
            return fresh;
        }

        @Override
        public void close() {
            if (remove(this) && mapping != null) {
                mapping.close();
            }
        }
    }

    /** Nothing but its identity, which regions and queue pairs share. */
    private final class Domain implements ProtectionDomain {
        MemoryTable table() {
            return MemoryTable.this;
        }

        @Override
        public MemoryRegion register(MemorySegment segment, Set<AccessFlag> access) throws VerbsException {
            return MemoryTable.this.register(this, segment, access);
        }

        @Override
        public MemoryRegion registerDmaBuf(int fd, long offsetBytes, long lengthBytes, Set<AccessFlag> access)
                throws VerbsException {
            DmaBufMapper mapper = dmaBufs;
            return mapper == null
                    ? ProtectionDomain.super.registerDmaBuf(fd, offsetBytes, lengthBytes, access)
                    : MemoryTable.this.registerDmaBuf(this, mapper, fd, offsetBytes, lengthBytes, access);
        }

        @Override
        public void close() {
            // Nothing to free: it is gone with its regions.
        }
    }
}
