package org.nvmf4j.ibverbs;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.Assumptions;
import org.nvmf4j.linux.DescriptorWaiter;
import org.nvmf4j.verbs.CompletionQueue;
import org.nvmf4j.verbs.Connection;
import org.nvmf4j.verbs.ConnectionHandler;
import org.nvmf4j.verbs.ConnectionParameters;
import org.nvmf4j.verbs.Device;
import org.nvmf4j.verbs.DeviceOptions;
import org.nvmf4j.verbs.ProtectionDomain;
import org.nvmf4j.verbs.QueuePair;
import org.nvmf4j.verbs.QueuePairOptions;
import org.nvmf4j.verbs.ReceiveWorkRequest;
import org.nvmf4j.verbs.SendWorkRequest;
import org.nvmf4j.verbs.SharedReceiveQueue;
import org.nvmf4j.verbs.VerbsException;
import org.nvmf4j.verbs.spi.ProviderDevice;
import org.nvmf4j.verbs.spi.VerbsProvider;

/** One open device of {@link FakeRdma} with one queue pair, and a record of all that completed and happened on it. */
final class FakeEndpoint implements ConnectionHandler, AutoCloseable {
    static final InetAddress LOCAL = InetAddress.ofLiteral("192.0.2.1");
    static final InetSocketAddress PEER = new InetSocketAddress(InetAddress.ofLiteral("192.0.2.2"), 4420);
    static final ConnectionParameters PARAMETERS = new ConnectionParameters(new byte[0], 1, 1, 7, 7);
    static final int INLINE_BYTES = 64;

    private static final long LIMIT_NANOS = 60_000_000_000L;

    final Device device;
    final ProtectionDomain domain;
    final CompletionQueue queue;
    final QueuePair pair;
    /** The connection's events, and what completed: in order. */
    final List<String> events = new ArrayList<>();

    FakeEndpoint(FakeRdma fake) throws VerbsException {
        needsSystemCalls();
        device = Device.open(new Provider(new RdmaCore(fake)), DeviceOptions.at(LOCAL));
        domain = device.allocateProtectionDomain();
        queue = device.createCompletionQueue(16, 0);
        pair = device.createQueuePair(domain, new QueuePairOptions(queue, queue, 8, 8, 2, INLINE_BYTES, null));
    }

    private record Provider(RdmaCore core) implements VerbsProvider {
        @Override
        public String name() {
            return IbVerbsProvider.NAME;
        }

        @Override
        public int rank() {
            return 0;
        }

        @Override
        public boolean canOpen(DeviceOptions options) {
            return true;
        }

        @Override
        public ProviderDevice open(DeviceOptions options) throws VerbsException {
            return new IbVerbsDevice(core, LOCAL, options);
        }
    }

    static void needsSystemCalls() {
        Assumptions.assumeTrue(DescriptorWaiter.problem().isEmpty(), DescriptorWaiter.problem());
    }

    FakeEndpoint connected() throws VerbsException {
        device.connect(pair, PEER, PARAMETERS, this);
        await(() -> events.contains("established"));
        return this;
    }

    /** Runs the device's lane until something is so. */
    void await(BooleanSupplier isSo) {
        long start = System.nanoTime();
        while (!isSo.getAsBoolean()) {
            if (System.nanoTime() - start > LIMIT_NANOS) {
                throw new AssertionError("waited in vain; so far: " + events);
            }
            progress();
        }
    }

    /** Another queue pair, on the same queue. */
    QueuePair sharing(SharedReceiveQueue shared) throws VerbsException {
        return device.createQueuePair(
                domain, new QueuePairOptions(queue, queue, 8, 1, 2, 0, null).withSharedReceives(shared));
    }

    void progress() {
        if (device.vector(0).progress() == 0) {
            Thread.onSpinWait();
        }
        queue.poll(
                16, completion -> events.add(completion.opcode() + " " + completion.id() + " " + completion.status()));
    }

    SendWorkRequest send(long id) {
        SendWorkRequest request = new SendWorkRequest(2);
        request.id(id);
        return request;
    }

    ReceiveWorkRequest receive(long id) {
        ReceiveWorkRequest request = new ReceiveWorkRequest(2);
        request.id(id);
        return request;
    }

    @Override
    public void onEstablished(Connection connection, ConnectionParameters peer) {
        events.add("established");
    }

    @Override
    public void onRejected(Connection connection, int reason, byte[] privateData) {
        events.add("rejected");
    }

    @Override
    public void onFailed(Connection connection, VerbsException cause) {
        events.add("failed: " + cause.getMessage());
    }

    @Override
    public void onDisconnected(Connection connection) {
        events.add("disconnected");
    }

    @Override
    public void close() {
        device.close();
    }
}
