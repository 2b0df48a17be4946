package org.nvmf4j.verbs;

import java.net.InetSocketAddress;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.ServiceLoader;
import java.util.stream.Collectors;
import org.nvmf4j.verbs.spi.ProviderDevice;
import org.nvmf4j.verbs.spi.VerbsProvider;

/**
 * An open RDMA device: the root of everything else in this package, and the core policy above every provider.
 *
 * <p>Methods may be called from any thread; what they return belongs to a lane as its own page says. Close from inside out.
 */
public final class Device implements AutoCloseable {
    private static final System.Logger LOG = System.getLogger(Device.class.getName());

    /** Names a provider nowhere in particular: the best one that can serve the address. */
    public static final String ANY_PROVIDER = "auto";

    private final ProviderDevice provider;
    private final InlinePolicy inline;

    private Device(ProviderDevice provider, InlineUse inlineUse) {
        this.provider = provider;
        inline = new InlinePolicy(inlineUse);
    }

    /**
     * Opens a device.
     *
     * @param providerName a {@linkplain VerbsProvider#name provider's name} or {@link #ANY_PROVIDER}
     * @throws VerbsException with one line that says what is in the way and what to do
     */
    public static Device open(String providerName, DeviceOptions options) throws VerbsException {
        return open(provider(providerName, options), options);
    }

    /**
     * What {@link #open(String, DeviceOptions)} would call its device, without opening it.
     *
     * @throws VerbsException with one line, if there is no such provider
     */
    public static String nameOf(String providerName, DeviceOptions options) throws VerbsException {
        return provider(providerName, options).deviceName(options);
    }

    /** Whether there is a provider of that name, or any, that can serve the addresses and the device which the options name. */
    public static boolean canOpen(String providerName, DeviceOptions options) {
        return providers().stream()
                .filter(candidate ->
                        providerName.equals(ANY_PROVIDER) || candidate.name().equals(providerName))
                .anyMatch(candidate -> candidate.canOpen(options));
    }

    private static VerbsProvider provider(String providerName, DeviceOptions options) throws VerbsException {
        List<VerbsProvider> all = providers();
        boolean any = providerName.equals(ANY_PROVIDER);
        for (VerbsProvider candidate : all) {
            if (any ? candidate.canOpen(options) : candidate.name().equals(providerName)) {
                return candidate;
            }
        }
        String names = all.stream().map(VerbsProvider::name).collect(Collectors.joining(", "));
        String device =
                options.deviceName() == null ? "" : " on device " + options.deviceName() + " (see nvmf devices)";
        throw new VerbsException(
                any
                        ? "no RDMA provider can serve this address" + device + "; providers here: " + names
                        : "no RDMA provider '" + providerName + "'; use one of " + names);
    }

    private static List<VerbsProvider> providers() {
        return ServiceLoader.load(VerbsProvider.class).stream()
                .map(ServiceLoader.Provider::get)
                .sorted(Comparator.comparingInt(VerbsProvider::rank).reversed())
                .toList();
    }

    /** The names of the providers that there are, highest rank first. */
    public static List<String> providerNames() {
        return providers().stream().map(VerbsProvider::name).toList();
    }

    /** What there is on this machine, highest rank first. */
    public static List<ProviderDescription> describeProviders() {
        return providers().stream()
                .map(provider -> new ProviderDescription(
                        provider.name(), provider.unavailableBecause(), provider.describeDevices()))
                .toList();
    }

    /** Opens a device of a given provider; for tests, and for programs that bring their own. */
    public static Device open(VerbsProvider provider, DeviceOptions options) throws VerbsException {
        ProviderDevice opened = provider.open(options);
        DeviceAttributes attributes = opened.attributes();
        LOG.log(
                System.Logger.Level.DEBUG,
                () -> "RDMA device " + attributes.name() + " of provider " + attributes.provider() + " at "
                        + AddressText.of(attributes.localAddress()));
        return new Device(opened, options.inlineUse());
    }

    public DeviceAttributes attributes() {
        return provider.attributes();
    }

    /** A completion vector, from 0 to {@link DeviceAttributes#vectors} − 1. */
    public CompletionVector vector(int index) {
        return provider.vector(index);
    }

    public ProtectionDomain allocateProtectionDomain() throws VerbsException {
        return provider.allocateProtectionDomain();
    }

    /** Creates a completion queue of at least {@code capacity} entries on a vector; called on that vector's lane. */
    public CompletionQueue createCompletionQueue(int capacity, int vector) throws VerbsException {
        return provider.createCompletionQueue(capacity, vector);
    }

    /**
     * Creates a queue of receives for queue pairs of one vector and protection domain; called on that vector's lane.
     *
     * @throws VerbsException if the device has no room, or none so large
     */
    public SharedReceiveQueue createSharedReceiveQueue(ProtectionDomain domain, int capacity, int maxSge, int vector)
            throws VerbsException {
        return provider.createSharedReceiveQueue(domain, capacity, maxSge, vector);
    }

    /**
     * Creates a reliable-connected queue pair in {@link QueuePairState#INIT}; called on the lane of its completion queues. The core
     * asks for inline room for the user's usual message, does without where the device refuses, and counts that.
     */
    public QueuePair createQueuePair(ProtectionDomain domain, QueuePairOptions options) throws VerbsException {
        return inline.create(provider, domain, options);
    }

    /**
     * Connects a queue pair in {@link QueuePairState#INIT}; receives should be posted before. Called on its lane; the outcome comes to
     * the handler there.
     *
     * @throws VerbsException if it cannot even be tried
     */
    public Connection connect(
            QueuePair queuePair, InetSocketAddress remote, ConnectionParameters parameters, ConnectionHandler handler)
            throws VerbsException {
        return provider.connect(queuePair.provider(), remote, parameters, handler);
    }

    /**
     * Takes connection requests on a port of the RDMA port space TCP (a service ID, not a TCP or UDP port); 0 takes a free one.
     *
     * @throws VerbsException if the port is taken
     */
    public Listener listen(int port, ConnectionRequestHandler handler) throws VerbsException {
        return provider.listen(port, request -> handler.onConnectionRequest(new ConnectionRequest(request)));
    }

    /**
     * What the device has counted since it was opened, by name, for metrics and for finding out what is wrong: packets, drops by
     * reason, retransmissions. Which counters there are depends on the provider; what was posted inline and by reference, and where
     * inline was refused, is always among them.
     */
    public Map<String, Long> counters() {
        Map<String, Long> counters = new LinkedHashMap<>(provider.counters());
        inline.addCountersTo(counters);
        return counters;
    }

    @Override
    public void close() {
        provider.close();
    }
}
