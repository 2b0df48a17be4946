package org.nvmf4j.testkit.contract;

import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import org.nvmf4j.verbs.AccessFlag;
import org.nvmf4j.verbs.CompletionQueue;
import org.nvmf4j.verbs.Device;
import org.nvmf4j.verbs.MemoryRegion;
import org.nvmf4j.verbs.ProtectionDomain;
import org.nvmf4j.verbs.SharedReceiveQueue;
import org.nvmf4j.verbs.VerbsException;

/** A device, a protection domain, and all endpoints and memory that a test made on it. */
final class Node {
    /** Every right. */
    static final EnumSet<AccessFlag> ALL = EnumSet.complementOf(EnumSet.of(AccessFlag.ON_DEMAND));

    final Device device;
    final ProtectionDomain domain;
    final List<Endpoint> endpoints = new ArrayList<>();
    final List<RegisteredMemory> memories = new ArrayList<>();
    /** The vector whose progress runs, or −1. */
    int progressing = -1;

    private boolean closed;

    Node(Device device) throws VerbsException {
        this.device = device;
        this.domain = device.allocateProtectionDomain();
    }

    Endpoint endpoint() throws VerbsException {
        return endpoint(Endpoint.DEFAULT_DEPTH);
    }

    Endpoint endpoint(int depth) throws VerbsException {
        return new Endpoint(this, 0, depth, depth);
    }

    Endpoint endpointOnVector(int vector) throws VerbsException {
        return new Endpoint(this, vector, Endpoint.DEFAULT_DEPTH, Endpoint.DEFAULT_DEPTH);
    }

    /** An endpoint whose sends and receives complete in queues that it may share with others. */
    Endpoint endpoint(CompletionQueue sends, CompletionQueue receives, int depth) throws VerbsException {
        return new Endpoint(this, sends, receives, depth, depth);
    }

    /** An endpoint that takes its receives from a shared queue. */
    Endpoint sharing(SharedReceiveQueue receives) throws VerbsException {
        int depth = Endpoint.DEFAULT_DEPTH;
        CompletionQueue sent = device.createCompletionQueue(depth + 1, 0);
        CompletionQueue received = device.createCompletionQueue(depth + 1, 0);
        return new Endpoint(this, sent, received, depth, depth, receives);
    }

    /** Memory with every right. */
    RegisteredMemory memory(long bytes) throws VerbsException {
        return memory(bytes, ALL);
    }

    RegisteredMemory memory(long bytes, EnumSet<AccessFlag> access) throws VerbsException {
        return memory(domain, bytes, access);
    }

    RegisteredMemory memory(ProtectionDomain of, long bytes, EnumSet<AccessFlag> access) throws VerbsException {
        RegisteredMemory memory = new RegisteredMemory(of, bytes, access);
        memories.add(memory);
        return memory;
    }

    /** A region that somebody else registered, from now on this node's to close. */
    RegisteredMemory memory(MemoryRegion region) {
        RegisteredMemory memory = new RegisteredMemory(region);
        memories.add(memory);
        return memory;
    }

    /** One turn of every vector and completion queue. */
    int progress() {
        if (closed) {
            return 0;
        }
        int work = 0;
        for (int i = 0; i < device.attributes().vectors(); i++) {
            progressing = i;
            work += device.vector(i).progress();
            progressing = -1;
        }
        for (int i = 0; i < endpoints.size(); i++) {
            work += endpoints.get(i).poll();
        }
        return work;
    }

    void closeDevice() {
        if (!closed) {
            closed = true;
            device.close();
        }
    }

    /** Closes from inside out. */
    void close() {
        if (closed) {
            return;
        }
        List.copyOf(endpoints).forEach(Endpoint::close);
        memories.forEach(RegisteredMemory::close);
        domain.close();
        closeDevice();
    }
}
