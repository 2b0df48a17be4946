package org.nvmf4j.testkit;

import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.ServiceLoader;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.nvmf4j.verbs.CompletionQueue;
import org.nvmf4j.verbs.CompletionVector;
import org.nvmf4j.verbs.Connection;
import org.nvmf4j.verbs.ConnectionHandler;
import org.nvmf4j.verbs.ConnectionParameters;
import org.nvmf4j.verbs.DeviceAttributes;
import org.nvmf4j.verbs.DeviceOptions;
import org.nvmf4j.verbs.Listener;
import org.nvmf4j.verbs.ProtectionDomain;
import org.nvmf4j.verbs.QueuePairOptions;
import org.nvmf4j.verbs.QueuePairState;
import org.nvmf4j.verbs.ReceiveWorkRequest;
import org.nvmf4j.verbs.SendWorkRequest;
import org.nvmf4j.verbs.SharedReceiveQueue;
import org.nvmf4j.verbs.VerbsException;
import org.nvmf4j.verbs.spi.ProviderConnectionRequest;
import org.nvmf4j.verbs.spi.ProviderDevice;
import org.nvmf4j.verbs.spi.ProviderQueuePair;
import org.nvmf4j.verbs.spi.VerbsProvider;

/**
 * A provider that plays devices which differ in what they do about inline data, on top of another provider that does the work. It
 * fails the test if more is posted inline than it granted, and keeps what was posted.
 */
public final class ScriptedProvider implements VerbsProvider {
    private final VerbsProvider below;
    private final Script script;
    private final List<Integer> asked = Collections.synchronizedList(new ArrayList<>());
    private volatile boolean full;
    private final List<Posted> posted = Collections.synchronizedList(new ArrayList<>());

    /** What a device does when it is asked for more than it can. */
    public enum AboveLimit {
        EINVAL,
        ENOMEM,
        GRANTS_LIMIT,
        /** Fails for a reason that inline data has nothing to do with. */
        ENODEV
    }

    /**
     * What a device is like.
     *
     * @param limitBytes inline data that it can take at most; below 0 every creation is above it
     * @param aboveLimit what it does when asked for more
     * @param roundsUp whether it grants its limit to whoever asks for less, or for nothing
     * @param inlinePosts inline posts that each queue pair takes before it refuses all others with ENOMEM; {@link #ALL} for a
     *     device that keeps its word
     */
    public record Script(int limitBytes, AboveLimit aboveLimit, boolean roundsUp, int inlinePosts) {
        public static final int ALL = Integer.MAX_VALUE;

        int grant(int asked) throws VerbsException {
            if (asked <= limitBytes) {
                return roundsUp ? limitBytes : asked;
            }
            return switch (aboveLimit) {
                case EINVAL -> throw new VerbsException("ibv_create_qp: Invalid argument", VerbsException.EINVAL);
                case ENOMEM -> throw new VerbsException("ibv_create_qp: Cannot allocate memory", VerbsException.ENOMEM);
                case GRANTS_LIMIT -> limitBytes;
                case ENODEV -> throw new VerbsException("ibv_create_qp: No such device", 19);
            };
        }
    }

    /** A SEND or RDMA WRITE that a device took. */
    public record Posted(boolean inline, long lengthBytes) {}

    public ScriptedProvider(VerbsProvider below, Script script) {
        this.below = below;
        this.script = script;
    }

    /** On top of the loopback provider, which takes whatever any device is known to. */
    public static ScriptedProvider overLoopback(Script script) {
        VerbsProvider loopback = ServiceLoader.load(VerbsProvider.class).stream()
                .map(ServiceLoader.Provider::get)
                .filter(provider -> provider.name().equals("loopback"))
                .findFirst()
                .orElseThrow();
        return new ScriptedProvider(loopback, script);
    }

    /** Has the devices refuse every post, as those do whose send queue is full. */
    public void beFull(boolean value) {
        full = value;
    }

    /** What was asked for at the creation of each queue pair, refused creations too. */
    public List<Integer> askedInlineBytes() {
        return List.copyOf(asked);
    }

    /** What the devices took, in the order of posting. */
    public List<Posted> posted() {
        return List.copyOf(posted);
    }

    @Override
    public String name() {
        return "scripted";
    }

    @Override
    public int rank() {
        return below.rank();
    }

    @Override
    public boolean canOpen(DeviceOptions options) {
        return below.canOpen(options);
    }

    @Override
    public String deviceName(DeviceOptions options) {
        return below.deviceName(options);
    }

