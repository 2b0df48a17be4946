package org.nvmf4j.roce.rc;

import java.util.Arrays;
import java.util.List;
import org.nvmf4j.roce.wire.AethSyndrome;
import org.nvmf4j.verbs.MemoryRegion;
import org.nvmf4j.verbs.SendWorkRequest;
import org.nvmf4j.verbs.WorkOpcode;

/** A queue pair that sends, and a peer that is a script. */
abstract class RequesterFixture {
    static final int MTU = 256;
    static final int US = 0xA;
    static final int PEER = 0xB;
    static final int PSN = 0xFF_FFFE; // wraps after two packets

    final RcEnd end = new RcEnd(US, new RcTuning(16, 8, 16, 30_000, 0, 1_000_000));
    final MemoryRegion memory = end.pattern(8192);

    RequesterFixture() {
        connect(end);
    }

    static void connect(RcEnd end) {
        end.queuePair.connect(new RcParameters(PEER, PSN, 0x100, MTU, 2, 2, 7, 7, 1_000_000, 1));
    }

    static int psn(int offset) {
        return PSN + offset & 0xFF_FFFF;
    }

    void post(WorkOpcode opcode, long id, int length) {
        SendWorkRequest request = end.send(id, opcode, memory, 0, length);
        request.remote(0x1000, 0x77);
        end.queuePair.postSend(request);
    }

    void acknowledge(int offset) {
        end.receive(Packet.acknowledge(US, psn(offset), AethSyndrome.ACK, 0));
    }

    void nak(int offset, int syndrome) {
        end.receive(Packet.acknowledge(US, psn(offset), syndrome, 0));
    }

    void respond(int offset, int opcode, int from, int length) {
        byte[] data = Arrays.copyOfRange(RcEnd.bytes(8192), from, from + length);
        end.receive(Packet.response(opcode, US, psn(offset), data));
    }

    List<Long> completedIds() {
        return end.takeCompletions().stream().map(RcEnd.Completion::id).toList();
    }

    static List<Integer> psns(List<Packet> packets) {
        return packets.stream().map(packet -> packet.psn() - PSN & 0xFF_FFFF).toList();
    }

    static List<Integer> opcodes(List<Packet> packets) {
        return packets.stream().map(Packet::opcode).toList();
    }
}
