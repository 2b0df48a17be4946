package org.nvmf4j.softroce;

import org.nvmf4j.linux.UdpOptions;
import org.nvmf4j.roce.cm.CmOptions;

/** Providers for tests that wait for the end of somebody's patience. */
final class Providers {
    /** 67 ms between retries instead of half a second. */
    private static final int SHORT_RESPONSE_TIMEOUT_CODE = 14;

    private Providers() {}

    static SoftRoceProvider impatient(UdpOptions.Implementation implementation) {
        return new SoftRoceProvider(
                UdpOptions.defaults().withImplementation(implementation),
                o -> new CmOptions(
                        o.localAddress(),
                        o.caGuid(),
                        o.pathMtuBytes(),
                        SHORT_RESPONSE_TIMEOUT_CODE,
                        o.maxRetries(),
                        o.maxDisconnectRetries(),
                        o.ackTimeoutCode(),
                        o.targetAckDelayCode(),
                        o.maxHalfOpen(),
                        o.maxConnections(),
                        o.maxTimeWait(),
                        o.acceptTimeoutNanos()));
    }
}