    @Override
    public ProviderDevice open(DeviceOptions options) throws VerbsException {
        return new ScriptedDevice(below.open(options));
    }

    private static ProviderQueuePair real(ProviderQueuePair queuePair) {
        return ((ScriptedQueuePair) queuePair).below;
    }

    private final class ScriptedDevice implements ProviderDevice {
        private final ProviderDevice below;

        ScriptedDevice(ProviderDevice below) {
            this.below = below;
        }

        @Override
        public SharedReceiveQueue createSharedReceiveQueue(
                ProtectionDomain domain, int capacity, int maxSge, int vector) throws VerbsException {
            return below.createSharedReceiveQueue(domain, capacity, maxSge, vector);
        }

        @Override
        public ProviderQueuePair createQueuePair(ProtectionDomain domain, QueuePairOptions options, int inlineBytes)
                throws VerbsException {
            asked.add(inlineBytes);
            int granted = script.grant(inlineBytes);
            return new ScriptedQueuePair(below.createQueuePair(domain, options, granted), granted);
        }

        @Override
        public Connection connect(
                ProviderQueuePair queuePair,
                InetSocketAddress remote,
                ConnectionParameters parameters,
                ConnectionHandler handler)
                throws VerbsException {
            return below.connect(real(queuePair), remote, parameters, handler);
        }

        @Override
        public Listener listen(int port, Consumer<? super ProviderConnectionRequest> handler) throws VerbsException {
            return below.listen(port, request -> handler.accept(new ScriptedRequest(request)));
        }

        @Override
        public DeviceAttributes attributes() {
            return below.attributes();
        }

        @Override
        public CompletionVector vector(int index) {
            return below.vector(index);
        }

        @Override
        public ProtectionDomain allocateProtectionDomain() throws VerbsException {
            return below.allocateProtectionDomain();
        }

        @Override
        public CompletionQueue createCompletionQueue(int capacity, int vector) throws VerbsException {
            return below.createCompletionQueue(capacity, vector);
        }

        @Override
        public Map<String, Long> counters() {
            return below.counters();
        }

        @Override
        public void close() {
            below.close();
        }
    }

    private record ScriptedRequest(ProviderConnectionRequest below) implements ProviderConnectionRequest {
        @Override
        public InetSocketAddress localAddress() {
            return below.localAddress();
        }

        @Override
        public InetSocketAddress remoteAddress() {
            return below.remoteAddress();
        }

        @Override
        public ConnectionParameters parameters() {
            return below.parameters();
        }

        @Override
        public Connection accept(
                ProviderQueuePair queuePair, ConnectionParameters parameters, ConnectionHandler handler)
                throws VerbsException {
            return below.accept(real(queuePair), parameters, handler);
        }

        @Override
        public void reject(byte[] privateData) {
            below.reject(privateData);
        }
    }

    private final class ScriptedQueuePair implements ProviderQueuePair {
        private final ProviderQueuePair below;
        private final int granted;
        private int inlinePosts;

        ScriptedQueuePair(ProviderQueuePair below, int granted) {
            this.below = below;
            this.granted = granted;
        }

        @Override
        public int inlineBytes() {
            return granted;
        }

        @Override
        public @Nullable SendWorkRequest postSend(SendWorkRequest first) {
            SendWorkRequest last = null;
            SendWorkRequest request = first;
            while (request != null && takes(request)) {
                last = request;
                request = request.next();
            }
            if (last == null) {
                return request;
            }
            last.next(null);
            try {
                record(first);
                SendWorkRequest refused = below.postSend(first);
                return refused == null ? request : refused;
            } finally {
                last.next(request);
            }
        }

        private boolean takes(SendWorkRequest request) {
            if (full) {
                return false;
            }
            if (!request.inline()) {
                return true;
            }
            if (request.lengthBytes() > granted) {
                throw new AssertionError(
                        request.lengthBytes() + " bytes posted inline where " + granted + " were granted");
            }
            return inlinePosts++ < script.inlinePosts();
        }

        private void record(SendWorkRequest first) {
            for (SendWorkRequest request = first; request != null; request = request.next()) {
                if (request.opcode().canBeInline()) {
                    posted.add(new Posted(request.inline(), request.lengthBytes()));
                }
            }
        }

        @Override
        public int number() {
            return below.number();
        }

        @Override
        public QueuePairState state() {
            return below.state();
        }

        @Override
        public void postReceive(ReceiveWorkRequest first) {
            below.postReceive(first);
        }

        @Override
        public void toError() {
            below.toError();
        }

        @Override
        public void close() {
            below.close();
        }
    }
}
