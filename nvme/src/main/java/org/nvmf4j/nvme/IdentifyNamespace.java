package org.nvmf4j.nvme;

import java.lang.foreign.MemorySegment;
import java.util.Objects;

/**
 * Identify Namespace of the NVM command set (NVM Command Set 1.0). Accessors have the standard's abbreviations; setters
 * return this structure. Values are as on the wire.
 *
 * <p>Not safe for use by several threads.
 */
public final class IdentifyNamespace extends DataStructure {
    public static final int SIZE_BYTES = 4096;

    public static final int MAX_LBA_FORMATS = 64;

    /** NSFEAT: thin provisioning. */
    public static final int NSFEAT_THIN_PROVISIONING = 1;
    /** NSFEAT: the atomic write fields of the namespace are meant rather than the controller's. */
    public static final int NSFEAT_ATOMICS = 1 << 1;
    /** NSFEAT: reads of deallocated blocks may be errors. */
    public static final int NSFEAT_DEALLOCATED_ERROR = 1 << 2;
    /** NSFEAT: NPWG to NOWS are meant. */
    public static final int NSFEAT_OPTIMAL_PERFORMANCE = 1 << 4;

    /** NMIC: several controllers can have the namespace attached. */
    public static final int NMIC_SHARED = 1;

    /** DLFEAT: deallocated blocks read as zeroes. */
    public static final int DLFEAT_READ_ZEROES = 1;
    /** DLFEAT: Write Zeroes can deallocate. */
    public static final int DLFEAT_WRITE_ZEROES_DEALLOCATE = 1 << 3;

    public static final int NSATTR_WRITE_PROTECTED = 1;

    private static final int LBAF = 128;

    /** All zeroes. */
    public IdentifyNamespace() {
        super(SIZE_BYTES);
    }

    private IdentifyNamespace(MemorySegment segment, long offset) {
        super(SIZE_BYTES, segment, offset);
    }

    /**
     * A copy of {@value #SIZE_BYTES} bytes; every content is accepted.
     *
     * @throws IndexOutOfBoundsException if the segment ends before
     */
    public static IdentifyNamespace parse(MemorySegment segment, long offset) {
        return new IdentifyNamespace(segment, offset);
    }

    /** Namespace size in logical blocks; 0 means that the namespace is not active. */
    public long nsze() {
        return u64(0);
    }

    public IdentifyNamespace nsze(long value) {
        u64(0, value);
        return this;
    }

    /** Namespace capacity in logical blocks. */
    public long ncap() {
        return u64(8);
    }

    public IdentifyNamespace ncap(long value) {
        u64(8, value);
        return this;
    }

    /** Namespace utilization in logical blocks. */
    public long nuse() {
        return u64(16);
    }

    public IdentifyNamespace nuse(long value) {
        u64(16, value);
        return this;
    }

    /** Namespace features: {@code NSFEAT_...}. */
    public int nsfeat() {
        return u8(24);
    }

    public IdentifyNamespace nsfeat(int value) {
        u8(24, value);
        return this;
    }

    /** Number of LBA formats; zero-based. */
    public int nlbaf() {
        return u8(25);
    }

    public IdentifyNamespace nlbaf(int value) {
        u8(25, value);
        return this;
    }

    /** Formatted LBA size, see {@link #lbaFormatIndex}. */
    public int flbas() {
        return u8(26);
    }

    public IdentifyNamespace flbas(int value) {
        u8(26, value);
        return this;
    }

    /** Metadata capabilities. */
    public int mc() {
        return u8(27);
    }

    public IdentifyNamespace mc(int value) {
        u8(27, value);
        return this;
    }

    /** End-to-end data protection capabilities. */
    public int dpc() {
        return u8(28);
    }

    public IdentifyNamespace dpc(int value) {
        u8(28, value);
        return this;
    }

    /** End-to-end data protection settings. */
    public int dps() {
        return u8(29);
    }

    public IdentifyNamespace dps(int value) {
        u8(29, value);
        return this;
    }

    /** Multi-path I/O and sharing: {@code NMIC_SHARED}. */
    public int nmic() {
        return u8(30);
    }

    public IdentifyNamespace nmic(int value) {
        u8(30, value);
        return this;
    }

    /** Reservation capabilities. */
    public int rescap() {
        return u8(31);
    }

    public IdentifyNamespace rescap(int value) {
        u8(31, value);
        return this;
    }

    /** Format progress indicator. */
    public int fpi() {
        return u8(32);
    }

    public IdentifyNamespace fpi(int value) {
        u8(32, value);
        return this;
    }

    /** Deallocate logical block features: {@code DLFEAT_...}. */
    public int dlfeat() {
        return u8(33);
    }

    public IdentifyNamespace dlfeat(int value) {
        u8(33, value);
        return this;
    }

    /** Namespace atomic write unit normal in logical blocks; zero-based. */
    public int nawun() {
        return u16(34);
    }

