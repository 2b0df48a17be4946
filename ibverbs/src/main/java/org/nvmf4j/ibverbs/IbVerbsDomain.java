package org.nvmf4j.ibverbs;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;
import org.nvmf4j.ibverbs.RdmaCore.Function;
import org.nvmf4j.linux.MappedFile;
import org.nvmf4j.linux.SystemErrors;
import org.nvmf4j.verbs.AccessFlag;
import org.nvmf4j.verbs.MemoryRegion;
import org.nvmf4j.verbs.ProtectionDomain;
import org.nvmf4j.verbs.VerbsException;
import org.nvmf4j.verbs.WorkRequest;
import org.nvmf4j.verbs.spi.RegistrationChecks;

/** A protection domain and its regions. */
final class IbVerbsDomain implements ProtectionDomain {
    /**
     * What {@code ibv_reg_mr} says of memory whose pages the kernel does not pin for long: EFAULT where there are none (BARs), EREMOTEIO
     * (p2pmem), EOPNOTSUPP (files on memory of the kind DAX).
     */
    private static final Set<Integer> NOT_PINNED =
            Set.of(SystemErrors.EFAULT, SystemErrors.EREMOTEIO, SystemErrors.EOPNOTSUPP);

    private static final int ACCESS_LOCAL_WRITE = 1;
    private static final int ACCESS_REMOTE_WRITE = 1 << 1;
    private static final int ACCESS_REMOTE_READ = 1 << 2;

    private final IbVerbsDevice device;
    private final RdmaCore core;
    private final Set<Region> regions = ConcurrentHashMap.newKeySet();
    /** Those of memory that may vanish; replaced whole. */
    private volatile Region[] vanishing = {};

    private volatile long domain;
    private volatile boolean closed;

    IbVerbsDomain(IbVerbsDevice device, RdmaCore core) throws VerbsException {
        this.device = device;
        this.core = core;
        domain = core.pointer(Function.IBV_ALLOC_PD, device.context());
        AbiCheck.domain(domain, device.context());
    }

    IbVerbsDevice device() {
        return device;
    }

    /** The library's pointer. */
    long pointer() {
        if (closed) {
            throw new IllegalStateException("the protection domain is closed");
        }
        return domain;
    }

    /** The same, for something that needs the device too. */
    private long usable() throws VerbsException {
        device.checkOpen();
        return pointer();
    }

    @Override
    public MemoryRegion register(MemorySegment memory, Set<AccessFlag> access) throws VerbsException {
        RegistrationChecks.memory(memory, access);
        int rights = rights(access);
        Region region = new Region(memory, rights, access.contains(AccessFlag.ON_DEMAND), null, pin(memory, rights));
        return add(region);
    }

    /** Registers memory by its address, for which the kernel pins it: it stays where it is until it is deregistered. */
    private long pin(MemorySegment memory, int rights) throws VerbsException {
        long address = memory.address();
        long bytes = memory.byteSize();
        long owner = usable();
        long registered;
        try {
            registered = core.pointer(Function.IBV_REG_MR, owner, address, bytes, rights, 0);
        } catch (VerbsException e) {
            if (NOT_PINNED.contains(e.errno())) {
                throw new VerbsException(
                        "the kernel cannot pin this memory for RDMA device " + device.name() + " (" + e.getMessage()
                                + "), as is so with BARs and p2pmem: register its dma-buf if it has one, else use system memory",
                        e.errno());
            }
            throw e;
        }
        AbiCheck.region(registered, device.context(), owner, address, bytes);
        return registered;
    }

    @Override
    @SuppressWarnings("MustBeClosedChecker") // the region closes its mapping
    public MemoryRegion registerDmaBuf(int fd, long offsetBytes, long lengthBytes, Set<AccessFlag> access)
            throws VerbsException {
        RegistrationChecks.dmaBuf(offsetBytes, lengthBytes, access);
        if (!core.has(Function.IBV_REG_DMABUF_MR)) {
            throw new VerbsException("this libibverbs is too old to register a dma-buf, it has no "
                    + Function.IBV_REG_DMABUF_MR.symbol() + ": install rdma-core 34 or later");
        }
        int rights = rights(access);
        Arena mapping = Arena.ofShared(); // a region may be closed on any thread
        try {
            MemorySegment memory = MappedFile.map(mapping, fd, offsetBytes, lengthBytes);
            long registered = importDmaBuf(memory, fd, offsetBytes, rights);
            return add(new Region(memory, rights, true, mapping, registered));
        } catch (IOException e) {
            mapping.close();
            throw noDmaBuf(e);
        } catch (RuntimeException e) {
            mapping.close();
            throw e;
        }
    }

