package org.nvmf4j.softroce;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.BufferedInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.lang.foreign.MemorySegment;
import java.net.InetAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.nvmf4j.roce.wire.Bth;
import org.nvmf4j.roce.wire.Opcode;
import org.nvmf4j.roce.wire.PcapFrame;
import org.nvmf4j.roce.wire.PcapReader;
import org.nvmf4j.roce.wire.RoceFrame;
import org.nvmf4j.verbs.Device;
import org.nvmf4j.verbs.DeviceOptions;
import org.nvmf4j.verbs.FaultOptions;
import org.nvmf4j.verbs.VerbsException;

class PacketTapTest {
    @TempDir
    @SuppressWarnings("NullAway.Init")
    Path folder;

    private static List<RoceFrame> read(Path file) throws IOException {
        List<RoceFrame> packets = new ArrayList<>();
        try (InputStream in = new BufferedInputStream(Files.newInputStream(file))) {
            PcapReader reader = new PcapReader(in);
            for (PcapFrame frame = reader.next(); frame != null; frame = reader.next()) {
                RoceFrame packet = RoceFrame.find(frame);
                assertThat(packet).as("frame %d", frame.number()).isNotNull();
                packets.add(packet);
            }
        }
        return packets;
    }

    private void exchange(int pathMtuBytes, FaultOptions faults) throws VerbsException {
        InetAddress address = Pair.randomLoopbackAddress();
        try (Pair pair = Pair.open(
                new SoftRoceProvider(),
                DeviceOptions.at(address).withPcapFile(folder.resolve("target.pcap")),
                DeviceOptions.towards(address)
                        .withPcapFile(folder.resolve("host.pcap"))
                        .withPathMtuBytes(pathMtuBytes)
                        .withFaults(faults))) {
            Side host = pair.side(pair.host, 0);
            Side target = pair.side(pair.target, 0);
            pair.connectAndWait(host, target);
            TrafficTest.exchange(pair, host, target, pathMtuBytes);
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {1024, 4096})
    void everyIcrcInTheFilesIsRight(int pathMtuBytes) throws IOException {
        exchange(pathMtuBytes, new FaultOptions(0, 0, 0, 0, 1));
        List<RoceFrame> host = read(folder.resolve("host.pcap"));
        List<RoceFrame> target = read(folder.resolve("target.pcap"));
        assertThat(host).hasSizeGreaterThan(1000).allMatch(RoceFrame::hasValidIcrc);
        // The target sends joined messages, whose packets have other identifications than 0.
        assertThat(target).hasSizeGreaterThan(1000).allMatch(RoceFrame::hasValidIcrc);
        assertThat(target).anyMatch(packet -> packet.ipv4Id() > 0);
        assertThat(host).anyMatch(packet -> packet.ipv4Id() > 0);
        assertThat(opcodes(host))
                .contains(Opcode.UD_SEND_ONLY, Opcode.RC_WRITE_FIRST, Opcode.RC_READ_RESPONSE_LAST)
                .contains(Opcode.RC_ACKNOWLEDGE, Opcode.RC_SEND_ONLY);
        assertThat(timesOf(host)).isSorted();
    }

    private static List<Integer> opcodes(List<RoceFrame> packets) {
        return packets.stream()
                .map(packet -> Bth.opcode(packet.segment(), packet.packetOffset()))
                .distinct()
                .toList();
    }

    private static List<Long> timesOf(List<RoceFrame> packets) {
        return packets.stream().map(packet -> packet.frame().timestampNanos()).toList();
    }

    @Test
    void damagedPacketsAreNotInTheFiles() throws IOException {
        exchange(1024, new FaultOptions(0.01, 0.01, 0.01, 0.05, 3));
        assertThat(read(folder.resolve("host.pcap"))).isNotEmpty().allMatch(RoceFrame::hasValidIcrc);
        assertThat(read(folder.resolve("target.pcap"))).isNotEmpty().allMatch(RoceFrame::hasValidIcrc);
    }

    /** Each packet that one side took in was sent by the other, byte for byte and in this order. */
    @Test
    void bothSidesSawTheSamePackets() throws IOException {
        exchange(2048, new FaultOptions(0, 0, 0, 0, 1));
        List<RoceFrame> host = read(folder.resolve("host.pcap"));
        List<RoceFrame> target = read(folder.resolve("target.pcap"));
        InetAddress hostAddress = host.getFirst().source();
        List<RoceFrame> sent =
                host.stream().filter(p -> p.source().equals(hostAddress)).toList();
        List<RoceFrame> received =
                target.stream().filter(p -> p.source().equals(hostAddress)).toList();
        assertThat(received).hasSizeGreaterThan(1000);
        int next = 0;
        for (int i = 0; i < received.size(); i++) {
            // What a full receive buffer drops was sent and did not arrive.
            while (next < sent.size() && !isSame(sent.get(next), received.get(i))) {
                next++;
            }
            assertThat(next).as("the packet sent that came as packet %d", i).isLessThan(sent.size());
            next++;
        }
    }

    private static boolean isSame(RoceFrame a, RoceFrame b) {
        return a.ipv4Id() == b.ipv4Id()
                && MemorySegment.mismatch(
                                a.segment(),
                                a.packetOffset(),
                                a.segment().byteSize(),
                                b.segment(),
                                b.packetOffset(),
                                b.segment().byteSize())
                        == -1;
    }

    @Test
    void saysThatTheFileCannotBeWritten() {
        Path file = folder.resolve("missing").resolve("x.pcap");
        DeviceOptions options = DeviceOptions.at(Pair.randomLoopbackAddress()).withPcapFile(file);
        assertThatThrownBy(() -> Device.open(new SoftRoceProvider(), options))
                .isInstanceOf(VerbsException.class)
                .hasMessageContaining("cannot write the pcap file " + file);
        // and the port is free again
        assertThat(options.localAddress()).isNotNull();
    }
}
