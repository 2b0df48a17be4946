package org.nvmf4j.ibverbs;

import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.nvmf4j.ibverbs.RdmaCore.Function;
import org.nvmf4j.verbs.AccessFlag;
import org.nvmf4j.verbs.MemoryRegion;
import org.nvmf4j.verbs.ProtectionDomain;
import org.nvmf4j.verbs.VerbsException;
import org.nvmf4j.verbs.spi.RegistrationChecks;

/** A protection domain and its regions. */
final class IbVerbsDomain implements ProtectionDomain {
    private static final int EBUSY = 16;
    private static final int ACCESS_LOCAL_WRITE = 1;
    private static final int ACCESS_REMOTE_WRITE = 1 << 1;
    private static final int ACCESS_REMOTE_READ = 1 << 2;

    private final IbVerbsDevice device;
    private final RdmaCore core;
    private final Set<Region> regions = ConcurrentHashMap.newKeySet();
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

    @Override
    public MemoryRegion register(MemorySegment memory, Set<AccessFlag> access) throws VerbsException {
        RegistrationChecks.memory(memory, access);
        if (access.contains(AccessFlag.ON_DEMAND)) {
            throw new VerbsException(
                    "the ibverbs provider registers no memory that may vanish: it pins what it registers");
        }
        Region region = new Region(memory, access);
        regions.add(region);
        return region;
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
        if (errno == EBUSY) {
            return;
        }
        domain = 0;
        device.remove(this);
        device.warn(Function.IBV_DEALLOC_PD, errno);
    }

    private final class Region implements MemoryRegion {
        private final MemorySegment memory;
        private final int access;
        private long pointer;
        private volatile int lkey;
        private volatile int rkey;

        Region(MemorySegment memory, Set<AccessFlag> rights) throws VerbsException {
            this.memory = memory;
            access = (rights.contains(AccessFlag.LOCAL_WRITE) ? ACCESS_LOCAL_WRITE : 0)
                    | (rights.contains(AccessFlag.REMOTE_WRITE) ? ACCESS_REMOTE_WRITE : 0)
                    | (rights.contains(AccessFlag.REMOTE_READ) ? ACCESS_REMOTE_READ : 0);
            register();
        }

        private synchronized void register() throws VerbsException {
            long address = memory.address();
            long bytes = memory.byteSize();
            long owner = IbVerbsDomain.this.pointer();
            pointer = core.pointer(Function.IBV_REG_MR, owner, address, bytes, access, 0);
            AbiCheck.region(pointer, device.context(), owner, address, bytes);
            lkey = RdmaCore.intAt(pointer + Abi.IbvMr.LKEY);
            rkey = isRemote() ? RdmaCore.intAt(pointer + Abi.IbvMr.RKEY) : 0;
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

        /** Without a queue pair to post it on there is no fast registration: the memory is registered again. */
        @Override
        public synchronized int renewRkey() {
            if (!isRemote()) {
                throw new IllegalStateException("the region grants no remote right");
            }
            long old = pointer;
            int oldRkey = rkey;
            try {
                register(); // before the old one goes, so that the keys differ
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
                regions.remove(this);
                deregister(closing);
            }
        }

        private void deregister(long region) {
            device.warn(Function.IBV_DEREG_MR, core.status(Function.IBV_DEREG_MR, region, 0, 0, 0));
        }
    }
}
