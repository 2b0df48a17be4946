package org.nvmf4j.nvme;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.IOException;
import java.io.InputStream;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.Map;
import java.util.Objects;

/** Structures as Linux 6.1 sent them, by name; see {@code kernel-bytes.txt}. */
final class KernelBytes {
    private static final Map<String, byte[]> ALL = load();

    private KernelBytes() {}

    /** A copy of the bytes. */
    static byte[] bytes(String name) {
        return Objects.requireNonNull(ALL.get(name), name).clone();
    }

    static MemorySegment segment(String name) {
        return MemorySegment.ofArray(bytes(name));
    }

    private static Map<String, byte[]> load() {
        Map<String, byte[]> all = new HashMap<>();
        try (InputStream in = Objects.requireNonNull(KernelBytes.class.getResourceAsStream("kernel-bytes.txt"))) {
            new String(in.readAllBytes(), UTF_8)
                    .lines()
                    .filter(line -> !line.startsWith("#"))
                    .forEach(line -> {
                        String[] words = line.split(" ", -1);
                        byte[] content = HexFormat.of().parseHex(words[2]);
                        all.put(words[0], Arrays.copyOf(content, Integer.parseInt(words[1])));
                    });
        } catch (IOException e) {
            throw new ExceptionInInitializerError(e);
        }
        return all;
    }
}
