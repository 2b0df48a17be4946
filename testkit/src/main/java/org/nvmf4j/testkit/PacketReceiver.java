package org.nvmf4j.testkit;

/** The end of a {@link SimulatedNetwork}'s link. */
@FunctionalInterface
public interface PacketReceiver {
    /**
     * A packet arrived.
     *
     * @param from name of the endpoint that sent it
     * @param packet its bytes, maybe damaged on the way; belongs to the receiver
     */
    void onPacket(String from, byte[] packet);
}
