package org.nvmf4j.target;

import java.util.UUID;
import org.jspecify.annotations.Nullable;
import org.nvmf4j.nvme.AdminOpcode;
import org.nvmf4j.nvme.ConnectCommand;
import org.nvmf4j.nvme.ConnectData;
import org.nvmf4j.nvme.FabricsType;
import org.nvmf4j.nvme.Nqn;
import org.nvmf4j.nvme.NvmeStatus;
import org.nvmf4j.target.spi.BackendStatus;

/**
 * What a queue understands before it belongs to a controller: Connect alone (NVMe Base 2.0, section 6.3). An admin queue's makes a
 * controller, an I/O queue's joins one.
 */
final class ConnectCommands implements CommandSet {
    private static final LimitedLog WARNINGS = new LimitedLog(System.getLogger(ConnectCommands.class.getName()));
    private static final UUID NIL = new UUID(0, 0);

    private final ConnectingQueue queue;
    private final TargetPort port;
    private final BackendLanes backendLanes;
    private final Directory directory;
    private final TargetOptions options;
    private final TargetStatistics.Counters statistics;

    ConnectCommands(ConnectingQueue queue, TargetPort port, BackendLanes backendLanes) {
        this.queue = queue;
        this.port = port;
        this.backendLanes = backendLanes;
        this.directory = port.directory();
        this.options = port.options();
        this.statistics = port.statistics();
    }

    @Override
    public void prepare(Request request) {
        if (request.opcode() != AdminOpcode.FABRICS
                || FabricsType.fctype(request.capsule(), request.at()) != FabricsType.CONNECT) {
            request.fail(NvmeStatus.INVALID_OPCODE | NvmeStatus.DNR, 0);
            return;
        }
        request.needs(DataDirection.FROM_HOST, ConnectData.SIZE_BYTES);
    }

    @Override
    public boolean execute(Request request) {
        if (ConnectCommand.recfmt(request.capsule(), request.at()) != 0) {
            refuse(request, NvmeStatus.CONNECT_INCOMPATIBLE_FORMAT, false, ConnectCommand.RECFMT_OFFSET);
            return true;
        }
        ConnectData data = ConnectData.parse(request.memory(), request.memoryAt());
        if (checkQueue(request) && checkNames(request, data)) {
            Subsystem subsystem = directory.find(data.subnqn());
            if (subsystem == null) {
                invalid(request, true, ConnectData.SUBNQN_OFFSET);
            } else if (!subsystem.isAllowed(data.hostnqn())) {
                WARNINGS.warning("host " + data.hostnqn() + " is refused: " + subsystem.nqn()
                        + " allows others only (nvmf serve --allow-host)");
                refuse(request, NvmeStatus.CONNECT_INVALID_HOST, true, ConnectData.HOSTNQN_OFFSET);
            } else if (queue.qid() == 0) {
                return connectAdmin(request, subsystem, data);
            } else {
                connectIo(request, subsystem, data);
            }
        }
        return true;
    }

    private boolean checkQueue(Request request) {
        int qid = ConnectCommand.qid(request.capsule(), request.at());
        int sqsize = ConnectCommand.sqsizeZeroBased(request.capsule(), request.at());
        if (qid != queue.qid()) {
            return invalid(request, false, ConnectCommand.QID_OFFSET);
        }
        if (sqsize == 0 || sqsize >= queue.receives()) {
            return invalid(request, false, ConnectCommand.SQSIZE_OFFSET);
        }
        return true;
    }

    private boolean checkNames(Request request, ConnectData data) {
        if (data.hostId().equals(NIL)) {
            return invalid(request, true, ConnectData.HOSTID_OFFSET);
        }
        if (!Nqn.isValid(data.subnqn())) {
            return invalid(request, true, ConnectData.SUBNQN_OFFSET);
        }
        if (!Nqn.isValid(data.hostnqn())) {
            return invalid(request, true, ConnectData.HOSTNQN_OFFSET);
        }
        return true;
    }

