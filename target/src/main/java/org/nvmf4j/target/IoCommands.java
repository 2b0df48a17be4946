package org.nvmf4j.target;

import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;
import org.nvmf4j.nvme.DatasetManagementCommand;
import org.nvmf4j.nvme.IoOpcode;
import org.nvmf4j.nvme.NvmeStatus;
import org.nvmf4j.nvme.ReadWriteCommand;
import org.nvmf4j.target.spi.BackendOperation;
import org.nvmf4j.target.spi.BackendStatus;

/** Commands of an I/O queue: those of the NVM command set that the target has. Allocates nothing. */
final class IoCommands implements CommandSet {
    private static final LimitedLog WARNINGS = new LimitedLog(System.getLogger(IoCommands.class.getName()));
    private static final int NSID_LOCATION = 4;
    private static final int SLBA_LOCATION = 40;
    private static final int NLB_LOCATION = 48;

    private final Controller controller;
    private final Subsystem subsystem;
    private final IoCounters counters;
    private final BackendLanes backendLanes;
    private final int maxTransferBytes;

    IoCommands(Controller controller, IoCounters counters, BackendLanes backendLanes) {
        this.controller = controller;
        this.subsystem = controller.subsystem();
        this.counters = counters;
        this.backendLanes = backendLanes;
        this.maxTransferBytes = controller.options().maxTransferBytes();
    }

    @Override
    public void prepare(Request request) {
        if (!controller.isReady()) {
            request.fail(NvmeStatus.COMMAND_SEQUENCE_ERROR | NvmeStatus.DNR);
            return;
        }
        switch (request.opcode()) {
            case IoOpcode.READ -> prepareTransfer(request, DataDirection.TO_HOST);
            case IoOpcode.WRITE, IoOpcode.COMPARE -> prepareTransfer(request, DataDirection.FROM_HOST);
            case IoOpcode.WRITE_ZEROES -> prepareTransfer(request, DataDirection.NONE);
            case IoOpcode.FLUSH -> namespace(request);
            case IoOpcode.DATASET_MANAGEMENT -> {
                if (namespace(request) != null) {
                    int ranges = DatasetManagementCommand.ranges(request.capsule(), request.at());
                    request.needsAtLeast(ranges * DatasetManagementCommand.RANGE_SIZE_BYTES);
                }
            }
            default -> request.fail(NvmeStatus.INVALID_OPCODE | NvmeStatus.DNR, 0);
        }
    }

    private @Nullable Namespace namespace(Request request) {
        Namespace namespace = subsystem.table().get(request.nsid());
        if (namespace == null) {
            request.fail(NvmeStatus.INVALID_NAMESPACE_OR_FORMAT | NvmeStatus.DNR, NSID_LOCATION);
        }
        request.namespace = namespace;
        return namespace;
    }

    private void prepareTransfer(Request request, DataDirection direction) {
        Namespace namespace = namespace(request);
        if (namespace == null) {
            return;
        }
        MemorySegment capsule = request.capsule();
        long bytes = (long) ReadWriteCommand.blocks(capsule, request.at()) << namespace.blockShift();
        if (bytes > maxTransferBytes) {
            request.fail(NvmeStatus.INVALID_FIELD | NvmeStatus.DNR, NLB_LOCATION);
        } else if (!ReadWriteCommand.isInRange(capsule, request.at(), namespace.blocks())) {
            request.fail(NvmeStatus.LBA_OUT_OF_RANGE | NvmeStatus.DNR, SLBA_LOCATION);
        } else if (direction != DataDirection.TO_HOST && request.opcode() != IoOpcode.COMPARE && namespace.readOnly()) {
            request.fail(NvmeStatus.NAMESPACE_WRITE_PROTECTED | NvmeStatus.DNR);
        } else if (direction != DataDirection.NONE) {
            request.needs(direction, (int) bytes);
            if (namespace.wantsPeerMemory() && request.opcode() != IoOpcode.COMPARE) {
                request.wantPeerMemory();
            }
        }
    }

    @Override
    public boolean execute(Request request) {
        Namespace namespace = request.namespace;
        if (namespace == null) {
            throw new IllegalStateException("a command without a namespace was not refused");
        }
        switch (request.opcode()) {
            case IoOpcode.READ -> {
                counters.read(request.transferBytes());
                if (namespace.backend().readsZeroes()) {
                    return true;
                }
                request.backendTransfer(BackendOperation.READ, offset(request, namespace), false);
            }
            case IoOpcode.COMPARE -> {
                counters.read(request.transferBytes());
                request.backendTransfer(BackendOperation.COMPARE, offset(request, namespace), false);
            }
            case IoOpcode.WRITE -> {
                counters.written(request.transferBytes());
                request.backendTransfer(
                        BackendOperation.WRITE, offset(request, namespace), mustBeOnMedium(request, namespace));
            }
            case IoOpcode.WRITE_ZEROES -> {
                long bytes = (long) ReadWriteCommand.blocks(request.capsule(), request.at()) << namespace.blockShift();
                request.backendOperation(BackendOperation.WRITE_ZEROES, offset(request, namespace), bytes);
                request.onMedium(mustBeOnMedium(request, namespace));
            }
            case IoOpcode.FLUSH -> request.backendOperation(BackendOperation.FLUSH, 0, 0);
            default -> {
                return deallocate(request, namespace);
            }
        }
        return submit(request, namespace);
    }

