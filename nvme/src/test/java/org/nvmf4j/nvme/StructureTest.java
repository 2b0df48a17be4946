package org.nvmf4j.nvme;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.lang.foreign.MemorySegment;
import org.junit.jupiter.api.Test;

/** Identify data and log pages of fixed size, as nvmet filled them. */
class StructureTest {
    private static byte[] written(DataStructure structure, int sizeBytes) {
        byte[] bytes = new byte[sizeBytes];
        structure.write(MemorySegment.ofArray(bytes), 0);
        return bytes;
    }

    @Test
    void readsIdentifyControllerOfLinux() {
        IdentifyController controller = IdentifyController.parse(KernelBytes.segment("identify-controller"), 0);
        assertThat(controller.sn()).isEqualTo("LABSERIAL0001");
        assertThat(controller.mn()).isEqualTo("Linux");
        assertThat(controller.fr()).isEqualTo("6.1.0-53");
        assertThat(controller.rab()).isEqualTo(6);
        assertThat(controller.cmic())
                .isEqualTo(IdentifyController.CMIC_MULTI_PORT
                        | IdentifyController.CMIC_MULTI_CONTROLLER
                        | IdentifyController.CMIC_ANA);
        assertThat(controller.mdts()).isEqualTo(8);
        assertThat(controller.maxTransferBytes()).isEqualTo(1 << 20);
        assertThat(controller.cntlid()).isEqualTo(1);
        assertThat(ControllerProperties.versionText(controller.ver())).isEqualTo("1.3");
        assertThat(controller.oaes()).isEqualTo(AsyncEvent.NOTICE_NAMESPACE_ATTRIBUTE | AsyncEvent.NOTICE_ANA);
        assertThat(controller.ctratt())
                .isEqualTo(IdentifyController.CTRATT_HOST_ID_128 | IdentifyController.CTRATT_TBKAS);
        assertThat(controller.cntrltype()).isEqualTo(IdentifyController.CNTRLTYPE_IO);
        assertThat(controller.isDiscovery()).isFalse();
        assertThat(controller.acl()).isEqualTo(3);
        assertThat(controller.aerl()).isEqualTo(3);
        assertThat(controller.lpa() & IdentifyController.LPA_EFFECTS).isNotZero();
        assertThat(controller.kas()).isEqualTo(10);
        assertThat(controller.anatt()).isEqualTo(10);
        assertThat(controller.anagrpmax()).isEqualTo(128);
        assertThat(controller.nanagrpid()).isEqualTo(128);
        assertThat(controller.sqes()).isEqualTo(0x66);
        assertThat(controller.cqes()).isEqualTo(0x44);
        assertThat(controller.maxcmd()).isEqualTo(1024);
        assertThat(controller.nn()).isEqualTo(1024);
        assertThat(controller.mnan()).isEqualTo(1024);
        assertThat(controller.oncs())
                .isEqualTo(IdentifyController.ONCS_DATASET_MANAGEMENT | IdentifyController.ONCS_WRITE_ZEROES);
        assertThat(controller.vwc()).isEqualTo(IdentifyController.VWC_PRESENT);
        assertThat(controller.sgls())
                .isEqualTo(IdentifyController.SGLS_BYTE_ALIGNED
                        | IdentifyController.SGLS_KEYED
                        | IdentifyController.SGLS_OFFSET);
        assertThat(controller.subnqn()).isEqualTo("nqn.2026-01.lab.example:sub1");
        assertThat(controller.ioccsz()).isEqualTo(260);
        assertThat(controller.inCapsuleDataBytes()).isEqualTo(4096);
        assertThat(controller.iorcsz()).isEqualTo(1);
        assertThat(controller.icdoff()).isZero();
        assertThat(controller.msdbd()).isEqualTo(1);
    }

    @Test
    void keepsWhatItHasNoAccessorFor() {
        byte[] linux = KernelBytes.bytes("identify-controller");
        assertThat(written(IdentifyController.parse(MemorySegment.ofArray(linux), 0), linux.length))
                .isEqualTo(linux);
    }

