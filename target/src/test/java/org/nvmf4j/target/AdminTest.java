package org.nvmf4j.target;

import static org.assertj.core.api.Assertions.assertThat;

import java.lang.foreign.ValueLayout;
import java.util.Arrays;
import java.util.UUID;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.nvmf4j.nvme.AbortCommand;
import org.nvmf4j.nvme.AdminOpcode;
import org.nvmf4j.nvme.Cns;
import org.nvmf4j.nvme.ControllerProperties;
import org.nvmf4j.nvme.EffectsLog;
import org.nvmf4j.nvme.ErrorLogEntry;
import org.nvmf4j.nvme.Feature;
import org.nvmf4j.nvme.FeaturesCommand;
import org.nvmf4j.nvme.FirmwareSlotLog;
import org.nvmf4j.nvme.IdentifyCommand;
import org.nvmf4j.nvme.IdentifyController;
import org.nvmf4j.nvme.IdentifyControllerNvm;
import org.nvmf4j.nvme.IdentifyNamespace;
import org.nvmf4j.nvme.IdentifyNamespaceIndependent;
import org.nvmf4j.nvme.IoOpcode;
import org.nvmf4j.nvme.LogPage;
import org.nvmf4j.nvme.NamespaceIdentification;
import org.nvmf4j.nvme.NamespaceList;
import org.nvmf4j.nvme.Nguid;
import org.nvmf4j.nvme.NvmeFormatException;
import org.nvmf4j.nvme.NvmeStatus;
import org.nvmf4j.nvme.SmartLog;
import org.nvmf4j.nvme.SubmissionQueueEntry;
import org.nvmf4j.target.RawQueue.Answer;
import org.nvmf4j.target.backend.MemoryBackend;
import org.nvmf4j.target.backend.NullBackend;
import org.nvmf4j.verbs.VerbsException;

/** Commands of an admin queue. */
class AdminTest {
    private static final int ALL = SubmissionQueueEntry.NSID_ALL;
    private static final UUID UUID_7 = UUID.fromString("11111111-2222-3333-4444-555555555555");

    private final Subsystem subsystem = new Subsystem(RawHost.SUBSYSTEM_NQN, "S123", "a model");

    private RawHost open() throws VerbsException {
        return open(TargetOptions.defaults());
    }

    private RawHost open(TargetOptions options) throws VerbsException {
        subsystem.addNamespace(Namespace.of(1, new NullBackend(1 << 20)));
        subsystem.addNamespace(Namespace.builder(7, new MemoryBackend(8 << 20))
                .blockSizeBytes(4096)
                .uuid(UUID_7)
                .nguid(new Nguid(1, 2))
                .readOnly(true)
                .build());
        return new RawHost(options, 1, subsystem);
    }

