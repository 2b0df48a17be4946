package org.nvmf4j.roce.wire;

import java.io.BufferedInputStream;
import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.stream.Stream;

/** Packets between Linux kernels, from this module's test resources. */
public final class Captures {
    private Captures() {}

    /** All capture files, in the order of their names. */
    public static List<Path> all() throws Exception {
        Path folder = new File(Objects.requireNonNull(Captures.class.getResource("/captures"))
                        .toURI())
                .toPath();
        try (Stream<Path> files = Files.list(folder)) {
            return files.sorted().toList();
        }
    }

    /** RoCEv2 packets of a file. */
    public static List<RoceFrame> frames(Path file) throws IOException {
        List<RoceFrame> result = new ArrayList<>();
        try (InputStream in = new BufferedInputStream(Files.newInputStream(file))) {
            PcapReader reader = new PcapReader(in);
            for (PcapFrame frame = reader.next(); frame != null; frame = reader.next()) {
                RoceFrame roce = RoceFrame.find(frame);
                if (roce != null) {
                    result.add(roce);
                }
            }
        }
        return result;
    }

    /** RoCEv2 packets of the file with this name. */
    public static List<RoceFrame> frames(String name) throws Exception {
        Path file = all().stream()
                .filter(path -> path.endsWith(name + ".pcap"))
                .findFirst()
                .orElseThrow();
        return frames(file);
    }
}
