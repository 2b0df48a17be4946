package org.nvmf4j.target;

import static org.nvmf4j.nvme.IdentifyController.CMIC_MULTI_CONTROLLER;
import static org.nvmf4j.nvme.IdentifyController.CMIC_MULTI_PORT;
import static org.nvmf4j.nvme.IdentifyController.CTRATT_HOST_ID_128;
import static org.nvmf4j.nvme.IdentifyController.CTRATT_TBKAS;
import static org.nvmf4j.nvme.IdentifyController.LPA_EFFECTS;
import static org.nvmf4j.nvme.IdentifyController.LPA_EXTENDED_DATA;
import static org.nvmf4j.nvme.IdentifyController.ONCS_COMPARE;
import static org.nvmf4j.nvme.IdentifyController.ONCS_DATASET_MANAGEMENT;
import static org.nvmf4j.nvme.IdentifyController.ONCS_WRITE_ZEROES;
import static org.nvmf4j.nvme.IdentifyController.SGLS_BYTE_ALIGNED;
import static org.nvmf4j.nvme.IdentifyController.SGLS_KEYED;
import static org.nvmf4j.nvme.IdentifyController.SGLS_OFFSET;
import static org.nvmf4j.nvme.IdentifyController.VWC_PRESENT;

import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;
import org.nvmf4j.nvme.Cns;
import org.nvmf4j.nvme.ControllerProperties;
import org.nvmf4j.nvme.IdentifyCommand;
import org.nvmf4j.nvme.IdentifyController;
import org.nvmf4j.nvme.IdentifyControllerNvm;
import org.nvmf4j.nvme.IdentifyNamespace;
import org.nvmf4j.nvme.IdentifyNamespaceIndependent;
import org.nvmf4j.nvme.IdentifyNamespaceNvm;
import org.nvmf4j.nvme.LbaFormat;
import org.nvmf4j.nvme.NamespaceIdentification;
import org.nvmf4j.nvme.NamespaceList;
import org.nvmf4j.nvme.NvmeStatus;
import org.nvmf4j.nvme.SubmissionQueueEntry;
import org.nvmf4j.target.spi.OptimalSizes;

/** The answers to Identify. */
final class IdentifyPages {
    /** NVMe 1.4. */
    static final int VERSION = ControllerProperties.version(1, 4, 0);
    /** As hosts show it. */
    static final String FIRMWARE_REVISION = "0.1";

    private static final int CNS_LOCATION = 40;
    private static final int NSID_LOCATION = 4;
    private static final int CSI_LOCATION = 47;
    /** A Flush of all namespaces at once is not supported (VWC bits 2:1 are 10b). */
    private static final int VWC_NO_BROADCAST_FLUSH = 2 << 1;

    private final Controller controller;

    IdentifyPages(Controller controller) {
        this.controller = controller;
    }

    /** Fails an Identify that has no answer. */
    void check(Request request) {
        MemorySegment capsule = request.capsule();
        int cns = IdentifyCommand.cns(capsule, request.at());
        int nsid = request.nsid();
        boolean known = cns == Cns.CONTROLLER || (!controller.isDiscovery() && isOfIoController(cns));
        if (!known) {
            request.fail(NvmeStatus.INVALID_FIELD | NvmeStatus.DNR, CNS_LOCATION);
        } else if ((cns == Cns.COMMAND_SET_NAMESPACE || cns == Cns.COMMAND_SET_CONTROLLER)
                && IdentifyCommand.csi(capsule, request.at()) != Cns.CSI_NVM) {
            request.fail(NvmeStatus.INVALID_FIELD | NvmeStatus.DNR, CSI_LOCATION);
        } else if (!isValidNsid(cns, nsid)) {
            request.fail(NvmeStatus.INVALID_NAMESPACE_OR_FORMAT | NvmeStatus.DNR, NSID_LOCATION);
        }
    }

    private static boolean isOfIoController(int cns) {
        return switch (cns) {
            case Cns.NAMESPACE,
                    Cns.ACTIVE_NAMESPACE_LIST,
                    Cns.NAMESPACE_IDENTIFICATION_DESCRIPTORS,
                    Cns.COMMAND_SET_NAMESPACE,
                    Cns.COMMAND_SET_CONTROLLER,
                    Cns.COMMAND_SET_INDEPENDENT_NAMESPACE -> true;
            default -> false;
        };
    }

    /** A namespace that could be, but is not, is all zeroes; its descriptors are an error. */
    private boolean isValidNsid(int cns, int nsid) {
        return switch (cns) {
            case Cns.NAMESPACE, Cns.COMMAND_SET_NAMESPACE, Cns.COMMAND_SET_INDEPENDENT_NAMESPACE ->
                nsid >= 1 && nsid <= Namespace.MAX_NSID;
            case Cns.NAMESPACE_IDENTIFICATION_DESCRIPTORS ->
                controller.subsystem().table().get(nsid) != null;
            case Cns.ACTIVE_NAMESPACE_LIST -> Integer.compareUnsigned(nsid, SubmissionQueueEntry.NSID_ALL - 1) < 0;
            default -> true;
        };
    }

    /** Writes the answer. */
    void write(Request request) {
        MemorySegment to = request.memory();
        long at = request.memoryAt();
        to.asSlice(at, Cns.DATA_BYTES).fill((byte) 0);
        Namespace namespace = controller.subsystem().table().get(request.nsid());
        int cns = IdentifyCommand.cns(request.capsule(), request.at());
        switch (cns) {
            case Cns.CONTROLLER -> controller().write(to, at);
            case Cns.COMMAND_SET_CONTROLLER ->
                new IdentifyControllerNvm().wzsl(mdts()).write(to, at);
            case Cns.ACTIVE_NAMESPACE_LIST -> {
                int[] nsids = controller.subsystem().table().nsidsAbove(request.nsid());
                NamespaceList.write(to, at, nsids, nsids.length);
            }
            default -> writeNamespace(request, cns, namespace);
        }
    }

