package org.nvmf4j.roce.rc;

import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import org.nvmf4j.roce.wire.Aeth;
import org.nvmf4j.roce.wire.AethSyndrome;
import org.nvmf4j.roce.wire.Bth;
import org.nvmf4j.roce.wire.Ieth;
import org.nvmf4j.roce.wire.Opcode;
import org.nvmf4j.roce.wire.Reth;
import org.nvmf4j.roce.wire.RocePacket;

/** A packet from BTH to padding, to build and to look at. */
@SuppressWarnings("ArrayRecordComponent")
record Packet(byte[] bytes) {
    static Packet of(int opcode, int destination, int psn, boolean ackRequest, int payloadBytes) {
        int pad = RocePacket.padCount(payloadBytes);
        Packet packet = new Packet(new byte[Opcode.headerBytes(opcode) + payloadBytes + pad]);
        Bth.write(packet.memory(), 0, opcode, Bth.MIGRATION_REQUEST, pad, destination, ackRequest, psn);
        return packet;
    }

    static Packet acknowledge(int destination, int psn, int syndrome, int msn) {
        Packet packet = of(Opcode.RC_ACKNOWLEDGE, destination, psn, false, 0);
        Aeth.write(packet.memory(), Bth.LENGTH, syndrome, msn);
        return packet;
    }

    static Packet response(int opcode, int destination, int psn, byte[] payload) {
        Packet packet = of(opcode, destination, psn, false, payload.length).payload(payload);
        if (opcode != Opcode.RC_READ_RESPONSE_MIDDLE) {
            Aeth.write(packet.memory(), Bth.LENGTH, AethSyndrome.ACK, 0);
        }
        return packet;
    }

    MemorySegment memory() {
        return MemorySegment.ofArray(bytes);
    }

    Packet payload(byte[] payload) {
        System.arraycopy(payload, 0, bytes, Opcode.headerBytes(opcode()), payload.length);
        return this;
    }

    Packet reth(long address, int rkey, int length) {
        Reth.write(memory(), Bth.LENGTH, address, rkey, length);
        return this;
    }

    Packet ieth(int rkey) {
        Ieth.write(memory(), Opcode.secondExtensionOffset(opcode()), rkey);
        return this;
    }

    int opcode() {
        return Bth.opcode(memory(), 0);
    }

    int psn() {
        return Bth.psn(memory(), 0);
    }

    boolean ackRequest() {
        return Bth.ackRequest(memory(), 0);
    }

    int syndrome() {
        return Aeth.syndrome(memory(), Bth.LENGTH);
    }

    int msn() {
        return Aeth.msn(memory(), Bth.LENGTH);
    }

    long address() {
        return Reth.virtualAddress(memory(), Bth.LENGTH);
    }

    int rkey() {
        return Reth.rKey(memory(), Bth.LENGTH);
    }

    long dmaLength() {
        return Reth.dmaLengthBytes(memory(), Bth.LENGTH);
    }

    byte[] payload() {
        int end = bytes.length - Bth.padCount(memory(), 0);
        return Arrays.copyOfRange(bytes, Opcode.headerBytes(opcode()), end);
    }

    @Override
    public String toString() {
        int flags = Opcode.flags(opcode());
        return Opcode.name(opcode()) + " psn " + psn() + (ackRequest() ? " AckReq" : "")
                + ((flags & Opcode.HAS_AETH) != 0 ? " " + AethSyndrome.words(syndrome()) + " msn " + msn() : "")
                + ((flags & Opcode.HAS_RETH) != 0 ? " len " + dmaLength() : "")
                + " payload " + payload().length;
    }
}
