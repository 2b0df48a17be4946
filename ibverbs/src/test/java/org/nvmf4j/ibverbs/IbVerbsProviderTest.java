package org.nvmf4j.ibverbs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.nvmf4j.ibverbs.RdmaCore.Function;
import org.nvmf4j.linux.SystemErrors;
import org.nvmf4j.verbs.Device;
import org.nvmf4j.verbs.DeviceDescription;
import org.nvmf4j.verbs.DeviceOptions;
import org.nvmf4j.verbs.VerbsException;

/** What a user is told where a device cannot be used, by whoever opens it and by {@code nvmf devices}: one line with the remedy. */
class IbVerbsProviderTest {
    private static final DeviceOptions HERE = DeviceOptions.at(FakeEndpoint.LOCAL);
    private static final int ENOENT = 2;
    private static final int EACCES = 13;

    @TempDir
    Path sysfs;

    private final FakeRdma fake = new FakeRdma();
    private IbVerbsProvider provider;

    @BeforeEach
    void makeMachine() throws IOException {
        FakeEndpoint.needsSystemCalls();
        Path port = Files.createDirectories(sysfs.resolve(FakeRdma.NAME).resolve("ports/1"));
        Files.writeString(port.resolve("state"), "4: ACTIVE");
        Files.writeString(port.resolve("link_layer"), "Ethernet");
        Files.writeString(Files.createDirectories(port.resolve("gids")).resolve("0"), "::ffff:192.0.2.1");
        provider = new IbVerbsProvider(sysfs, () -> new RdmaCore(fake));
    }

    @AfterEach
    void close() {
        fake.close();
    }

    /** Both who opens the device and who looks at all devices must be told. */
    private void assertUnusable(String... parts) {
        assertThatThrownBy(() -> Device.open(provider, HERE).close())
                .isInstanceOf(VerbsException.class)
                .hasMessageContainingAll(parts)
                .hasMessageNotContaining("\n");
        assertThat(facts().get("use"))
                .startsWith("not possible: ")
                .contains(parts)
                .doesNotContain("\n");
    }

    private Map<String, String> facts() {
        return provider.describeDevices().stream()
                .filter(device -> device.name().equals(FakeRdma.NAME))
                .map(DeviceDescription::facts)
                .findFirst()
                .orElseThrow();
    }

    @Test
    void aDeviceThatCanBeUsedSaysWhatItCan() throws Exception {
        assertThat(facts())
                .containsEntry("port 1", "ACTIVE, Ethernet")
                .containsEntry("port 1 addresses", "192.0.2.1")
                .containsEntry("path MTU", "4096")
                .containsEntry("registered memory", "at least 64 MiB")
                .doesNotContainKey("use");
        try (Device device = Device.open(provider, HERE.withDeviceName(FakeRdma.NAME))) {
            assertThat(device.attributes().name()).isEqualTo(FakeRdma.NAME);
        }
        assertThat(provider.canOpen(HERE.withDeviceName(FakeRdma.NAME))).isTrue();
    }

    @Test
    void aWrongNameIsAnsweredWithTheRightOne() {
        assertThat(provider.canOpen(HERE.withDeviceName("mlx5_9"))).isFalse();
        assertThatThrownBy(() -> Device.open(provider, HERE.withDeviceName("mlx5_9")))
                .isInstanceOf(VerbsException.class)
                .hasMessageContainingAll("mlx5_9", FakeRdma.NAME, "nvmf devices")
                .hasMessageNotContaining("\n");
        assertThatThrownBy(() -> Device.open(provider, DeviceOptions.defaults().withDeviceName("mlx5_9")))
                .isInstanceOf(VerbsException.class)
                .hasMessageContainingAll("no RDMA device 'mlx5_9'", "use one of " + FakeRdma.NAME)
                .hasMessageNotContaining("\n");
    }

    @Test
    void aPortThatIsDownIsToBeBroughtUp() {
        fake.portState = 1;
        assertUnusable("port 1 of RDMA device fake0 is not active", "bring its link up", "ip link set");
    }