    private void writeNamespace(Request request, int cns, @Nullable Namespace namespace) {
        MemorySegment to = request.memory();
        long at = request.memoryAt();
        if (namespace == null) {
            if (cns == Cns.NAMESPACE_IDENTIFICATION_DESCRIPTORS) {
                request.fail(NvmeStatus.INVALID_NAMESPACE_OR_FORMAT | NvmeStatus.DNR, NSID_LOCATION);
            }
            return;
        }
        switch (cns) {
            case Cns.NAMESPACE -> namespace(namespace).write(to, at);
            case Cns.NAMESPACE_IDENTIFICATION_DESCRIPTORS ->
                new NamespaceIdentification(0, namespace.nguid(), namespace.uuid(), NamespaceIdentification.NO_CSI)
                        .write(to, at);
            case Cns.COMMAND_SET_NAMESPACE -> new IdentifyNamespaceNvm().write(to, at);
            case Cns.COMMAND_SET_INDEPENDENT_NAMESPACE ->
                new IdentifyNamespaceIndependent()
                        .nmic(IdentifyNamespace.NMIC_SHARED)
                        .nsattr(namespace.readOnly() ? IdentifyNamespace.NSATTR_WRITE_PROTECTED : 0)
                        .nstat(IdentifyNamespaceIndependent.NSTAT_READY)
                        .write(to, at);
            default -> throw new IllegalStateException("CNS " + cns + " was not refused");
        }
    }

    private int mdts() {
        return Integer.numberOfTrailingZeros(controller.options().maxTransferBytes()) - 12;
    }

    private IdentifyController controller() {
        IdentifyController page = new IdentifyController()
                .sn(controller.subsystem().serial())
                .mn(controller.subsystem().model())
                .fr(FIRMWARE_REVISION)
                .cntlid(controller.cntlid())
                .ver(VERSION)
                .mdts(mdts())
                .oaes(controller.supportedNotices())
                .ctratt(CTRATT_HOST_ID_128 | CTRATT_TBKAS)
                .acl(AsyncEvents.MAX_HELD - 1)
                .aerl(AsyncEvents.MAX_HELD - 1)
                .elpe(ErrorLog.ENTRIES - 1)
                .kas(Controller.KAS)
                .sgls(sgls())
                .maxcmd(controller.maxQueueSize())
                .subnqn(controller.subsystem().nqn());
        if (controller.isDiscovery()) {
            return page.cntrltype(IdentifyController.CNTRLTYPE_DISCOVERY).lpa(LPA_EXTENDED_DATA);
        }
        return page.cntrltype(IdentifyController.CNTRLTYPE_IO)
                .cmic(CMIC_MULTI_PORT | CMIC_MULTI_CONTROLLER)
                .lpa(LPA_EFFECTS | LPA_EXTENDED_DATA)
                .sqes(0x66)
                .cqes(0x44)
                .nn(Namespace.MAX_NSID)
                .mnan(Namespace.MAX_NSID)
                .oncs(ONCS_COMPARE | ONCS_DATASET_MANAGEMENT | ONCS_WRITE_ZEROES)
                .vwc(VWC_PRESENT | VWC_NO_BROADCAST_FLUSH)
                .inCapsuleDataBytes(controller.options().inCapsuleDataBytes())
                .iorcsz(1)
                .icdoff(0)
                .msdbd(1);
    }

    private int sgls() {
        return SGLS_BYTE_ALIGNED | SGLS_KEYED | (controller.options().inCapsuleDataBytes() > 0 ? SGLS_OFFSET : 0);
    }

    private static IdentifyNamespace namespace(Namespace namespace) {
        IdentifyNamespace page = new IdentifyNamespace()
                .nsze(namespace.blocks())
                .ncap(namespace.blocks())
                .nuse(namespace.blocks())
                .nmic(IdentifyNamespace.NMIC_SHARED)
                .nsattr(namespace.readOnly() ? IdentifyNamespace.NSATTR_WRITE_PROTECTED : 0)
                .nguid(namespace.nguid())
                .lbaFormat(0, LbaFormat.ofBlockSize(namespace.blockSizeBytes()));
        OptimalSizes sizes = namespace.backend().optimalSizes();
        if (!sizes.equals(OptimalSizes.UNKNOWN)) {
            int block = namespace.blockSizeBytes();
            page.nsfeat(IdentifyNamespace.NSFEAT_OPTIMAL_PERFORMANCE)
                    .noiob(blocks(sizes.boundary(), block, 0))
                    .npwg(blocks(sizes.writeGranularity(), block, 1) - 1)
                    .npwa(blocks(sizes.writeAlignment(), block, 1) - 1)
                    .npdg(blocks(sizes.deallocateGranularity(), block, 1) - 1)
                    .npda(blocks(sizes.deallocateAlignment(), block, 1) - 1)
                    .nows(blocks(sizes.write(), block, 1) - 1);
        }
        return page;
    }

    /** A size in blocks, or what is said where it is unknown, no whole number or too large. */
    private static int blocks(long bytes, int blockSizeBytes, int otherwise) {
        long blocks = bytes / blockSizeBytes;
        return blocks > 0 && blocks <= 0xffff && bytes % blockSizeBytes == 0 ? (int) blocks : otherwise;
    }
}
