package org.nvmf4j.target;

import java.lang.foreign.MemorySegment;
import org.nvmf4j.nvme.AdminOpcode;
import org.nvmf4j.nvme.AsyncEvent;
import org.nvmf4j.nvme.DiscoveryLogPage;
import org.nvmf4j.nvme.EffectsLog;
import org.nvmf4j.nvme.ErrorLogEntry;
import org.nvmf4j.nvme.FirmwareSlotLog;
import org.nvmf4j.nvme.GetLogPageCommand;
import org.nvmf4j.nvme.IoOpcode;
import org.nvmf4j.nvme.LogPage;
import org.nvmf4j.nvme.NamespaceList;
import org.nvmf4j.nvme.NvmeStatus;
import org.nvmf4j.nvme.SmartLog;
import org.nvmf4j.nvme.SubmissionQueueEntry;

/** The answers to Get Log Page. Any part of a log page can be read; what is asked for behind its end is zero. */
final class LogPages {
    private static final int NSID_LOCATION = 4;
    private static final int LID_LOCATION = 40;
    private static final int NUMD_LOCATION = 42;
    private static final int LPO_LOCATION = 48;
    /** SMART counts data in thousands of 512 bytes. */
    private static final long DATA_UNIT_BYTES = 512_000;

    private final Controller controller;
    private final Directory directory;

    LogPages(Controller controller, Directory directory) {
        this.controller = controller;
        this.directory = directory;
    }

    void prepare(Request request) {
        MemorySegment capsule = request.capsule();
        int lid = GetLogPageCommand.lid(capsule, request.at());
        long length = GetLogPageCommand.lengthBytes(capsule, request.at());
        if (!has(lid)) {
            request.fail(NvmeStatus.INVALID_LOG_PAGE | NvmeStatus.DNR, LID_LOCATION);
        } else if (lid == LogPage.SMART_HEALTH_INFORMATION
                && request.nsid() != 0
                && request.nsid() != SubmissionQueueEntry.NSID_ALL) {
            request.fail(NvmeStatus.INVALID_FIELD | NvmeStatus.DNR, NSID_LOCATION);
        } else if (length > controller.options().maxTransferBytes()) {
            request.fail(NvmeStatus.INVALID_FIELD | NvmeStatus.DNR, NUMD_LOCATION);
        } else if (GetLogPageCommand.isIndexOffset(capsule, request.at())
                || (GetLogPageCommand.lpo(capsule, request.at()) & 3) != 0) {
            request.fail(NvmeStatus.INVALID_FIELD | NvmeStatus.DNR, LPO_LOCATION);
        } else {
            request.needs(DataDirection.TO_HOST, (int) length);
        }
    }

    private boolean has(int lid) {
        if (controller.isDiscovery()) {
            return lid == LogPage.DISCOVERY;
        }
        return switch (lid) {
            case LogPage.ERROR_INFORMATION,
                    LogPage.SMART_HEALTH_INFORMATION,
                    LogPage.FIRMWARE_SLOT_INFORMATION,
                    LogPage.CHANGED_NAMESPACE_LIST,
                    LogPage.COMMANDS_SUPPORTED_AND_EFFECTS -> true;
            default -> false;
        };
    }

    void write(Request request) {
        MemorySegment capsule = request.capsule();
        int lid = GetLogPageCommand.lid(capsule, request.at());
        MemorySegment page = page(lid);
        long size = page.byteSize();
        long offset = GetLogPageCommand.lpo(capsule, request.at());
        if (offset < 0 || offset > size) {
            request.fail(NvmeStatus.INVALID_FIELD | NvmeStatus.DNR, LPO_LOCATION);
            return;
        }
        MemorySegment to = request.memory().asSlice(request.memoryAt(), request.transferBytes());
        to.fill((byte) 0);
        MemorySegment.copy(page, offset, to, 0, Math.min(size - offset, to.byteSize()));
        if (!GetLogPageCommand.rae(capsule, request.at())) {
            readWithoutRetaining(lid);
        }
    }

