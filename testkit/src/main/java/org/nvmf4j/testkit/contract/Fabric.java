package org.nvmf4j.testkit.contract;

import java.net.InetSocketAddress;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;
import org.nvmf4j.verbs.ConnectionParameters;
import org.nvmf4j.verbs.ConnectionRequest;
import org.nvmf4j.verbs.Device;
import org.nvmf4j.verbs.Listener;
import org.nvmf4j.verbs.VerbsException;

/** Two devices that reach each other, and the loop that drives both. Used by one thread. */
final class Fabric {
    /** Only a bound for failure: nothing is expected to take as long. */
    static final long LIMIT_SECONDS = 30;

    /** READs at a time in either direction. */
    static final int READS = 4;

    static final ConnectionParameters PARAMETERS = parameters(7, 7);

    private static final int IDLE_TURNS_BEFORE_PARKING = 1000;

    final Node target;
    final Node host;
    final Listener listener;
    /** Requests that came while no endpoint was waiting for one. */
    final List<ConnectionRequest> requests = new ArrayList<>();

    private final Deque<Endpoint> acceptors = new ArrayDeque<>();
    private ConnectionParameters accepting = PARAMETERS;

    /** Endpoints of both sides that are connected to each other. */
    record Link(Endpoint host, Endpoint target) {}

    Fabric(Device target, Device host) throws VerbsException {
        this.target = new Node(target);
        this.host = new Node(host);
        this.listener = target.listen(0, this::onRequest);
    }

    static ConnectionParameters parameters(int retryCount, int rnrRetryCount) {
        return new ConnectionParameters(new byte[0], READS, READS, retryCount, rnrRetryCount);
    }

    static ConnectionParameters parameters(byte[] privateData) {
        return new ConnectionParameters(privateData, READS, READS, 7, 7);
    }

    InetSocketAddress address() {
        return new InetSocketAddress(
                target.device.attributes().localAddress(),
                listener.localAddress().getPort());
    }

    /** Has the next request accepted with an endpoint. */
    void acceptWith(Endpoint endpoint, ConnectionParameters parameters) {
        acceptors.add(endpoint);
        accepting = parameters;
    }

    private void onRequest(ConnectionRequest request) {
        Endpoint endpoint = acceptors.poll();
        if (endpoint == null) {
            requests.add(request);
            return;
        }
        try {
            endpoint.connection = request.accept(endpoint.queuePair, accepting, endpoint);
        } catch (VerbsException e) {
            throw new AssertionError("cannot accept", e);
        }
    }

    /** Two new endpoints, connected. */
    Link link() throws VerbsException {
        return link(PARAMETERS);
    }

    Link link(ConnectionParameters parameters) throws VerbsException {
        return link(host.endpoint(), target.endpoint(), parameters);
    }

    Link link(Endpoint hostEnd, Endpoint targetEnd, ConnectionParameters parameters) throws VerbsException {
        acceptWith(targetEnd, parameters);
        connect(hostEnd, parameters);
        await("the connection", () -> hostEnd.isEstablished() && targetEnd.isEstablished());
        return new Link(hostEnd, targetEnd);
    }

    /** Starts connecting to this fabric's listener. */
    void connect(Endpoint endpoint, ConnectionParameters parameters) throws VerbsException {
        endpoint.connection = host.device.connect(endpoint.queuePair, address(), parameters, endpoint);
    }

    int progress() {
        return host.progress() + target.progress();
    }

    /** Drives both devices until something is so. */
    void await(String what, BooleanSupplier done) {
        long start = System.nanoTime();
        int idle = 0;
        while (!done.getAsBoolean()) {
            idle = progress() == 0 ? idle + 1 : 0;
            if (idle > IDLE_TURNS_BEFORE_PARKING) {
                LockSupport.parkNanos(50_000); // timers only: leave the processor to others
            }
            if (System.nanoTime() - start > TimeUnit.SECONDS.toNanos(LIMIT_SECONDS)) {
                throw new AssertionError("after " + LIMIT_SECONDS + " s still waiting for " + what + "; host "
                        + host.endpoints + ", target " + target.endpoints);
            }
        }
    }

    /** Drives both until an endpoint has as many completions of its send queue. */
    void awaitSent(Endpoint endpoint, int count) {
        await(count + " send completions", () -> endpoint.sent.size() >= count);
    }

    void awaitReceived(Endpoint endpoint, int count) {
        await(count + " receive completions", () -> endpoint.received.size() >= count);
    }

    Completed awaitSentId(Endpoint endpoint, long id) {
        await("completion of request " + id, () -> find(endpoint.sent, id) != null);
        Completed found = find(endpoint.sent, id);
        if (found == null) {
            throw new AssertionError("gone");
        }
        return found;
    }

    private static @Nullable Completed find(List<Completed> list, long id) {
        for (Completed completed : list) {
            if (completed.id() == id) {
                return completed;
            }
        }
        return null;
    }

    /** Lets both work a while on what must come to nothing. */
    void idle() {
        for (int i = 0; i < 200; i++) {
            progress();
        }
    }

    void close() {
        listener.close();
        host.close();
        target.close();
        host.memories.forEach(RegisteredMemory::assertGuards);
        target.memories.forEach(RegisteredMemory::assertGuards);
    }
}
