package org.nvmf4j.host;

import java.io.IOException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import org.jspecify.annotations.Nullable;
import org.nvmf4j.nvme.Cns;
import org.nvmf4j.nvme.ControllerProperties;
import org.nvmf4j.nvme.Feature;
import org.nvmf4j.nvme.FeaturesCommand;
import org.nvmf4j.nvme.GetLogPageCommand;
import org.nvmf4j.nvme.IdentifyCommand;
import org.nvmf4j.nvme.LogPage;
import org.nvmf4j.nvme.NvmeStatus;
import org.nvmf4j.nvme.NvmeStatusException;
import org.nvmf4j.nvme.PropertyCommand;

/** Blocking admin commands: executes, waits, and turns every end but success into an exception. From any thread but a lane's. */
final class AdminClient {
    private final AdminQueue queue;
    private final HostLane lane;

    AdminClient(AdminQueue queue, HostLane lane) {
        this.queue = queue;
        this.lane = lane;
    }

    /** Waits for a future of this association's admin queue. */
    <T> T await(CompletableFuture<T> future) throws HostException {
        try {
            return lane.await(future);
        } catch (ExecutionException e) {
            throw asHostException(e.getCause());
        }
    }

    static HostException asHostException(@Nullable Throwable cause) {
        return cause instanceof HostException host ? host : new HostException("unexpected failure: " + cause, cause);
    }

    /** Executes a command whatever its status. */
    AdminCompletion complete(AdminCommand command) throws HostException {
        return await(queue.submit(command));
    }

    AdminCompletion execute(AdminCommand command) throws IOException {
        AdminCompletion completion = complete(command);
        if (!NvmeStatus.isSuccess(completion.status())) {
            throw NvmeStatusException.of(command.name(), completion.status(), completion.result());
        }
        return completion;
    }

    private AdminCompletion executeFabrics(AdminCommand command) throws IOException {
        AdminCompletion completion = complete(command);
        if (!NvmeStatus.isSuccess(completion.status())) {
            throw NvmeStatusException.ofFabrics(command.name(), completion.status(), completion.result());
        }
        return completion;
    }

    long propertyGet(int property, int sizeBytes) throws IOException {
        AdminCommand command = AdminCommand.withoutData("Property Get of " + ControllerProperties.name(property));
        PropertyCommand.writeGet(command.entry(), 0, 0, property, sizeBytes);
        long value = executeFabrics(command).result();
        return sizeBytes == Integer.BYTES ? value & 0xffff_ffffL : value;
    }

    void propertySet(int property, int sizeBytes, long value) throws IOException {
        AdminCommand command = AdminCommand.withoutData("Property Set of " + ControllerProperties.name(property));
        PropertyCommand.writeSet(command.entry(), 0, 0, property, sizeBytes, value);
        executeFabrics(command);
    }

    AdminCompletion identify(int cns, int nsid) throws IOException {
        AdminCommand command = AdminCommand.withDataIn("Identify " + Cns.name(cns), Cns.DATA_BYTES);
        IdentifyCommand.write(command.entry(), 0, 0, nsid, cns, Cns.CSI_NVM);
        return execute(command);
    }

    AdminCompletion logPage(int lid, int nsid, boolean retainEvent, long offset, int lengthBytes) throws IOException {
        return execute(logPageCommand(lid, nsid, retainEvent, offset, lengthBytes));
    }

    static AdminCommand logPageCommand(int lid, int nsid, boolean retainEvent, long offset, int lengthBytes) {
        AdminCommand command = AdminCommand.withDataIn("Get Log Page " + LogPage.name(lid), lengthBytes);
        GetLogPageCommand.write(command.entry(), 0, 0, nsid, lid, retainEvent, offset, lengthBytes);
        return command;
    }

    /** Sets a feature without data and returns dword 0 of the completion. */
    int setFeature(int fid, int value) throws IOException {
        AdminCommand command = AdminCommand.withoutData("Set Features " + Feature.name(fid));
        FeaturesCommand.writeSet(command.entry(), 0, 0, 0, fid, value);
        return execute(command).dword0();
    }
}