    @Test
    void parsesACopy() {
        MemorySegment memory = KernelBytes.segment("identify-controller");
        IdentifyController controller = IdentifyController.parse(memory, 0);
        memory.fill((byte) 0xff);
        assertThat(controller.mdts()).isEqualTo(8);
    }

    @Test
    void inCapsuleDataCountsSixteenBytes() {
        IdentifyController controller = new IdentifyController().inCapsuleDataBytes(0);
        assertThat(controller.ioccsz()).isEqualTo(4);
        assertThat(controller.inCapsuleDataBytes(16_384).ioccsz()).isEqualTo(1028);
        assertThat(controller.inCapsuleDataBytes()).isEqualTo(16_384);
        assertThat(controller.icdoff(2).inCapsuleDataBytes()).isEqualTo(16_384 - 32);
        assertThat(controller.ioccsz(2).icdoff(0).inCapsuleDataBytes()).isZero();
        assertThat(controller.ioccsz(-1).inCapsuleDataBytes()).isEqualTo(0xffff_ffffL * 16 - 64);
        assertThatThrownBy(() -> controller.inCapsuleDataBytes(100))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("in-capsule data of 100 bytes is not a multiple of 16");
    }

    @Test
    void transferLimitCannotOverflow() {
        assertThat(new IdentifyController().maxTransferBytes()).isEqualTo(Long.MAX_VALUE);
        assertThat(new IdentifyController().mdts(50).maxTransferBytes()).isEqualTo(4096L << 50);
        assertThat(new IdentifyController().mdts(255).maxTransferBytes()).isEqualTo(Long.MAX_VALUE);
    }

    @Test
    void discoveryControllerIsKnownByTypeOrName() {
        assertThat(new IdentifyController()
                        .cntrltype(IdentifyController.CNTRLTYPE_DISCOVERY)
                        .isDiscovery())
                .isTrue();
        assertThat(new IdentifyController().subnqn(Nqn.DISCOVERY).isDiscovery()).isTrue();
        assertThat(new IdentifyController()
                        .cntrltype(IdentifyController.CNTRLTYPE_IO)
                        .subnqn(Nqn.DISCOVERY)
                        .isDiscovery())
                .isFalse();
    }

    @Test
    void refusesTextThatDoesNotFit() {
        assertThatThrownBy(() -> new IdentifyController().sn("123456789012345678901"))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("\"123456789012345678901\" has 21 bytes, at most 20 fit");
    }

    @Test
    void textOfAPeerCannotCarryControlCharacters() {
        MemorySegment memory = MemorySegment.ofArray(new byte[IdentifyController.SIZE_BYTES]);
        MemorySegment.copy(
                MemorySegment.ofArray(new byte[] {'a', 0x1b, '[', (byte) 0xff, 'b', ' ', ' '}), 0, memory, 4, 7);
        assertThat(IdentifyController.parse(memory, 0).sn()).isEqualTo("a\ufffd[\ufffdb");
    }

    @Test
    void readsIdentifyNamespaceOfLinux() {
        IdentifyNamespace namespace = IdentifyNamespace.parse(KernelBytes.segment("identify-namespace"), 0);
        assertThat(namespace.isActive()).isTrue();
        assertThat(namespace.nsze()).isEqualTo(0x2_0000);
        assertThat(namespace.ncap()).isEqualTo(0x2_0000);
        assertThat(namespace.nuse()).isEqualTo(0x2_0000);
        assertThat(namespace.nsfeat())
                .isEqualTo(IdentifyNamespace.NSFEAT_ATOMICS | IdentifyNamespace.NSFEAT_OPTIMAL_PERFORMANCE);
        assertThat(namespace.nlbaf()).isZero();
        assertThat(namespace.flbas()).isZero();
        assertThat(namespace.nmic()).isEqualTo(IdentifyNamespace.NMIC_SHARED);
        assertThat(namespace.anagrpid()).isEqualTo(1);
        assertThat(namespace.lbaFormat()).isEqualTo(LbaFormat.ofBlockSize(512));
        assertThat(namespace.lbaFormat().blockSizeBytes()).isEqualTo(512);
    }