    private boolean connectAdmin(Request request, Subsystem subsystem, ConnectData data) {
        if (data.cntlid() != ConnectData.CNTLID_DYNAMIC) {
            invalid(request, true, ConnectData.CNTLID_OFFSET);
            return true;
        }
        Controller controller = subsystem.addController(cntlid -> new Controller(
                subsystem, cntlid, data.hostnqn(), data.hostId(), options, queue.maxQueueSize(), queue, port));
        if (controller == null) {
            request.fail(NvmeStatus.CONNECT_CONTROLLER_BUSY);
            return true;
        }
        if (directory.find(subsystem.nqn()) != subsystem) {
            // Removed meanwhile, and the end of its controllers came before this one.
            controller.close("subsystem removed");
            invalid(request, true, ConnectData.SUBNQN_OFFSET);
            return true;
        }
        controller.katoMillis(ConnectCommand.katoMillis(request.capsule(), request.at()));
        statistics.controllersCreated.increment();
        connected(request, controller, new AdminCommands(controller, directory));
        if (!subsystem.wantsPeerMemory()) {
            return true;
        }
        controller.connecting();
        request.handToBackend();
        port.aside(() -> place(subsystem, controller, request));
        return false;
    }

    /** The host learns that it is connected when its data has its places. */
    private static void place(Subsystem subsystem, Controller controller, Request request) {
        try {
            subsystem.placeNamespaces(controller);
        } finally {
            request.complete(BackendStatus.SUCCESS);
        }
    }

    private void connectIo(Request request, Subsystem subsystem, ConnectData data) {
        Controller controller = findController(request, subsystem, data);
        if (controller == null) {
            return;
        }
        if (controller.isDiscovery() || queue.qid() > options.maxIoQueues()) {
            invalid(request, false, ConnectCommand.QID_OFFSET);
            return;
        }
        if (ConnectCommand.sqsizeZeroBased(request.capsule(), request.at()) >= controller.maxQueueSize()) {
            invalid(request, false, ConnectCommand.SQSIZE_OFFSET);
            return;
        }
        if (!controller.isReady()) {
            request.fail(NvmeStatus.COMMAND_SEQUENCE_ERROR | NvmeStatus.DNR);
            return;
        }
        int status = controller.attach(queue);
        if (status != NvmeStatus.SUCCESS) {
            request.fail(status);
            return;
        }
        connected(request, controller, new IoCommands(controller, controller.counters(queue.qid()), backendLanes));
    }

    /** The controller of the host's admin queue; a queue of another host must not get in. */
    private @Nullable Controller findController(Request request, Subsystem subsystem, ConnectData data) {
        Controller controller = subsystem.controller(data.cntlid());
        if (controller == null) {
            invalid(request, true, ConnectData.CNTLID_OFFSET);
            return null;
        }
        if (!controller.hostNqn().equals(data.hostnqn())) {
            invalid(request, true, ConnectData.HOSTNQN_OFFSET);
            return null;
        }
        if (!controller.hostId().equals(data.hostId())) {
            invalid(request, true, ConnectData.HOSTID_OFFSET);
            return null;
        }
        return controller;
    }

    private void connected(Request request, Controller controller, CommandSet commands) {
        int entries = ConnectCommand.sqsizeZeroBased(request.capsule(), request.at()) + 1;
        boolean reportsHead =
                (ConnectCommand.cattr(request.capsule(), request.at()) & ConnectCommand.CATTR_DISABLE_SQ_FLOW_CONTROL)
                        == 0;
        request.result(controller.cntlid());
        queue.connected(controller, commands, entries, reportsHead);
    }

    private static boolean invalid(Request request, boolean inData, int offset) {
        refuse(request, NvmeStatus.CONNECT_INVALID_PARAMETERS, inData, offset);
        return false;
    }

    private static void refuse(Request request, int status, boolean inData, int offset) {
        request.fail(status | NvmeStatus.DNR);
        request.result(ConnectCommand.invalidParameter(inData, offset));
    }

    @Override
    public boolean resume(Request request) {
        throw new IllegalStateException("a queue that waits has its controller's commands");
    }
}
