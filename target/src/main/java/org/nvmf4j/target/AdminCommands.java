package org.nvmf4j.target;

import java.lang.foreign.MemorySegment;
import org.nvmf4j.nvme.AbortCommand;
import org.nvmf4j.nvme.AdminOpcode;
import org.nvmf4j.nvme.Cns;
import org.nvmf4j.nvme.ControllerProperties;
import org.nvmf4j.nvme.FabricsType;
import org.nvmf4j.nvme.NvmeStatus;
import org.nvmf4j.nvme.PropertyCommand;

/** Commands of an admin queue, of an I/O controller and of a discovery controller. */
final class AdminCommands implements CommandSet {
    private static final int PROPERTY_OFFSET_LOCATION = 44;

    private final Controller controller;
    private final IdentifyPages identify;
    private final LogPages logs;
    private final Features features;

    AdminCommands(Controller controller, Directory directory) {
        this.controller = controller;
        this.identify = new IdentifyPages(controller);
        this.logs = new LogPages(controller, directory);
        this.features = new Features(controller);
    }

    @Override
    public void prepare(Request request) {
        int opcode = request.opcode();
        if (opcode != AdminOpcode.FABRICS && !controller.isReady()) {
            request.fail(NvmeStatus.COMMAND_SEQUENCE_ERROR | NvmeStatus.DNR);
            return;
        }
        switch (opcode) {
            case AdminOpcode.FABRICS -> prepareFabrics(request);
            case AdminOpcode.IDENTIFY -> {
                identify.check(request);
                request.needs(DataDirection.TO_HOST, Cns.DATA_BYTES);
            }
            case AdminOpcode.GET_LOG_PAGE -> logs.prepare(request);
            case AdminOpcode.SET_FEATURES -> features.prepareSet(request);
            case AdminOpcode.GET_FEATURES -> features.prepareGet(request);
            case AdminOpcode.ABORT, AdminOpcode.ASYNCHRONOUS_EVENT_REQUEST, AdminOpcode.KEEP_ALIVE -> {
                // No data, and nothing that could be wrong.
            }
            default -> request.fail(NvmeStatus.INVALID_OPCODE | NvmeStatus.DNR, 0);
        }
    }

    private static void prepareFabrics(Request request) {
        switch (FabricsType.fctype(request.capsule(), request.at())) {
            case FabricsType.PROPERTY_GET, FabricsType.PROPERTY_SET -> {
                // No data; what property it is, is looked at when it is executed.
            }
            case FabricsType.CONNECT -> request.fail(NvmeStatus.COMMAND_SEQUENCE_ERROR | NvmeStatus.DNR);
            default -> request.fail(NvmeStatus.INVALID_OPCODE | NvmeStatus.DNR, 4);
        }
    }

    @Override
    public boolean execute(Request request) {
        switch (request.opcode()) {
            case AdminOpcode.FABRICS -> executeFabrics(request);
            case AdminOpcode.IDENTIFY -> identify.write(request);
            case AdminOpcode.GET_LOG_PAGE -> logs.write(request);
            case AdminOpcode.SET_FEATURES -> features.set(request);
            case AdminOpcode.GET_FEATURES -> features.get(request);
            case AdminOpcode.ABORT -> request.result(AbortCommand.result(false));
            case AdminOpcode.KEEP_ALIVE -> keepAlive(request);
            case AdminOpcode.ASYNCHRONOUS_EVENT_REQUEST -> {
                return controller.events().hold(request);
            }
            default -> throw new IllegalStateException("opcode " + request.opcode() + " was not refused");
        }
        return true;
    }

    /** The timer itself restarts with every command that arrives. */
    private void keepAlive(Request request) {
        if (controller.katoMillis() == 0) {
            request.fail(NvmeStatus.KEEP_ALIVE_TIMEOUT_INVALID | NvmeStatus.DNR);
        }
    }

    private void executeFabrics(Request request) {
        if (FabricsType.fctype(request.capsule(), request.at()) == FabricsType.PROPERTY_GET) {
            getProperty(request);
        } else {
            setProperty(request);
        }
    }

    private void getProperty(Request request) {
        MemorySegment capsule = request.capsule();
        int property = PropertyCommand.property(capsule, request.at());
        int size = PropertyCommand.sizeBytes(capsule, request.at());
        if (size == Long.BYTES && property == ControllerProperties.CAP) {
            request.result(controller.cap());
            return;
        }
        if (size == Integer.BYTES) {
            switch (property) {
                case ControllerProperties.VS -> request.result(IdentifyPages.VERSION);
                case ControllerProperties.CC -> request.result(controller.cc() & 0xffff_ffffL);
                case ControllerProperties.CSTS -> request.result(controller.csts());
                default -> invalidProperty(request);
            }
            return;
        }
        invalidProperty(request);
    }

    private void setProperty(Request request) {
        MemorySegment capsule = request.capsule();
        if (PropertyCommand.property(capsule, request.at()) == ControllerProperties.CC
                && PropertyCommand.sizeBytes(capsule, request.at()) == Integer.BYTES) {
            controller.setCc((int) PropertyCommand.value(capsule, request.at()));
        } else {
            invalidProperty(request);
        }
    }

    private static void invalidProperty(Request request) {
        request.fail(NvmeStatus.INVALID_FIELD | NvmeStatus.DNR, PROPERTY_OFFSET_LOCATION);
    }

    @Override
    public boolean resume(Request request) {
        // Connect, when peer memory has been found for the controller's namespaces.
        controller.connected(System.nanoTime());
        return true;
    }
}