    @Test
    void lbaFormatIndexHasTwoParts() {
        IdentifyNamespace namespace =
                new IdentifyNamespace().flbas(0b0101_0011).nlbaf(63).lbaFormat(0b10_0011, new LbaFormat(8, 12, 2));
        assertThat(namespace.lbaFormatIndex()).isEqualTo(0b10_0011);
        assertThat(namespace.lbaFormat()).isEqualTo(new LbaFormat(8, 12, 2));
        assertThat(new IdentifyNamespace().flbas(0xff).lbaFormat()).isEqualTo(new LbaFormat(0, 0, 0));
    }

    @Test
    void blockSizesThatNobodyCanUseAreZero() {
        assertThat(new LbaFormat(0, 0, 0).blockSizeBytes()).isZero();
        assertThat(new LbaFormat(0, 8, 0).blockSizeBytes()).isZero();
        assertThat(new LbaFormat(0, 255, 0).blockSizeBytes()).isZero();
        assertThat(new LbaFormat(0, 12, 0).blockSizeBytes()).isEqualTo(4096);
        assertThatThrownBy(() -> LbaFormat.ofBlockSize(1000))
                .hasMessage("block size 1000 is not a power of two from 512; use 512 or 4096");
    }

    @Test
    void writesIdentifiersMostSignificantByteFirst() {
        byte[] bytes = written(
                new IdentifyNamespace()
                        .eui64(0x0102_0304_0506_0708L)
                        .nguid(new Nguid(0x1112_1314_1516_1718L, 0x2122_2324_2526_2728L)),
                IdentifyNamespace.SIZE_BYTES);
        assertThat(bytes).startsWith(new byte[104]);
        assertThat(bytes[104]).isEqualTo((byte) 0x11);
        assertThat(bytes[119]).isEqualTo((byte) 0x28);
        assertThat(bytes[120]).isEqualTo((byte) 1);
        assertThat(bytes[127]).isEqualTo((byte) 8);
        assertThat(new Nguid(1, 2)).hasToString("00000000000000010000000000000002");
    }

    @Test
    void readsControllerLimitsOfLinux() {
        IdentifyControllerNvm limits = IdentifyControllerNvm.parse(KernelBytes.segment("identify-cns-6"), 0);
        assertThat(limits.wzsl()).isZero();
        assertThat(limits.dmrsl()).isZero();
        assertThat(limits.maxWriteZeroesBytes()).isEqualTo(Long.MAX_VALUE);
        assertThat(limits.maxRangeBlocks()).isEqualTo(Long.MAX_VALUE);
        assertThat(written(limits.wzsl(1).dmrl(2).dmrsl(3).dmsl(4), 4096)).startsWith(0, 1, 0, 2, 3, 0, 0, 0, 4, 0);
        assertThat(limits.maxWriteZeroesBytes()).isEqualTo(8192);
        assertThat(limits.wzsl(255).maxWriteZeroesBytes()).isEqualTo(Long.MAX_VALUE);
        assertThat(limits.maxRangeBlocks()).isEqualTo(3);
        assertThat(limits.dmrsl(-1).maxRangeBlocks()).isEqualTo(4);
        assertThat(limits.dmsl(-1).maxRangeBlocks()).isEqualTo(0xffff_ffffL);
    }

    @Test
    void writesIndependentNamespace() {
        IdentifyNamespaceIndependent namespace = new IdentifyNamespaceIndependent()
                .nmic(1)
                .anagrpid(0x0403_0201)
                .nsattr(1)
                .nvmsetid(0x0a09)
                .endgid(0x0c0b)
                .nstat(IdentifyNamespaceIndependent.NSTAT_READY);
        assertThat(written(namespace, 4096)).startsWith(0, 1, 0, 0, 1, 2, 3, 4, 1, 0, 9, 10, 11, 12, 1, 0);
    }

    @Test
    void readsExtendedLbaFormats() {
        MemorySegment memory = MemorySegment.ofArray(new byte[4096]);
        Bytes.u32(memory, 12 + 4 * 63, 0x90);
        assertThat(IdentifyNamespaceNvm.parse(memory, 0).elbaf(63)).isEqualTo(0x90);
        assertThatThrownBy(() -> new IdentifyNamespaceNvm().elbaf(64)).isInstanceOf(IndexOutOfBoundsException.class);
    }

