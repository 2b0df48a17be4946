package org.nvmf4j.host;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.nvmf4j.nvme.AdminOpcode;
import org.nvmf4j.nvme.ConnectCommand;
import org.nvmf4j.nvme.ConnectData;
import org.nvmf4j.nvme.ControllerProperties;
import org.nvmf4j.nvme.FabricsType;
import org.nvmf4j.nvme.IdentifyController;
import org.nvmf4j.nvme.NvmeStatus;
import org.nvmf4j.nvme.NvmeStatusException;
import org.nvmf4j.nvme.PropertyCommand;
import org.nvmf4j.nvme.RdmaPrivateData;
import org.nvmf4j.verbs.RejectReason;

@SuppressWarnings("NullAway.Init")
class ConnectTest {
    private HostFixture fixture;
    private FakeTarget target;

    @BeforeEach
    void start() throws IOException {
        fixture = new HostFixture();
        target = fixture.target;
    }

    @AfterEach
    void stop() {
        fixture.close();
    }

    @ParameterizedTest
    @EnumSource(ThreadingMode.class)
    void connectsIdentifiesAndShutsDown(ThreadingMode threading) throws IOException {
        try (Host host = fixture.open(
                HostFixture.options().threading(threading).ioQueues(2).build())) {
            try (Controller controller = fixture.connect(host)) {
                assertThat(controller.id()).isEqualTo(FakeTarget.CONTROLLER_ID);
                assertThat(controller.ioQueueCount()).isEqualTo(2);
                assertThat(controller.queueSize()).isEqualTo(128);
                assertThat(controller.inCapsuleBytes()).isEqualTo(4096);
                assertThat(controller.version()).isEqualTo(ControllerProperties.version(1, 3, 0));
                assertThat(controller.namespaceIds()).containsExactly(1, 2);
                assertThat(controller.namespace(2).blockBytes()).isEqualTo(4096);
                assertThat(controller.namespace(2).sizeBytes()).isEqualTo(FakeTarget.NAMESPACE_BYTES);
                HostFixture.waitFor("an asynchronous event request", () -> target.eventRequests() == 1);
            }
            assertThat(ControllerProperties.shn(target.controllerConfiguration()))
                    .isEqualTo(ControllerProperties.SHN_NORMAL);
        }
    }

    @Test
    void everythingRunsOnOneThreadWhereTheDeviceHasOneVector() throws IOException {
        HostOptions options = HostFixture.callerOptions().vectors(1).build();
        try (Host host = fixture.open(options)) {
            Controller controller = fixture.connect(host);
            assertThat(controller.namespaceIds()).containsExactly(1, 2);
            controller.openIoQueue().close();
            assertThat(Thread.getAllStackTraces().keySet())
                    .noneMatch(thread -> thread.getName().startsWith("nvmf-host"));
        }
    }

    @Test
    void saysOnTheWireWhatItIs() throws IOException {
        HostOptions options = HostFixture.options()
                .queueSize(64)
                .keepAliveMillis(4_000)
                .identity(HostIdentities.of("nqn.2025-01.com.example:wire"))
                .build();
        try (Host host = fixture.open(options)) {
            fixture.connect(host);
            List<FakeQueue.FakeCommand> connects = target.log.stream()
                    .filter(c ->
                            c.opcode() == AdminOpcode.FABRICS && FabricsType.fctype(c.entry, 0) == FabricsType.CONNECT)
                    .toList();
            assertThat(connects).hasSize(2);
            FakeQueue.FakeCommand admin = connects.get(0);
            assertThat(admin.queue.request).isEqualTo(new RdmaPrivateData.Request(0, 32, 31, 0));
            assertThat(ConnectCommand.katoMillis(admin.entry, 0)).isEqualTo(4_000);
            assertThat(admin.inCapsuleData.byteSize()).isZero();
            FakeQueue.FakeCommand io = connects.get(1);
            assertThat(io.queue.request).isEqualTo(new RdmaPrivateData.Request(1, 64, 63, FakeTarget.CONTROLLER_ID));
            assertThat(ConnectCommand.sqsizeZeroBased(io.entry, 0)).isEqualTo(63);
            ConnectData data = ConnectData.parse(io.inCapsuleData, 0);
            assertThat(data.cntlid()).isEqualTo(FakeTarget.CONTROLLER_ID);
            assertThat(data.hostnqn()).isEqualTo("nqn.2025-01.com.example:wire");
            assertThat(data.hostId()).isEqualTo(options.identity().hostId());
        }
    }

    @Test
    void namesTheFieldThatTheTargetBlames() throws IOException {
        try (Host host = fixture.open(HostFixture.options().build())) {
            assertThatThrownBy(() -> host.connect(target.address, "nqn.2025-01.com.example:unknown"))
                    .isInstanceOfSatisfying(NvmeStatusException.class, e -> {
                        assertThat(NvmeStatus.code(e.status())).isEqualTo(NvmeStatus.CONNECT_INVALID_PARAMETERS);
                        assertThat(e.doNotRetry()).isTrue();
                    })
                    .hasMessageContaining("SUBNQN")
                    .hasMessageNotContaining("\n");
            fixture.connect(host).close();
        }
    }

