package org.nvmf4j.testkit.contract;

import static org.assertj.core.api.Assertions.assertThat;

import java.net.InetAddress;
import java.util.Objects;
import java.util.concurrent.ThreadLocalRandom;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.nvmf4j.linux.NetworkRoutes;
import org.nvmf4j.verbs.Device;
import org.nvmf4j.verbs.DeviceOptions;
import org.nvmf4j.verbs.VerbsException;
import org.nvmf4j.verbs.spi.VerbsProvider;

/**
 * The contract of verbs: every provider's tests extend this class. The tests drive both devices from one thread by calling {@link
 * org.nvmf4j.verbs.CompletionVector#progress} again and again, but where they are about threads; time is only the bound after which
 * a test that waits in vain fails.
 */
public abstract class ProviderContractTest
        implements TransferContract,
                ScatterGatherContract,
                ReceiverNotReadyContract,
                SharedReceiveContract,
                RemoteAccessContract,
                LocalAccessContract,
                OnDemandContract,
                DmaBufContract,
                InvalidateContract,
                QueueContract,
                ErrorStateContract,
                ConnectContract,
                DisconnectContract,
                VectorContract,
                AllocationContract,
                CloseContract {
    private @Nullable Fabric fabric;

    /** The provider under test. */
    protected abstract VerbsProvider provider();

    /** Options of a device that others can reach: its address must be free. */
    protected DeviceOptions targetOptions() {
        return DeviceOptions.at(randomLoopbackAddress());
    }

    /** Options of a device that reaches another one. */
    protected DeviceOptions hostOptions(InetAddress target) {
        return DeviceOptions.towards(target);
    }

    /** An address that a host can try to reach and where no device is. */
    protected InetAddress deadAddress() {
        return randomLoopbackAddress();
    }

    /** Whether posting, progress and polling allocate nothing on this provider in steady state. */
    @Override
    public boolean allocatesNothing() {
        return true;
    }

    /** Whether this provider registers dma-bufs; the others refuse. */
    @Override
    public boolean registersDmaBuf() {
        return false;
    }

    /** Whether the device keeps what is registered where it is, so that it goes on with memory that the CPU has lost. */
    @Override
    public boolean pinsMemory() {
        return false;
    }

    /** Whether a message can make a region's rkey invalid; elsewhere it fails. */
    @Override
    public boolean invalidatesRegions() {
        return true;
    }

    /** Whether there can be one device at an address only. */
    @Override
    public boolean ownsItsAddress() {
        return true;
    }

    /** Whether a work request that fails for its own memory or length says which; elsewhere it may be a local QP operation error. */
    @Override
    public boolean tellsLocalErrorsApart() {
        return true;
    }

    private static InetAddress randomLoopbackAddress() {
        return NetworkRoutes.randomLoopbackAddress(ThreadLocalRandom.current());
    }

    @Override
    public final Fabric fabric() throws VerbsException {
        return fabric(1);
    }

    @Override
    public final Fabric fabric(int vectors) throws VerbsException {
        if (fabric == null) {
            fabric = newFabric(vectors);
        }
        return fabric;
    }

    @Override
    public final Fabric newFabric(int vectors) throws VerbsException {
        Device target = Device.open(provider(), targetOptions().withVectors(vectors));
        try {
            InetAddress address = target.attributes().localAddress();
            return new Fabric(
                    target, Device.open(provider(), hostOptions(address).withVectors(vectors)));
        } catch (VerbsException | RuntimeException e) {
            target.close();
            throw e;
        }
    }

    @Override
    public final Device openLike(Device other) throws VerbsException {
        return Device.open(
                provider(), targetOptions().withLocalAddress(other.attributes().localAddress()));
    }

    @Override
    public final InetAddress nobodysAddress() {
        return deadAddress();
    }

    @Test
    final void aDeviceIsCalledWhatItsProviderSaidBefore() throws VerbsException {
        DeviceOptions options = targetOptions();
        try (Device device = Device.open(provider(), options)) {
            assertThat(device.attributes().name()).isEqualTo(provider().deviceName(options));
        }
    }

    @AfterEach
    final void closeFabric() {
        Fabric opened = fabric;
        fabric = null;
        if (opened != null) {
            Objects.requireNonNull(opened).close();
        }
    }
}