    @Test
    void whoMayNotUseTheDevicesIsToBeGivenAccess() {
        fake.failures.put(Function.RDMA_CREATE_EVENT_CHANNEL, EACCES);
        assertUnusable("EACCES", "give this user access to /dev/infiniband", "group rdma");
    }

    @Test
    void whereNoDeviceCanBeOpenedAModuleMayBeMissing() {
        fake.failures.put(Function.RDMA_CREATE_EVENT_CHANNEL, ENOENT);
        assertUnusable("no RDMA device can be opened", "/dev/infiniband", "rdma_ucm");
    }

    /** So librdmacm says that it may not open the device that has the address. */
    @Test
    void aDeviceThatTheKernelHasButThisUserCannotOpenIsNamed() {
        fake.failures.put(Function.RDMA_BIND_ADDR, SystemErrors.ENODEV);
        assertUnusable("RDMA device fake0 has the address 192.0.2.1", "access to /dev/infiniband", "ib_uverbs");
    }

    @Test
    void anAddressThatNoDeviceHasIsSaidSo() {
        fake.failures.put(Function.RDMA_BIND_ADDR, SystemErrors.ENODEV);
        assertThatThrownBy(() -> Device.open(provider, DeviceOptions.at(FakeEndpoint.PEER.getAddress())))
                .isInstanceOf(VerbsException.class)
                .hasMessageContainingAll("no RDMA device has the address 192.0.2.2", "rdma link", "softroce");
    }

    @Test
    void tooLittleLockableMemoryIsToBeRaised() throws Exception {
        fake.lockableBytes = 8 << 20;
        fake.failures.put(Function.IBV_REG_MR, VerbsException.ENOMEM);
        assertThat(facts().get("registered memory"))
                .startsWith("less than 64 MiB: ibv_reg_mr: ENOMEM")
                .contains("may lock 8192 KiB", "ulimit -l unlimited", "LimitMEMLOCK=infinity")
                .doesNotContain("\n");
        fake.failures.clear();
        fake.failures.put(Function.IBV_CREATE_CQ, VerbsException.ENOMEM);
        try (Device device = Device.open(provider, HERE)) {
            assertThatThrownBy(() -> device.createCompletionQueue(16, 0))
                    .isInstanceOf(VerbsException.class)
                    .hasMessageContainingAll("ibv_create_cq: ENOMEM", "ulimit -l unlimited", "LimitMEMLOCK=infinity");
            fake.lockableBytes = Long.MAX_VALUE;
            assertThatThrownBy(() -> device.createCompletionQueue(16, 0))
                    .hasMessage("ibv_create_cq: ENOMEM (cannot allocate memory)");
        }
    }

    @Test
    void missingLibrariesAreNamedWithTheirPackages() {
        IbVerbsProvider bare = new IbVerbsProvider(
                sysfs, () -> new RdmaCore(new Libraries("libibverbs-not-here.so.1", "libibverbs-not-here.so.1")));
        assertUnavailable(bare, "libibverbs-not-here.so.1 is not there", "apt-get install libibverbs1", "dnf install");
    }

    @Test
    void librariesThatAreTooOldAreNamedWithTheVersionNeeded() {
        IbVerbsProvider old = new IbVerbsProvider(sysfs, () -> new RdmaCore(new Libraries("libc.so.6", "libc.so.6")));
        assertUnavailable(old, "libc.so.6 is too old: it has no ibv_", "rdma-core 22");
    }

    @Test
    void aMachineWithoutDevicesIsToldHowToHaveOne() {
        IbVerbsProvider none = new IbVerbsProvider(sysfs.resolve("none"), () -> new RdmaCore(fake));
        assertUnavailable(none, "no RDMA device", "rdma_rxe");
    }

    private static void assertUnavailable(IbVerbsProvider provider, String... parts) {
        Assumptions.assumeTrue(System.getProperty("os.arch").equals("amd64"), "the provider is for x86-64");
        assertThat(provider.unavailableBecause()).contains(parts).doesNotContain("\n");
        assertThat(provider.canOpen(HERE)).isFalse();
        assertThatThrownBy(() -> Device.open(provider, HERE))
                .isInstanceOf(VerbsException.class)
                .hasMessage(provider.unavailableBecause());
    }
}