    @Test
    void saysWhyTheTargetRefusesTheConnection() throws IOException {
        target.rejectStatus = RdmaPrivateData.INVALID_HSQSIZE;
        try (Host host = fixture.open(HostFixture.options().build())) {
            assertThatThrownBy(() -> fixture.connect(host))
                    .isInstanceOfSatisfying(ConnectionRefusedException.class, e -> {
                        assertThat(e.reason()).isEqualTo(RejectReason.CONSUMER_DEFINED);
                        assertThat(e.rdmaStatus()).isEqualTo(RdmaPrivateData.INVALID_HSQSIZE);
                    })
                    .hasMessageContaining("admin queue")
                    .hasMessageContaining("invalid host submission queue size");
        }
    }

    @Test
    void saysThatNobodyListens() throws IOException {
        InetSocketAddress wrongPort = new InetSocketAddress(target.address.getAddress(), 4421);
        try (Host host = fixture.open(HostFixture.options().build())) {
            assertThatThrownBy(() -> host.connect(wrongPort, FakeTarget.NQN))
                    .isInstanceOf(ConnectionRefusedException.class)
                    .hasMessageContaining("nobody listens");
        }
    }

    @Test
    void refusesASecondConnectionToTheSameSubsystem() throws IOException {
        try (Host host = fixture.open(HostFixture.options().build())) {
            Controller first = fixture.connect(host);
            assertThatThrownBy(() -> fixture.connect(host))
                    .isInstanceOf(HostException.class)
                    .hasMessageContaining("already");
            first.close();
            fixture.connect(host).close();
        }
    }

    @Test
    void connectsTwiceWhereAsked() throws IOException {
        try (Host host =
                fixture.open(HostFixture.options().duplicateConnect(true).build())) {
            fixture.connect(host);
            assertThat(fixture.connect(host).id()).isEqualTo(FakeTarget.CONTROLLER_ID);
        }
    }

    @Test
    void takesFewerQueuesAndSmallerOnesThanAskedFor() throws IOException {
        target.maxIoQueues = 1;
        target.capabilities = ControllerProperties.cap(15, 2_000);
        try (Host host = fixture.open(HostFixture.options().ioQueues(3).build())) {
            Controller controller = fixture.connect(host);
            assertThat(controller.ioQueueCount()).isEqualTo(1);
            assertThat(controller.queueSize()).isEqualTo(16);
        }
    }

    @Test
    void worksWithoutInCapsuleData() throws IOException {
        target.identify.inCapsuleDataBytes(0);
        try (Host host = fixture.open(HostFixture.options().build())) {
            assertThat(fixture.connect(host).inCapsuleBytes()).isZero();
        }
    }

    @ParameterizedTest
    @CsvSource({
        "cntlid, Connect gave 7",
        "ioccsz, IOCCSZ 3",
        "iorcsz, IORCSZ",
        "icdoff, ICDOFF 1",
        "sgls, keyed SGLs",
        "kas, KAS 0"
    })
    void refusesAControllerThatLinuxWouldRefuse(String field, String words) throws IOException {
        IdentifyController identify = target.identify;
        switch (field) {
            case "cntlid" -> identify.cntlid(8);
            case "ioccsz" -> identify.ioccsz(3);
            case "iorcsz" -> identify.iorcsz(0);
            case "icdoff" -> identify.icdoff(1);
            case "sgls" -> identify.sgls(IdentifyController.SGLS_BYTE_ALIGNED);
            default -> identify.kas(0);
        }
        try (Host host = fixture.open(HostFixture.options().build())) {
            assertThatThrownBy(() -> fixture.connect(host))
                    .isInstanceOf(HostException.class)
                    .hasMessageContaining(words);
        }
    }

    @Test
    void needsNoKeepAliveSupportWithoutKeepAlive() throws IOException {
        target.identify.kas(0);
        try (Host host = fixture.open(HostFixture.options().keepAliveMillis(0).build())) {
            assertThat(fixture.connect(host).id()).isEqualTo(FakeTarget.CONTROLLER_ID);
        }
    }

    @Test
    void saysThatAControllerDoesNotGetReady() throws IOException {
        target.capabilities = ControllerProperties.cap(127, 500);
        target.script = command -> {
            boolean status = command.opcode() == AdminOpcode.FABRICS
                    && FabricsType.fctype(command.entry, 0) == FabricsType.PROPERTY_GET
                    && PropertyCommand.property(command.entry, 0) == ControllerProperties.CSTS;
            if (status && ControllerProperties.shn(target.controllerConfigurationOnLane()) == 0) {
                command.complete(NvmeStatus.SUCCESS, 0);
                return true;
            }
            return false;
        };
        try (Host host = fixture.open(HostFixture.options().build())) {
            assertThatThrownBy(() -> fixture.connect(host))
                    .isInstanceOf(HostException.class)
                    .hasMessageContaining("was not ready within 500 ms");
        }
    }
}
