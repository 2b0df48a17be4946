package org.nvmf4j.host;

import java.net.InetAddress;
import org.nvmf4j.nvme.HostIdentity;
import org.nvmf4j.verbs.Device;
import org.nvmf4j.verbs.DeviceOptions;
import org.nvmf4j.verbs.IdleStrategy;

/** What a user chooses of a {@link Host}, checked when it is built; immutable. */
public final class HostOptions {
    private final HostIdentity identity;
    private final String provider;
    private final DeviceOptions device;
    private final int queueSize;
    private final int ioQueues;
    private final int vectors;
    private final int keepAliveMillis;
    private final int connectTimeoutMillis;
    private final int commandTimeoutMillis;
    private final ThreadingMode threading;
    private final IdleStrategy idleStrategy;
    private final boolean duplicateConnect;

    private HostOptions(Builder b) {
        identity = b.identity;
        provider = b.provider;
        device = b.device;
        queueSize = b.queueSize;
        ioQueues = b.ioQueues;
        vectors = b.vectors;
        keepAliveMillis = b.keepAliveMillis;
        connectTimeoutMillis = b.connectTimeoutMillis;
        commandTimeoutMillis = b.commandTimeoutMillis;
        threading = b.threading;
        idleStrategy = b.idleStrategy;
        duplicateConnect = b.duplicateConnect;
    }

    /** Everything by default. */
    public static HostOptions defaults() {
        return builder().build();
    }

    public static Builder builder() {
        return new Builder();
    }

    public HostIdentity identity() {
        return identity;
    }

    /** A verbs provider's name or {@link Device#ANY_PROVIDER}, the default. */
    public String provider() {
        return provider;
    }

    /** How the device is opened; the host itself sets the peer to reach and the completion vectors. */
    public DeviceOptions device() {
        return device;
    }

    /** Entries of an I/O queue, 2 to 1024; one less is the most commands outstanding. A target may allow fewer. Default 128. */
    public int queueSize() {
        return queueSize;
    }

    /** I/O queues of a controller, from 1; a target may grant fewer. Default 1. */
    public int ioQueues() {
        return ioQueues;
    }

    /**
     * Completion vectors to ask the device for, so lanes: 1 puts everything on one; 0, the default, has the admin queues on one lane and
     * each I/O queue on another. A device may have fewer.
     */
    public int vectors() {
        return vectors;
    }

    /** How long a controller outlives its host without a sign of life, 0 for ever. Default 5000. */
    public int keepAliveMillis() {
        return keepAliveMillis;
    }

    /** For one queue's connection. Default 10000. */
    public int connectTimeoutMillis() {
        return connectTimeoutMillis;
    }

    /** Without an answer to a command for so long the controller counts as lost. Default 30000. */
    public int commandTimeoutMillis() {
        return commandTimeoutMillis;
    }

    public ThreadingMode threading() {
        return threading;
    }

    /** Of the lanes that carry I/O; only with {@link ThreadingMode#LANE_THREADS}. Default {@link IdleStrategy#BACKOFF}. */
    public IdleStrategy idleStrategy() {
        return idleStrategy;
    }

    /** Whether one host may connect more than once to the same subsystem at the same address. Default false. */
    public boolean duplicateConnect() {
        return duplicateConnect;
    }

    DeviceOptions deviceTowards(InetAddress target) {
        return device.withRemoteAddress(target).withVectors(vectors == 0 ? ioQueues + 1 : vectors);
    }

    /** Collects options; {@link #build} checks them. */
    public static final class Builder {
        private HostIdentity identity = HostIdentities.local();
        private String provider = Device.ANY_PROVIDER;
        private DeviceOptions device = DeviceOptions.defaults();
        private int queueSize = 128;
        private int ioQueues = 1;
        private int vectors;
        private int keepAliveMillis = 5_000;
        private int connectTimeoutMillis = 10_000;
        private int commandTimeoutMillis = 30_000;
        private ThreadingMode threading = ThreadingMode.LANE_THREADS;
        private IdleStrategy idleStrategy = IdleStrategy.BACKOFF;
        private boolean duplicateConnect;

        private Builder() {}

        public Builder identity(HostIdentity value) {
            identity = value;
            return this;
        }

        public Builder provider(String value) {
            provider = value;
            return this;
        }

        public Builder device(DeviceOptions value) {
            device = value;
            return this;
        }

        public Builder queueSize(int value) {
            queueSize = value;
            return this;
        }

        public Builder ioQueues(int value) {
            ioQueues = value;
            return this;
        }

        public Builder vectors(int value) {
            vectors = value;
            return this;
        }

        public Builder keepAliveMillis(int value) {
            keepAliveMillis = value;
            return this;
        }

        public Builder connectTimeoutMillis(int value) {
            connectTimeoutMillis = value;
            return this;
        }

        public Builder commandTimeoutMillis(int value) {
            commandTimeoutMillis = value;
            return this;
        }

        public Builder threading(ThreadingMode value) {
            threading = value;
            return this;
        }

        public Builder idleStrategy(IdleStrategy value) {
            idleStrategy = value;
            return this;
        }

        public Builder duplicateConnect(boolean value) {
            duplicateConnect = value;
            return this;
        }

        /**
         * The options.
         *
         * @throws IllegalArgumentException with one line that names the option and its range
         */
        public HostOptions build() {
            range("queue size", queueSize, 2, 1024);
            range("number of I/O queues", ioQueues, 1, 1024);
            range("number of completion vectors", vectors, 0, 1025);
            range("keep-alive timeout in ms", keepAliveMillis, 0, Integer.MAX_VALUE);
            range("connect timeout in ms", connectTimeoutMillis, 1, Integer.MAX_VALUE);
            range("command timeout in ms", commandTimeoutMillis, 1, Integer.MAX_VALUE);
            return new HostOptions(this);
        }

        private static void range(String what, int value, int min, int max) {
            if (value < min || value > max) {
                throw new IllegalArgumentException(what + " must be "
                        + (max == Integer.MAX_VALUE ? "at least " + min : min + " to " + max) + ", not " + value);
            }
        }
    }
}