    private VerbsException noDmaBuf(IOException cause) {
        int errno = cause instanceof VerbsException e ? e.errno() : 0;
        return new VerbsException(
                "cannot register a dma-buf with RDMA device " + device.name() + ": " + cause.getMessage()
                        + (errno == SystemErrors.EOPNOTSUPP ? "; its driver takes none, so use memory of the CPU" : ""),
                errno);
    }

    /** Registers a part of a dma-buf under the addresses at which the CPU has it. */
    private long importDmaBuf(MemorySegment memory, int fd, long offset, int rights) throws VerbsException {
        long owner = usable();
        long bytes = memory.byteSize();
        long registered = core.pointer(Function.IBV_REG_DMABUF_MR, owner, offset, bytes, memory.address(), fd, rights);
        AbiCheck.region(registered, device.context(), owner, offset, bytes);
        return registered;
    }

    private static int rights(Set<AccessFlag> access) {
        return (access.contains(AccessFlag.LOCAL_WRITE) ? ACCESS_LOCAL_WRITE : 0)
                | (access.contains(AccessFlag.REMOTE_WRITE) ? ACCESS_REMOTE_WRITE : 0)
                | (access.contains(AccessFlag.REMOTE_READ) ? ACCESS_REMOTE_READ : 0);
    }

    private Region add(Region region) {
        synchronized (regions) {
            regions.add(region);
            vanishing = regions.stream().filter(Region::isOnDemand).toArray(Region[]::new);
        }
        return region;
    }

    private void remove(Region region) {
        synchronized (regions) {
            regions.remove(region);
            vanishing = regions.stream().filter(Region::isOnDemand).toArray(Region[]::new);
        }
    }

    /** Whether a request names memory that may vanish; where there is none of that, as is usual, this costs a comparison. */
    boolean mayVanish(WorkRequest request) {
        Region[] candidates = vanishing;
        return candidates.length != 0 && names(request, candidates);
    }

    private static boolean names(WorkRequest request, Region[] candidates) {
        for (int i = 0; i < request.sgeCount(); i++) {
            for (Region region : candidates) {
                if (region.lkey == request.sgeLkey(i)) {
                    return true;
                }
            }
        }
        return false;
    }

    /** A domain that a queue pair still uses is freed with the device. */
    @Override
    public synchronized void close() {
        List.copyOf(regions).forEach(Region::close);
        closed = true;
        if (domain == 0) {
            return;
        }
        int errno = core.status(Function.IBV_DEALLOC_PD, domain, 0, 0, 0);
        if (errno == SystemErrors.EBUSY) {
            return;
        }
        domain = 0;
        device.remove(this);
        device.warn(Function.IBV_DEALLOC_PD, errno);
    }

    private final class Region implements MemoryRegion {
        private final MemorySegment memory;
        private final int access;
        private final boolean onDemand;
        /** Of a dma-buf alone. */
        private final @Nullable Arena mapping;

        private long pointer;
        private volatile int lkey;
        private volatile int rkey;

        Region(MemorySegment memory, int access, boolean onDemand, @Nullable Arena mapping, long pointer) {
            this.memory = memory;
            this.access = access;
            this.onDemand = onDemand;
            this.mapping = mapping;
            take(pointer);
        }

        private void take(long registered) {
            pointer = registered;
            lkey = RdmaCore.intAt(registered + Abi.IbvMr.LKEY);
            rkey = isRemote() ? RdmaCore.intAt(registered + Abi.IbvMr.RKEY) : 0;
        }

        private boolean isRemote() {
            return (access & (ACCESS_REMOTE_READ | ACCESS_REMOTE_WRITE)) != 0;
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

        /** Without a queue pair to post it on there is no fast registration: the memory is registered again. */
        @Override
        public synchronized int renewRkey() {
            if (!isRemote()) {
                throw new IllegalStateException("the region grants no remote right");
            }
            if (mapping != null) {
                throw new IllegalStateException("a dma-buf is registered here once: register it anew for another key");
            }
            long old = pointer;
            int oldRkey = rkey;
            try {
                take(pin(memory, access)); // before the old one goes, so that the keys differ
            } catch (VerbsException e) {
                throw new IllegalStateException("cannot register the memory again: " + e.getMessage(), e);
            }
            deregister(old);
            if (rkey == oldRkey) {
                throw new IllegalStateException("the device gave the same key again");
            }
            return rkey;
        }

        @Override
        public synchronized void close() {
            long closing = pointer;
            pointer = 0;
            if (closing != 0) {
                remove(this);
                deregister(closing);
                if (mapping != null) {
                    mapping.close();
                }
            }
        }

        private void deregister(long region) {
            device.warn(Function.IBV_DEREG_MR, core.status(Function.IBV_DEREG_MR, region, 0, 0, 0));
        }
    }
}
