package org.nvmf4j.cli;

import java.io.BufferedInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.PrintWriter;
import java.lang.foreign.MemorySegment;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HexFormat;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import org.nvmf4j.roce.wire.Bth;
import org.nvmf4j.roce.wire.CmMessage;
import org.nvmf4j.roce.wire.GsiPacket;
import org.nvmf4j.roce.wire.Opcode;
import org.nvmf4j.roce.wire.PacketText;
import org.nvmf4j.roce.wire.PcapFrame;
import org.nvmf4j.roce.wire.PcapReader;
import org.nvmf4j.roce.wire.RoceFrame;
import org.nvmf4j.roce.wire.RocePacket;
import org.nvmf4j.verbs.AddressText;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code nvmf decode}. */
@Command(
        name = "decode",
        description = "Print the RoCEv2 packets of a pcap or pcapng file, with their NVMe meaning.",
        footer = {
            "",
            "Every ICRC is checked; the exit status is 1 if one is wrong. Frames that are not",
            "RoCEv2 are counted, but not printed."
        })
final class DecodeCommand implements Callable<Integer> {
    /** How often to look whether anybody still reads. */
    private static final int FRAMES_PER_CHECK = 1000;

    @Parameters(paramLabel = "FILE.pcap", description = "The capture.")
    private Path file = Path.of("");

    @Spec
    private CommandSpec spec;

    private final NvmeTrace trace = new NvmeTrace();
    private final Map<String, Integer> opcodes = new TreeMap<>();
    private int frames;
    private int right;
    private int wrong;
    private int cut;

    @Override
    public @Nullable Integer call() throws IOException {
        if (Files.isDirectory(file)) {
            throw new IOException(file + " is a folder: name a capture file");
        }
        PrintWriter out = spec.commandLine().getOut();
        boolean verbose = Verbosity.of(spec.commandLine());
        try (InputStream in = new BufferedInputStream(Files.newInputStream(file))) {
            PcapReader reader = new PcapReader(in);
            long start = 0;
            for (PcapFrame frame = reader.next(); frame != null; frame = reader.next()) {
                start = frames++ == 0 ? frame.timestampNanos() : start;
                if (frames % FRAMES_PER_CHECK == 0 && StandardOutput.hasFailed(spec.commandLine())) {
                    return Failures.FAILED;
                }
                RoceFrame packet = RoceFrame.find(frame);
                if (packet != null) {
                    out.println(line(packet, start, verbose));
                }
            }
        } catch (FileSystemException e) {
            throw e; // names the file
        } catch (IOException e) {
            throw new IOException(file + ": " + e.getMessage(), e);
        } finally {
            out.flush();
        }
        out.printf(
                "%d frames, %d RoCEv2 packets: %d ICRC right, %d wrong, %d cut short%n",
                frames, right + wrong + cut, right, wrong, cut);
        opcodes.forEach((name, count) -> out.printf("%8d %s%n", count, name));
        out.flush();
        return wrong == 0 ? 0 : Failures.FAILED;
    }

    private String line(RoceFrame packet, long start, boolean verbose) {
        PcapFrame frame = packet.frame();
        StringBuilder line = new StringBuilder(200);
        line.append(String.format(
                Locale.ROOT,
                "%5d %11.6f %s > %s ",
                frame.number(),
                (frame.timestampNanos() - start) / 1e9,
                AddressText.of(packet.source()),
                AddressText.of(packet.destination())));
        if (!packet.isComplete()) {
            cut++;
            return line.append("(cut short by the capture)").toString();
        }
        MemorySegment m = packet.segment();
        int offset = packet.packetOffset();
        PacketText.append(line, m, offset, packet.packetBytes());
        if (packet.packetBytes() >= RocePacket.MIN_BYTES) {
            opcodes.merge(Opcode.name(Bth.opcode(m, offset)), 1, Integer::sum);
        }
        String nvme = trace.describe(packet);
        if (!nvme.isEmpty()) {
            line.append(" | ").append(nvme);
        }
        if (packet.hasValidIcrc()) {
            right++;
        } else {
            wrong++;
            line.append(" | WRONG ICRC");
        }
        if (verbose) {
            appendDetails(line, packet);
        }
        return line.toString();
    }

    private static void appendDetails(StringBuilder line, RoceFrame packet) {
        MemorySegment m = packet.segment();
        int offset = packet.packetOffset();
        line.append(String.format(
                Locale.ROOT,
                " | UDP source port %d, %d bytes%s",
                packet.sourcePort(),
                packet.packetBytes(),
                packet.isIpv4() ? ", IPv4 ID " + packet.ipv4Id() + (packet.dontFragment() ? " DF" : "") : ""));
        if (packet.packetBytes() >= RocePacket.MIN_BYTES) {
            line.append(String.format(Locale.ROOT, ", ICRC %08x", Integer.reverseBytes(packet.icrc())));
        }
        if (GsiPacket.isValid(m, offset, packet.packetBytes())) {
            CmMessage message = CmMessage.parse(m, offset + GsiPacket.MAD_OFFSET);
            if (message != null) {
                line.append(", private data ").append(trimmed(message.privateData()));
            }
        }
    }

    private static String trimmed(byte[] data) {
        int end = data.length;
        while (end > 0 && data[end - 1] == 0) {
            end--;
        }
        return end == 0 ? "zero" : HexFormat.of().formatHex(data, 0, end);
    }
}