    @Test
    void readsSmartLogOfLinux() {
        SmartLog log = SmartLog.parse(KernelBytes.segment("log-smart"), 0);
        assertThat(log.criticalWarning()).isZero();
        assertThat(log.dataUnitsRead()).isEqualTo(1);
        assertThat(log.hostReadCommands()).isEqualTo(3);
    }

    @Test
    void countersBeyond64BitsSaturate() {
        MemorySegment memory = MemorySegment.ofArray(new byte[512]);
        Bytes.u64(memory, 32, 5);
        Bytes.u64(memory, 40, 1);
        SmartLog log = SmartLog.parse(memory, 0);
        assertThat(log.dataUnitsRead()).isEqualTo(-1);
        assertThat(log.dataUnitsRead(7).dataUnitsRead()).isEqualTo(7);
        assertThat(new SmartLog().temperatureKelvins(300).temperatureKelvins()).isEqualTo(300);
        Bytes.u16(memory, 214, 301);
        assertThat(SmartLog.parse(memory, 0).temperatureSensorKelvins(8)).isEqualTo(301);
    }

    @Test
    void readsEffectsLogOfLinux() {
        EffectsLog log = EffectsLog.parse(KernelBytes.segment("log-effects"), 0);
        for (int opcode : new int[] {
            AdminOpcode.GET_LOG_PAGE,
            AdminOpcode.IDENTIFY,
            AdminOpcode.ABORT,
            AdminOpcode.SET_FEATURES,
            AdminOpcode.GET_FEATURES,
            AdminOpcode.ASYNCHRONOUS_EVENT_REQUEST,
            AdminOpcode.KEEP_ALIVE
        }) {
            assertThat(log.admin(opcode)).as(AdminOpcode.name(opcode)).isEqualTo(EffectsLog.CSUPP);
        }
        assertThat(log.admin(AdminOpcode.FORMAT_NVM)).isZero();
        assertThat(log.io(IoOpcode.READ)).isEqualTo(EffectsLog.CSUPP);
        assertThat(log.io(IoOpcode.COMPARE)).isZero();
        assertThat(log.io(IoOpcode.WRITE, EffectsLog.CSUPP | EffectsLog.LBCC).io(IoOpcode.WRITE))
                .isEqualTo(3);
    }

    @Test
    void writesErrorLogEntry() {
        ErrorLogEntry entry = new ErrorLogEntry()
                .errorCount(9)
                .sqid(1)
                .commandId(2)
                .status(NvmeStatus.LBA_OUT_OF_RANGE | NvmeStatus.DNR)
                .parameterErrorLocation(0xffff)
                .lba(3)
                .nsid(4)
                .trtype(DiscoveryLogEntry.TRTYPE_RDMA);
        assertThat(written(entry, 64)).startsWith(9, 0, 0, 0, 0, 0, 0, 0, 1, 0, 2, 0, 0, 0x81, 0xff, 0xff, 3);
        ErrorLogEntry read = ErrorLogEntry.parse(MemorySegment.ofArray(written(entry, 64)), 0);
        assertThat(read.status()).isEqualTo(NvmeStatus.LBA_OUT_OF_RANGE | NvmeStatus.DNR);
        assertThat(read.nsid()).isEqualTo(4);
    }

    @Test
    void writesFirmwareSlots() {
        FirmwareSlotLog log = new FirmwareSlotLog().afi(1).revision(1, "1.0").revision(7, "12345678");
        FirmwareSlotLog read = FirmwareSlotLog.parse(MemorySegment.ofArray(written(log, 512)), 0);
        assertThat(read.revision(1)).isEqualTo("1.0");
        assertThat(read.revision(2)).isEmpty();
        assertThat(read.revision(7)).isEqualTo("12345678");
        assertThatThrownBy(() -> read.revision(8)).isInstanceOf(IndexOutOfBoundsException.class);
    }
}