    private static void assertStatus(Answer answer, int status) {
        assertThat(NvmeStatus.describe(answer.status() & ~NvmeStatus.MORE)).isEqualTo(NvmeStatus.describe(status));
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 512, 4096, 8192, 16384})
    void saysHowMuchDataGoesInACapsule(int bytes) throws VerbsException {
        try (RawHost host =
                open(TargetOptions.builder().inCapsuleDataBytes(bytes).build())) {
            RawQueue admin = host.connectAdmin();
            host.identify(admin, 0, Cns.CONTROLLER);
            IdentifyController id = IdentifyController.parse(admin.data.segment(), 0);
            assertThat(id.inCapsuleDataBytes()).isEqualTo(bytes);
            assertThat(id.sgls() >>> 20 & 1).isEqualTo(bytes == 0 ? 0 : 1);
            assertThat(id.sn()).isEqualTo("S123");
            assertThat(id.mn()).isEqualTo("a model");
        }
    }

    @Test
    void describesNamespaces() throws VerbsException, NvmeFormatException {
        try (RawHost host = open()) {
            RawQueue admin = host.connectAdmin();
            host.identify(admin, 0, Cns.ACTIVE_NAMESPACE_LIST);
            assertThat(NamespaceList.parse(admin.data.segment(), 0)).containsExactly(1, 7);
            host.identify(admin, 1, Cns.ACTIVE_NAMESPACE_LIST);
            assertThat(NamespaceList.parse(admin.data.segment(), 0)).containsExactly(7);
            host.identify(admin, 7, Cns.ACTIVE_NAMESPACE_LIST);
            assertThat(NamespaceList.parse(admin.data.segment(), 0)).isEmpty();

            host.identify(admin, 7, Cns.NAMESPACE);
            IdentifyNamespace namespace = IdentifyNamespace.parse(admin.data.segment(), 0);
            assertThat(namespace.nsze()).isEqualTo(2048);
            assertThat(namespace.lbaFormat().blockSizeBytes()).isEqualTo(4096);
            assertThat(namespace.nsattr()).isEqualTo(IdentifyNamespace.NSATTR_WRITE_PROTECTED);
            assertThat(namespace.nguid()).isEqualTo(new Nguid(1, 2));
            assertThat(namespace.nmic()).isEqualTo(IdentifyNamespace.NMIC_SHARED);

            host.identify(admin, 7, Cns.NAMESPACE_IDENTIFICATION_DESCRIPTORS);
            NamespaceIdentification names = NamespaceIdentification.parse(admin.data.segment(), 0);
            assertThat(names.uuid()).isEqualTo(UUID_7);
            assertThat(names.nguid()).isEqualTo(new Nguid(1, 2));

            host.identify(admin, 7, Cns.COMMAND_SET_INDEPENDENT_NAMESPACE);
            IdentifyNamespaceIndependent independent = IdentifyNamespaceIndependent.parse(admin.data.segment(), 0);
            assertThat(independent.nstat()).isEqualTo(IdentifyNamespaceIndependent.NSTAT_READY);
            assertStatus(host.identify(admin, 7, Cns.COMMAND_SET_NAMESPACE), NvmeStatus.SUCCESS);
            host.identify(admin, 0, Cns.COMMAND_SET_CONTROLLER);
            assertThat(IdentifyControllerNvm.parse(admin.data.segment(), 0).wzsl())
                    .isEqualTo(8);
        }
    }

    @Test
    void answersIdentifyOfAnInactiveNamespaceWithZeroes() throws VerbsException {
        try (RawHost host = open()) {
            RawQueue admin = host.connectAdmin();
            assertStatus(host.identify(admin, 2, Cns.NAMESPACE), NvmeStatus.SUCCESS);
            assertThat(admin.data.segment().asSlice(0, 4096).toArray(ValueLayout.JAVA_BYTE))
                    .containsOnly(0);
        }
    }

    @ParameterizedTest
    @CsvSource({
        "0, 0, 0xb", // Identify Namespace of NSID 0
        "0xffffffff, 0, 0xb",
        "1025, 0, 0xb",
        "2, 3, 0xb", // descriptors of a namespace that is not there
        "0xffffffff, 2, 0xb",
        "0xfffffffe, 2, 0xb",
        "0, 0x13, 0x2",
        "0, 0x1c, 0x2",
        "1, 4, 0x2",
        "0, 7, 0x2",
        "0, 0xff, 0x2"
    })
    void refusesIdentify(String nsid, String cns, String status) throws VerbsException {
        try (RawHost host = open()) {
            RawQueue admin = host.connectAdmin();
            Answer answer = host.identify(admin, Long.decode(nsid).intValue(), Integer.decode(cns));
            assertStatus(answer, Integer.decode(status) | NvmeStatus.DNR);
            assertThat(answer.invalidatedRkey()).as("key of a refused command").isNotZero();
            assertThat(admin.data.segment().get(ValueLayout.JAVA_BYTE, 0)).isEqualTo((byte) 0x5a);
        }
    }

    @Test
    void refusesIdentifyOfAnotherCommandSet() throws VerbsException {
        try (RawHost host = open()) {
            RawQueue admin = host.connectAdmin();
            int id = admin.nextCommandId();
            IdentifyCommand.write(admin.memory(), admin.capsule(), id, 1, Cns.COMMAND_SET_NAMESPACE, 2);
            admin.keyed(0, 4096, false);
            admin.send();
            assertStatus(admin.await(id), NvmeStatus.INVALID_FIELD | NvmeStatus.DNR);
        }
    }

    @Test
    void refusesWrongFlagsSglsAndLengths() throws VerbsException {
        try (RawHost host = open()) {
            RawQueue admin = host.connectAdmin();
            int id = admin.nextCommandId();
            IdentifyCommand.write(admin.memory(), admin.capsule(), id, 0, Cns.CONTROLLER, 0);
            admin.keyed(0, 4092, true);
            admin.send();
            assertStatus(admin.await(id), NvmeStatus.DATA_SGL_LENGTH_INVALID | NvmeStatus.DNR);

            for (int flags : new int[] {0, 0x80, 0x41, 0x42, 0xc0}) {
                id = admin.nextCommandId();
                SubmissionQueueEntry.write(admin.memory(), admin.capsule(), AdminOpcode.KEEP_ALIVE, id, 0);
                SubmissionQueueEntry.flags(admin.memory(), admin.capsule(), flags);
                admin.send();
                assertStatus(admin.await(id), NvmeStatus.INVALID_FIELD | NvmeStatus.DNR);
            }
            for (int identifier : new int[] {0x00, 0x10, 0x20, 0x30, 0x41, 0x4e, 0x5f, 0xff, 0x02}) {
                id = admin.nextCommandId();
                SubmissionQueueEntry.write(admin.memory(), admin.capsule(), AdminOpcode.ABORT, id, 0);
                admin.memory().set(ValueLayout.JAVA_BYTE, admin.capsule() + 39, (byte) identifier);
                admin.send();
                assertStatus(admin.await(id), NvmeStatus.SGL_DESCRIPTOR_TYPE_INVALID | NvmeStatus.DNR);
            }
        }
    }

    @Test
    void refusesUnknownOpcodesAndThoseOfOtherTransports() throws VerbsException {
        try (RawHost host = open()) {
            RawQueue admin = host.connectAdmin();
            for (int opcode : new int[] {
                AdminOpcode.CREATE_IO_SQ,
                AdminOpcode.DELETE_IO_CQ,
                AdminOpcode.FORMAT_NVM,
                AdminOpcode.SANITIZE,
                0x7e,
                0xff
            }) {
                assertStatus(host.plain(admin, opcode, 0), NvmeStatus.INVALID_OPCODE | NvmeStatus.DNR);
            }
        }
    }

    @Test
    void takesNoAdminCommandBeforeTheControllerIsEnabled() throws VerbsException {
        try (RawHost host = open()) {
            RawQueue admin = host.connectQueuePair(0, 32);
            host.sendConnect(admin, 0, 31, 0, RawHost.connectData(0xffff));
            assertStatus(host.identify(admin, 0, Cns.CONTROLLER), NvmeStatus.COMMAND_SEQUENCE_ERROR | NvmeStatus.DNR);
            host.enable(admin);
            assertStatus(host.identify(admin, 0, Cns.CONTROLLER), NvmeStatus.SUCCESS);
            host.setProperty(admin, ControllerProperties.CC, 4, 0);
            assertThat(host.getProperty(admin, ControllerProperties.CSTS, 4).result())
                    .isZero();
            assertStatus(host.identify(admin, 0, Cns.CONTROLLER), NvmeStatus.COMMAND_SEQUENCE_ERROR | NvmeStatus.DNR);
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {0x450001, 0x360001, 0x460081, 0x460801, 0x460061})
    void reportsAFatalStatusForAConfigurationThatCannotBe(int cc) throws VerbsException {
        try (RawHost host = open()) {
            RawQueue admin = host.connectQueuePair(0, 32);
            host.sendConnect(admin, 0, 31, 0, RawHost.connectData(0xffff));
            host.setProperty(admin, ControllerProperties.CC, 4, cc);
            assertThat(host.getProperty(admin, ControllerProperties.CSTS, 4).result())
                    .isEqualTo(ControllerProperties.CSTS_CFS);
            host.setProperty(admin, ControllerProperties.CC, 4, 0);
            host.enable(admin);
        }
    }

    @Test
    void refusesOtherProperties() throws VerbsException {
        try (RawHost host = open()) {
            RawQueue admin = host.connectAdmin();
            int invalid = NvmeStatus.INVALID_FIELD | NvmeStatus.DNR;
            assertStatus(host.getProperty(admin, ControllerProperties.CAP, 4), invalid);
            assertStatus(host.getProperty(admin, ControllerProperties.CC, 8), invalid);
            assertStatus(host.getProperty(admin, ControllerProperties.NSSR, 4), invalid);
            assertStatus(host.getProperty(admin, 0x1001, 4), invalid);
            assertStatus(host.setProperty(admin, ControllerProperties.CSTS, 4, 0), invalid);
            assertStatus(host.setProperty(admin, ControllerProperties.CC, 8, 0), invalid);
            assertThat(host.getProperty(admin, ControllerProperties.CC, 4).result())
                    .isEqualTo(0x460001);
        }
    }

    @Test
    void readsLogPagesWholeAndInPieces() throws VerbsException {
        try (RawHost host = open()) {
            RawQueue admin = host.connectAdmin();
            assertStatus(
                    host.logPage(admin, 0, LogPage.COMMANDS_SUPPORTED_AND_EFFECTS, false, 0, 4096), NvmeStatus.SUCCESS);
            EffectsLog effects = EffectsLog.parse(admin.data.segment(), 0);
            assertThat(effects.admin(AdminOpcode.IDENTIFY)).isEqualTo(EffectsLog.CSUPP);
            assertThat(effects.io(IoOpcode.WRITE)).isEqualTo(EffectsLog.CSUPP | EffectsLog.LBCC);
            assertThat(effects.io(IoOpcode.COMPARE)).isEqualTo(EffectsLog.CSUPP);
            assertThat(effects.io(IoOpcode.COPY)).isZero();
            byte[] whole = admin.data.segment().asSlice(0, 4096).toArray(ValueLayout.JAVA_BYTE);
            host.logPage(admin, 0, LogPage.COMMANDS_SUPPORTED_AND_EFFECTS, false, 1020, 12);
            assertThat(admin.data.segment().asSlice(0, 12).toArray(ValueLayout.JAVA_BYTE))
                    .isEqualTo(Arrays.copyOfRange(whole, 1020, 1032));

            assertStatus(host.logPage(admin, ALL, LogPage.SMART_HEALTH_INFORMATION, false, 0, 512), NvmeStatus.SUCCESS);
            assertThat(SmartLog.parse(admin.data.segment(), 0).availableSpare()).isEqualTo(100);
            assertThat(SmartLog.parse(admin.data.segment(), 0).criticalWarning())
                    .isZero();
            host.logPage(admin, 0, LogPage.FIRMWARE_SLOT_INFORMATION, false, 0, 512);
            assertThat(FirmwareSlotLog.parse(admin.data.segment(), 0).afi()).isEqualTo(1);

            host.logPage(admin, 0, LogPage.FIRMWARE_SLOT_INFORMATION, false, 0, 1024);
            assertThat(admin.data.segment().asSlice(512, 512).toArray(ValueLayout.JAVA_BYTE))
                    .as("behind the end")
                    .containsOnly(0);
        }
    }

    @Test
    void refusesLogPagesThatCannotBeRead() throws VerbsException {
        try (RawHost host = open()) {
            RawQueue admin = host.connectAdmin();
            int invalid = NvmeStatus.INVALID_FIELD | NvmeStatus.DNR;
            assertStatus(host.logPage(admin, 0, 0x0c, false, 0, 512), NvmeStatus.INVALID_LOG_PAGE | NvmeStatus.DNR);
            assertStatus(
                    host.logPage(admin, 0, LogPage.DISCOVERY, false, 0, 512),
                    NvmeStatus.INVALID_LOG_PAGE | NvmeStatus.DNR);
            assertStatus(host.logPage(admin, 1, LogPage.SMART_HEALTH_INFORMATION, false, 0, 512), invalid);
            assertStatus(host.logPage(admin, 0, LogPage.FIRMWARE_SLOT_INFORMATION, false, 516, 4), invalid);
            assertStatus(host.logPage(admin, 0, LogPage.FIRMWARE_SLOT_INFORMATION, false, -4, 8), invalid);
            assertStatus(host.logPage(admin, 0, LogPage.FIRMWARE_SLOT_INFORMATION, false, 0, (1 << 20) + 4), invalid);
        }
    }

    @Test
    void keepsAnErrorLog() throws VerbsException {
        try (RawHost host = open()) {
            RawQueue admin = host.connectAdmin();
            Answer failed = host.plain(admin, 0xc0, 9);
            assertThat(NvmeStatus.more(failed.status())).isTrue();
            host.identify(admin, 0, 0x55);
            host.logPage(admin, 0, LogPage.ERROR_INFORMATION, false, 0, 192);
            ErrorLogEntry newest = ErrorLogEntry.parse(admin.data.segment(), 0);
            ErrorLogEntry older = ErrorLogEntry.parse(admin.data.segment(), 64);
            assertThat(newest.errorCount()).isEqualTo(2);
            assertThat(newest.parameterErrorLocation()).isEqualTo(40);
            assertThat(older.errorCount()).isEqualTo(1);
            assertThat(older.commandId()).isEqualTo(failed.commandId());
            assertThat(older.nsid()).isEqualTo(9);
            assertThat(older.status()).isEqualTo(NvmeStatus.INVALID_OPCODE | NvmeStatus.DNR);
            assertThat(ErrorLogEntry.parse(admin.data.segment(), 128).errorCount())
                    .isZero();
        }
    }

    @Test
    void setsAndGetsFeatures() throws VerbsException {
        try (RawHost host = open()) {
            RawQueue admin = host.connectAdmin();
            assertThat(host.setFeature(admin, Feature.NUMBER_OF_QUEUES, FeaturesCommand.numberOfQueues(500, 3))
                            .result())
                    .isEqualTo(FeaturesCommand.numberOfQueues(128, 3));
            assertThat(host.getFeature(admin, Feature.NUMBER_OF_QUEUES).result())
                    .isEqualTo(FeaturesCommand.numberOfQueues(128, 128));
            host.setFeature(admin, Feature.KEEP_ALIVE_TIMER, 4100);
            assertThat(host.getFeature(admin, Feature.KEEP_ALIVE_TIMER).result())
                    .as("rounded up to what KAS says")
                    .isEqualTo(5000);
            assertThat(host.getFeature(admin, Feature.VOLATILE_WRITE_CACHE).result())
                    .isEqualTo(1);
            host.setFeature(admin, Feature.VOLATILE_WRITE_CACHE, 0);
            assertThat(host.getFeature(admin, Feature.VOLATILE_WRITE_CACHE).result())
                    .isZero();
            for (int fid : new int[] {
                Feature.ARBITRATION,
                Feature.TEMPERATURE_THRESHOLD,
                Feature.ERROR_RECOVERY,
                Feature.WRITE_ATOMICITY_NORMAL
            }) {
                assertStatus(host.setFeature(admin, fid, 0x123), NvmeStatus.SUCCESS);
                assertThat(host.getFeature(admin, fid).result()).isEqualTo(0x123);
            }
            assertStatus(host.setFeature(admin, Feature.POWER_MANAGEMENT, 0), NvmeStatus.SUCCESS);
            host.setFeature(admin, Feature.ASYNCHRONOUS_EVENT_CONFIGURATION, 0x1ff);
            assertThat(host.getFeature(admin, Feature.ASYNCHRONOUS_EVENT_CONFIGURATION)
                            .result())
                    .isEqualTo(0x1ff);
        }
    }

    @Test
    void refusesFeaturesThatItHasNot() throws VerbsException {
        try (RawHost host = open()) {
            RawQueue admin = host.connectAdmin();
            int invalid = NvmeStatus.INVALID_FIELD | NvmeStatus.DNR;
            assertStatus(host.setFeature(admin, Feature.TIMESTAMP, 0), invalid);
            assertStatus(host.getFeature(admin, 0xee), invalid);
            assertStatus(host.setFeature(admin, Feature.POWER_MANAGEMENT, 1), invalid);
            assertStatus(host.setFeature(admin, Feature.NUMBER_OF_QUEUES, 0xffff), invalid);
            assertStatus(host.setFeature(admin, Feature.NUMBER_OF_QUEUES, 0xffff0000), invalid);
            assertStatus(host.setFeature(admin, Feature.ASYNCHRONOUS_EVENT_CONFIGURATION, 1 << 31), invalid);
            assertStatus(
                    host.setFeature(admin, Feature.HOST_IDENTIFIER, 0),
                    NvmeStatus.COMMAND_SEQUENCE_ERROR | NvmeStatus.DNR);
            int id = admin.nextCommandId();
            FeaturesCommand.writeSet(admin.memory(), admin.capsule(), id, 0, Feature.ARBITRATION, 0);
            SubmissionQueueEntry.cdw10(admin.memory(), admin.capsule(), Feature.ARBITRATION | 1 << 31);
            admin.send();
            assertStatus(admin.await(id), NvmeStatus.FEATURE_NOT_SAVEABLE | NvmeStatus.DNR);
            host.connectIo(1, 32);
            assertStatus(
                    host.setFeature(admin, Feature.NUMBER_OF_QUEUES, 0),
                    NvmeStatus.COMMAND_SEQUENCE_ERROR | NvmeStatus.DNR);
        }
    }

    @Test
    void movesTheDataOfFeatures() throws VerbsException {
        try (RawHost host = open()) {
            RawQueue admin = host.connectAdmin();
            admin.data.segment().asSlice(0, 512).fill((byte) 1);
            int id = admin.nextCommandId();
            FeaturesCommand.writeSet(admin.memory(), admin.capsule(), id, 0, Feature.HOST_BEHAVIOR_SUPPORT, 0);
            admin.keyed(0, 512, false);
            admin.send();
            assertStatus(admin.await(id), NvmeStatus.SUCCESS);
            id = admin.nextCommandId();
            FeaturesCommand.writeGet(admin.memory(), admin.capsule(), id, 0, Feature.HOST_BEHAVIOR_SUPPORT, 0);
            admin.keyed(512, 512, false);
            admin.send();
            assertStatus(admin.await(id), NvmeStatus.SUCCESS);
            assertThat(admin.data.segment().asSlice(512, 512).toArray(ValueLayout.JAVA_BYTE))
                    .containsOnly(1);

            id = admin.nextCommandId();
            FeaturesCommand.writeGet(admin.memory(), admin.capsule(), id, 0, Feature.HOST_IDENTIFIER, 0);
            SubmissionQueueEntry.cdw11(admin.memory(), admin.capsule(), 1);
            admin.keyed(0, 16, false);
            admin.send();
            assertStatus(admin.await(id), NvmeStatus.SUCCESS);
            byte[] hostId = admin.data.segment().asSlice(0, 16).toArray(ValueLayout.JAVA_BYTE);
            assertThat(hostId).startsWith(0x6a, 0x3b, 0x1f, 0x0e).endsWith(0, 0, 0, 1);
            assertStatus(host.getFeature(admin, Feature.HOST_IDENTIFIER), NvmeStatus.INVALID_FIELD | NvmeStatus.DNR);
        }
    }

    @Test
    void neverAborts() throws VerbsException {
        try (RawHost host = open()) {
            RawQueue admin = host.connectAdmin();
            int id = admin.nextCommandId();
            AbortCommand.write(admin.memory(), admin.capsule(), id, 0, 77);
            admin.send();
            Answer answer = admin.await(id);
            assertStatus(answer, NvmeStatus.SUCCESS);
            assertThat(AbortCommand.aborted((int) answer.result())).isFalse();
        }
    }
}
