package org.nvmf4j.host;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.EnumSet;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;
import org.nvmf4j.nvme.SglDescriptor;
import org.nvmf4j.nvme.SubmissionQueueEntry;
import org.nvmf4j.verbs.AccessFlag;
import org.nvmf4j.verbs.MemoryRegion;
import org.nvmf4j.verbs.ProtectionDomain;
import org.nvmf4j.verbs.VerbsException;

/**
 * One {@link AdminCommand} under way: its registered memory and its future. For control commands, where registering memory each time
 * is no cost that matters. Used on the queue's lane.
 */
final class ControlCommand {
    private final AdminCommand command;
    private final CompletableFuture<AdminCompletion> future = new CompletableFuture<>();
    private final boolean hasTimeLimit;
    private @Nullable MemoryRegion region;

    ControlCommand(AdminCommand command, boolean hasTimeLimit) {
        this.command = command;
        this.hasTimeLimit = hasTimeLimit;
    }

    CompletableFuture<AdminCompletion> future() {
        return future;
    }

    /**
     * Posts the command in a slot of a queue that {@link CommandQueue#canBegin}.
     *
     * @param inCapsuleBytes how much in-capsule data the queue takes
     * @return the slot, or −1 if the command has ended because its memory could not be registered
     */
    int start(CommandQueue queue, ProtectionDomain domain, int inCapsuleBytes) {
        MemoryRegion memory;
        try {
            memory = register(domain);
        } catch (VerbsException e) {
            future.completeExceptionally(new TransportException(command.name() + ": " + e.getMessage(), e));
            return -1;
        }
        int slot = queue.begin();
        if (!hasTimeLimit) {
            queue.setNoTimeout(slot);
        }
        MemorySegment capsule = queue.capsule();
        long at = queue.capsuleOffset();
        MemorySegment.copy(command.entry(), 0, capsule, at, SubmissionQueueEntry.SIZE_BYTES);
        SubmissionQueueEntry.flags(capsule, at, SubmissionQueueEntry.FLAGS_SGL);
        SubmissionQueueEntry.commandId(capsule, at, queue.commandId(slot));
        long dptr = at + SubmissionQueueEntry.DPTR_OFFSET;
        if (memory == null) {
            SglDescriptor.writeNone(capsule, dptr);
            queue.post();
        } else if (command.dataOut().length > 0 && command.dataOut().length <= inCapsuleBytes) {
            int length = command.dataOut().length;
            SglDescriptor.writeInCapsule(capsule, dptr, 0, length);
            queue.postWithData(slot, memory.segment(), 0, length, memory.lkey());
        } else {
            SglDescriptor.writeKeyed(capsule, dptr, memory.address(), (int) memory.lengthBytes(), memory.rkey(), false);
            queue.post();
        }
        return slot;
    }

    private @Nullable MemoryRegion register(ProtectionDomain domain) throws VerbsException {
        byte[] out = command.dataOut();
        int length = Math.max(out.length, command.dataInBytes());
        if (length == 0) {
            return null;
        }
        MemorySegment memory = Arena.ofAuto().allocate(length, 4096);
        MemorySegment.copy(out, 0, memory, ValueLayout.JAVA_BYTE, 0, out.length);
        MemoryRegion created = domain.register(
                memory,
                out.length > 0
                        ? EnumSet.of(AccessFlag.REMOTE_READ)
                        : EnumSet.of(AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_WRITE));
        region = created;
        return created;
    }

    void complete(long result, int status) {
        MemorySegment data = MemorySegment.ofArray(new byte[command.dataInBytes()]);
        if (region != null) {
            MemorySegment.copy(region.segment(), 0, data, 0, data.byteSize());
            region.close();
        }
        future.complete(new AdminCompletion(status, result, data));
    }

    void lost(HostException cause) {
        if (region != null) {
            region.close();
        }
        future.completeExceptionally(new TransportException(command.name() + ": " + cause.getMessage(), cause));
    }
}
