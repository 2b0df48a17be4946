package org.nvmf4j.bench;

import java.util.Arrays;
import java.util.Locale;
import java.util.stream.Collectors;

/** The access pattern, fio's {@code --rw}. */
public enum ReadWrite {
    READ(false, true, false),
    WRITE(false, false, true),
    RANDREAD(true, true, false),
    RANDWRITE(true, false, true),
    /** Sequential reads and writes, mixed. */
    RW(false, true, true),
    /** Random reads and writes, mixed. */
    RANDRW(true, true, true);

    private final boolean random;
    private final boolean reads;
    private final boolean writes;

    ReadWrite(boolean random, boolean reads, boolean writes) {
        this.random = random;
        this.reads = reads;
        this.writes = writes;
    }

    public boolean isRandom() {
        return random;
    }

    public boolean reads() {
        return reads;
    }

    public boolean writes() {
        return writes;
    }

    /** fio's word for it. */
    public String word() {
        return name().toLowerCase(Locale.ROOT);
    }

    /**
     * The pattern that fio calls so; {@code readwrite} is {@code rw}.
     *
     * @throws IllegalArgumentException if fio has no such pattern
     */
    public static ReadWrite of(String word) {
        String wanted = word.equals("readwrite") ? "rw" : word;
        return Arrays.stream(values())
                .filter(pattern -> pattern.word().equals(wanted))
                .findFirst()
                .orElseThrow(() -> new IllegalArgumentException("rw must be one of "
                        + Arrays.stream(values()).map(ReadWrite::word).collect(Collectors.joining(", ")) + ", not '"
                        + word + "'"));
    }
}