    private static long offset(Request request, Namespace namespace) {
        return ReadWriteCommand.slba(request.capsule(), request.at()) << namespace.blockShift();
    }

    private boolean mustBeOnMedium(Request request, Namespace namespace) {
        return namespace.backend().volatileWriteCache()
                && (ReadWriteCommand.fua(request.capsule(), request.at()) || !controller.writeCacheEnabled());
    }

    private boolean submit(Request request, Namespace namespace) {
        BackendStatus status = handOver(request, namespace);
        return status != BackendStatus.PENDING && ended(request, namespace, status);
    }

    /** Hands the request to its backend; if that has not taken it, says how it has ended. */
    private BackendStatus handOver(Request request, Namespace namespace) {
        request.handToBackend();
        BackendStatus status;
        try {
            status = namespace.hasBackendLanes()
                    ? backendLanes.submit(request, namespace)
                    : namespace.backend().submit(request);
        } catch (RuntimeException e) {
            WARNINGS.warning(namespace + ": " + request.operation() + " failed unexpectedly: " + e);
            status = BackendStatus.INTERNAL_ERROR;
        }
        if (status != BackendStatus.PENDING) {
            request.keptFromBackend();
        }
        return status;
    }

    @Override
    public boolean resume(Request request) {
        Namespace namespace = request.namespace;
        if (namespace == null) {
            throw new IllegalStateException("a backend ended a command without a namespace");
        }
        return ended(request, namespace, request.backendStatus());
    }

    /** A backend's part has ended: the command has, too, or goes on with its next part. */
    private boolean ended(Request request, Namespace namespace, BackendStatus status) {
        int nvmeStatus = nvmeStatus(request, status);
        if (nvmeStatus != NvmeStatus.SUCCESS) {
            request.fail(nvmeStatus);
            return true;
        }
        if (request.opcode() == IoOpcode.DATASET_MANAGEMENT) {
            request.part++;
            return deallocate(request, namespace);
        }
        return true;
    }

    private int nvmeStatus(Request request, BackendStatus status) {
        return switch (status) {
            case SUCCESS -> NvmeStatus.SUCCESS;
            case MEDIA_ERROR -> {
                counters.mediaError();
                yield switch (request.operation()) {
                    case READ, COMPARE -> NvmeStatus.UNRECOVERED_READ_ERROR;
                    default -> NvmeStatus.WRITE_FAULT;
                };
            }
            case CAPACITY_EXCEEDED -> NvmeStatus.CAPACITY_EXCEEDED | NvmeStatus.DNR;
            case WRITE_PROTECTED -> NvmeStatus.NAMESPACE_WRITE_PROTECTED | NvmeStatus.DNR;
            case COMPARE_FAILURE -> NvmeStatus.COMPARE_FAILURE | NvmeStatus.DNR;
            case UNSUPPORTED -> NvmeStatus.INVALID_OPCODE | NvmeStatus.DNR;
            case DATA_LOST -> {
                request.dataVanished();
                yield NvmeStatus.DATA_TRANSFER_ERROR;
            }
            case DEVICE_STATUS -> {
                int deviceStatus = request.deviceStatus() & (NvmeStatus.DNR | 0x7ff);
                if (NvmeStatus.sct(deviceStatus) == NvmeStatus.SCT_MEDIA) {
                    counters.mediaError();
                }
                yield deviceStatus;
            }
            case INTERNAL_ERROR, PENDING -> NvmeStatus.INTERNAL_ERROR;
        };
    }

    /** Goes through the ranges of a Dataset Management, one at a time; all but deallocating is advice that is not taken. */
    private boolean deallocate(Request request, Namespace namespace) {
        MemorySegment capsule = request.capsule();
        int attributes = DatasetManagementCommand.attributes(capsule, request.at());
        if ((attributes & DatasetManagementCommand.AD_DEALLOCATE) == 0) {
            return true;
        }
        if (namespace.readOnly()) {
            request.fail(NvmeStatus.NAMESPACE_WRITE_PROTECTED | NvmeStatus.DNR);
            return true;
        }
        int ranges = DatasetManagementCommand.ranges(capsule, request.at());
        while (request.part < ranges) {
            long range = request.memoryAt() + (long) request.part * DatasetManagementCommand.RANGE_SIZE_BYTES;
            long slba = DatasetManagementCommand.rangeSlba(request.memory(), range);
            long blocks = DatasetManagementCommand.rangeBlocks(request.memory(), range);
            if (slba < 0 || slba > namespace.blocks() || blocks > namespace.blocks() - slba) {
                request.fail(NvmeStatus.LBA_OUT_OF_RANGE | NvmeStatus.DNR);
                return true;
            }
            if (blocks > 0) {
                request.backendOperation(
                        BackendOperation.DEALLOCATE, slba << namespace.blockShift(), blocks << namespace.blockShift());
                BackendStatus status = handOver(request, namespace);
                if (status == BackendStatus.PENDING) {
                    return false;
                }
                int nvmeStatus = nvmeStatus(request, status);
                if (nvmeStatus != NvmeStatus.SUCCESS) {
                    request.fail(nvmeStatus);
                    return true;
                }
            }
            request.part++;
        }
        return true;
    }
}