    public IdentifyNamespace nawun(int value) {
        u16(34, value);
        return this;
    }

    /** Namespace atomic write unit power fail in logical blocks; zero-based. */
    public int nawupf() {
        return u16(36);
    }

    public IdentifyNamespace nawupf(int value) {
        u16(36, value);
        return this;
    }

    /** Namespace atomic compare and write unit in logical blocks; zero-based. */
    public int nacwu() {
        return u16(38);
    }

    public IdentifyNamespace nacwu(int value) {
        u16(38, value);
        return this;
    }

    /** Namespace atomic boundary size normal in logical blocks; zero-based. */
    public int nabsn() {
        return u16(40);
    }

    public IdentifyNamespace nabsn(int value) {
        u16(40, value);
        return this;
    }

    /** Namespace atomic boundary offset. */
    public int nabo() {
        return u16(42);
    }

    public IdentifyNamespace nabo(int value) {
        u16(42, value);
        return this;
    }

    /** Namespace atomic boundary size power fail in logical blocks; zero-based. */
    public int nabspf() {
        return u16(44);
    }

    public IdentifyNamespace nabspf(int value) {
        u16(44, value);
        return this;
    }

    /** Namespace optimal I/O boundary in logical blocks. */
    public int noiob() {
        return u16(46);
    }

    public IdentifyNamespace noiob(int value) {
        u16(46, value);
        return this;
    }

    /** NVM capacity in bytes. */
    public long nvmcap() {
        return u128(48);
    }

    public IdentifyNamespace nvmcap(long value) {
        u128(48, value);
        return this;
    }

    /** Preferred write granularity in logical blocks; zero-based. */
    public int npwg() {
        return u16(64);
    }

    public IdentifyNamespace npwg(int value) {
        u16(64, value);
        return this;
    }

    /** Preferred write alignment in logical blocks; zero-based. */
    public int npwa() {
        return u16(66);
    }

    public IdentifyNamespace npwa(int value) {
        u16(66, value);
        return this;
    }

    /** Preferred deallocate granularity in logical blocks; zero-based. */
    public int npdg() {
        return u16(68);
    }

    public IdentifyNamespace npdg(int value) {
        u16(68, value);
        return this;
    }

    /** Preferred deallocate alignment in logical blocks; zero-based. */
    public int npda() {
        return u16(70);
    }

    public IdentifyNamespace npda(int value) {
        u16(70, value);
        return this;
    }

    /** Optimal write size in logical blocks; zero-based. */
    public int nows() {
        return u16(72);
    }

    public IdentifyNamespace nows(int value) {
        u16(72, value);
        return this;
    }

    /** ANA group; 0 without ANA. */
    public int anagrpid() {
        return u32(92);
    }

    public IdentifyNamespace anagrpid(int value) {
        u32(92, value);
        return this;
    }

    /** Namespace attributes: {@code NSATTR_WRITE_PROTECTED}. */
    public int nsattr() {
        return u8(99);
    }

    public IdentifyNamespace nsattr(int value) {
        u8(99, value);
        return this;
    }

    /** NVM set. */
    public int nvmsetid() {
        return u16(100);
    }

    public IdentifyNamespace nvmsetid(int value) {
        u16(100, value);
        return this;
    }

    /** Endurance group. */
    public int endgid() {
        return u16(102);
    }

    public IdentifyNamespace endgid(int value) {
        u16(102, value);
        return this;
    }

    /** Namespace globally unique identifier. */
    public Nguid nguid() {
        return nguid(104);
    }

    public IdentifyNamespace nguid(Nguid value) {
        nguid(104, value);
        return this;
    }

    /** IEEE extended unique identifier, the first byte the most significant; 0 for none. */
    public long eui64() {
        return bigEndianLong(120);
    }

    public IdentifyNamespace eui64(long value) {
        bigEndianLong(120, value);
        return this;
    }

    /** An LBA format, 0 to 63; those above {@link #nlbaf} are not there. */
    public LbaFormat lbaFormat(int index) {
        return LbaFormat.of(u32(LBAF + 4 * Objects.checkIndex(index, MAX_LBA_FORMATS)));
    }

    public IdentifyNamespace lbaFormat(int index, LbaFormat format) {
        u32(LBAF + 4 * Objects.checkIndex(index, MAX_LBA_FORMATS), format.dword());
        return this;
    }

    /** Which format the namespace has: FLBAS bits 6:5 and 3:0. */
    public int lbaFormatIndex() {
        return (flbas() & 0xf) | (flbas() >>> 5 & 3) << 4;
    }

    /** The format that the namespace has. */
    public LbaFormat lbaFormat() {
        return lbaFormat(lbaFormatIndex());
    }

    /** Whether the namespace is active, as nothing else in here means anything if it is not. */
    public boolean isActive() {
        return nsze() != 0;
    }
}