    private void readWithoutRetaining(int lid) {
        if (lid == LogPage.CHANGED_NAMESPACE_LIST) {
            controller.events().logRead(AsyncEvent.NOTICE_NAMESPACE_ATTRIBUTE);
        } else if (lid == LogPage.DISCOVERY) {
            controller.events().logRead(AsyncEvent.NOTICE_DISCOVERY_LOG);
        }
    }

    private MemorySegment page(int lid) {
        return switch (lid) {
            case LogPage.ERROR_INFORMATION -> errors();
            case LogPage.SMART_HEALTH_INFORMATION -> smart();
            case LogPage.FIRMWARE_SLOT_INFORMATION -> firmware();
            case LogPage.CHANGED_NAMESPACE_LIST -> changedNamespaces();
            case LogPage.COMMANDS_SUPPORTED_AND_EFFECTS -> effects();
            case LogPage.DISCOVERY -> discovery();
            default -> throw new IllegalStateException("log page " + lid + " was not refused");
        };
    }

    private static MemorySegment zeroes(int bytes) {
        return MemorySegment.ofArray(new byte[bytes]);
    }

    private MemorySegment errors() {
        MemorySegment page = zeroes(ErrorLog.ENTRIES * ErrorLogEntry.SIZE_BYTES);
        controller.errorLog().write(page, 0);
        return page;
    }

    private MemorySegment smart() {
        MemorySegment page = zeroes(SmartLog.SIZE_BYTES);
        new SmartLog()
                .availableSpare(100)
                .dataUnitsRead(dataUnits(controller.sum(IoCounters::readBytes)))
                .dataUnitsWritten(dataUnits(controller.sum(IoCounters::writtenBytes)))
                .hostReadCommands(controller.sum(IoCounters::reads))
                .hostWriteCommands(controller.sum(IoCounters::writes))
                .mediaErrors(controller.sum(IoCounters::mediaErrors))
                .errorLogEntries(controller.errorLog().count())
                .write(page, 0);
        return page;
    }

    private static long dataUnits(long bytes) {
        return (bytes + DATA_UNIT_BYTES - 1) / DATA_UNIT_BYTES;
    }

    private static MemorySegment firmware() {
        MemorySegment page = zeroes(FirmwareSlotLog.SIZE_BYTES);
        new FirmwareSlotLog()
                .afi(1)
                .revision(1, IdentifyPages.FIRMWARE_REVISION)
                .write(page, 0);
        return page;
    }

    private MemorySegment changedNamespaces() {
        MemorySegment page = zeroes(NamespaceList.SIZE_BYTES);
        int[] nsids = controller.events().changedNamespaces();
        NamespaceList.write(page, 0, nsids, nsids.length);
        return page;
    }

    private static MemorySegment effects() {
        MemorySegment page = zeroes(EffectsLog.SIZE_BYTES);
        new EffectsLog()
                .admin(AdminOpcode.GET_LOG_PAGE, EffectsLog.CSUPP)
                .admin(AdminOpcode.IDENTIFY, EffectsLog.CSUPP)
                .admin(AdminOpcode.ABORT, EffectsLog.CSUPP)
                .admin(AdminOpcode.SET_FEATURES, EffectsLog.CSUPP)
                .admin(AdminOpcode.GET_FEATURES, EffectsLog.CSUPP)
                .admin(AdminOpcode.ASYNCHRONOUS_EVENT_REQUEST, EffectsLog.CSUPP)
                .admin(AdminOpcode.KEEP_ALIVE, EffectsLog.CSUPP)
                .io(IoOpcode.READ, EffectsLog.CSUPP)
                .io(IoOpcode.COMPARE, EffectsLog.CSUPP)
                .io(IoOpcode.WRITE, EffectsLog.CSUPP | EffectsLog.LBCC)
                .io(IoOpcode.FLUSH, EffectsLog.CSUPP)
                .io(IoOpcode.WRITE_ZEROES, EffectsLog.CSUPP | EffectsLog.LBCC)
                .io(IoOpcode.DATASET_MANAGEMENT, EffectsLog.CSUPP | EffectsLog.LBCC)
                .write(page, 0);
        return page;
    }

    private MemorySegment discovery() {
        DiscoveryLogPage log = directory.logPage(controller.hostNqn());
        MemorySegment page = zeroes(log.sizeBytes());
        log.write(page, 0);
        return page;
    }
}
