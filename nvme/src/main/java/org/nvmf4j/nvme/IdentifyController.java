package org.nvmf4j.nvme;

import java.lang.foreign.MemorySegment;

/**
 * Identify Controller (NVMe Base 2.0): what a controller is and has. Accessors have the standard's abbreviations; setters
 * return this structure; what no fabrics target has, such as temperatures, can be read alone. Values are as on the wire; where a
 * number is an exponent or counts 16-byte units, a method beside it says bytes.
 *
 * <p>Not safe for use by several threads.
 */
public final class IdentifyController extends DataStructure {
    public static final int SIZE_BYTES = 4096;

    /** CMIC: the subsystem has several ports. */
    public static final int CMIC_MULTI_PORT = 1;
    /** CMIC: the subsystem has several controllers. */
    public static final int CMIC_MULTI_CONTROLLER = 1 << 1;
    /** CMIC: reports asymmetric namespace access. */
    public static final int CMIC_ANA = 1 << 3;

    /** CTRATT: host identifiers of 128 bits. */
    public static final int CTRATT_HOST_ID_128 = 1;
    /** CTRATT: traffic based keep alive: any command restarts the timer. */
    public static final int CTRATT_TBKAS = 1 << 6;

    public static final int CNTRLTYPE_IO = 1;
    public static final int CNTRLTYPE_DISCOVERY = 2;
    public static final int CNTRLTYPE_ADMIN = 3;

    /** LPA: a SMART log page for each namespace. */
    public static final int LPA_SMART_PER_NAMESPACE = 1;
    /** LPA: there is an {@link EffectsLog}. */
    public static final int LPA_EFFECTS = 1 << 1;
    /** LPA: log pages can be read from an offset. */
    public static final int LPA_EXTENDED_DATA = 1 << 2;

    public static final int ONCS_COMPARE = 1;
    public static final int ONCS_WRITE_UNCORRECTABLE = 1 << 1;
    public static final int ONCS_DATASET_MANAGEMENT = 1 << 2;
    public static final int ONCS_WRITE_ZEROES = 1 << 3;
    public static final int ONCS_SAVE_SELECT = 1 << 4;
    public static final int ONCS_RESERVATIONS = 1 << 5;
    public static final int ONCS_TIMESTAMP = 1 << 6;
    public static final int ONCS_VERIFY = 1 << 7;

    /** There is a volatile write cache, so that Flush matters. */
    public static final int VWC_PRESENT = 1;

    /** SGLS: data at any alignment. */
    public static final int SGLS_BYTE_ALIGNED = 1;
    /** SGLS: data at addresses and of lengths that are multiples of 4. */
    public static final int SGLS_DWORD_ALIGNED = 1 << 1;
    /** SGLS: keyed data blocks. */
    public static final int SGLS_KEYED = 1 << 2;
    /** SGLS: addresses that are offsets in the capsule. */
    public static final int SGLS_OFFSET = 1 << 20;

    /** All zeroes. */
    public IdentifyController() {
        super(SIZE_BYTES);
    }

    private IdentifyController(MemorySegment segment, long offset) {
        super(SIZE_BYTES, segment, offset);
    }

    /**
     * A copy of {@value #SIZE_BYTES} bytes; every content is accepted.
     *
     * @throws IndexOutOfBoundsException if the segment ends before
     */
    public static IdentifyController parse(MemorySegment segment, long offset) {
        return new IdentifyController(segment, offset);
    }

    /** PCI vendor ID. */
    public int vid() {
        return u16(0);
    }

    public IdentifyController vid(int value) {
        u16(0, value);
        return this;
    }

    /** PCI subsystem vendor ID. */
    public int ssvid() {
        return u16(2);
    }

    public IdentifyController ssvid(int value) {
        u16(2, value);
        return this;
    }

    /** Serial number, up to 20 ASCII characters. */
    public String sn() {
        return text(4, 20);
    }

    public IdentifyController sn(String value) {
        text(4, 20, value, ' ');
        return this;
    }

    /** Model number, up to 40 ASCII characters. */
    public String mn() {
        return text(24, 40);
    }

    public IdentifyController mn(String value) {
        text(24, 40, value, ' ');
        return this;
    }

    /** Firmware revision, up to 8 ASCII characters. */
    public String fr() {
        return text(64, 8);
    }

    public IdentifyController fr(String value) {
        text(64, 8, value, ' ');
        return this;
    }

    /** Recommended arbitration burst, as a power of two. */
    public int rab() {
        return u8(72);
    }

    /** Controller multi-path I/O and namespace sharing: {@code CMIC_...}. */
    public int cmic() {
        return u8(76);
    }

    public IdentifyController cmic(int value) {
        u8(76, value);
        return this;
    }

    /** Maximum data transfer size, as a power of two of 4 KiB pages; 0 for no limit. */
    public int mdts() {
        return u8(77);
    }

    public IdentifyController mdts(int value) {
        u8(77, value);
        return this;
    }

    /** Controller ID, that of the Connect result. */
    public int cntlid() {
        return u16(78);
    }

    public IdentifyController cntlid(int value) {
        u16(78, value);
        return this;
    }

    /** Version, see {@link ControllerProperties#version}. */
    public int ver() {
        return u32(80);
    }

    public IdentifyController ver(int value) {
        u32(80, value);
        return this;
    }

    /** RTD3 resume latency in microseconds. */
    public int rtd3r() {
        return u32(84);
    }

    /** RTD3 entry latency in microseconds; Linux waits as long for a shutdown. */
    public int rtd3e() {
        return u32(88);
    }

    public IdentifyController rtd3e(int value) {
        u32(88, value);
        return this;
    }

    /** Optional asynchronous events: {@code AsyncEvent.NOTICE_...}. */
    public int oaes() {
        return u32(92);
    }

    public IdentifyController oaes(int value) {
        u32(92, value);
        return this;
    }

    /** Controller attributes: {@code CTRATT_...}. */
    public int ctratt() {
        return u32(96);
    }

    public IdentifyController ctratt(int value) {
        u32(96, value);
        return this;
    }

    /** Controller type: {@code CNTRLTYPE_...}. */
    public int cntrltype() {
        return u8(111);
    }

    public IdentifyController cntrltype(int value) {
        u8(111, value);
        return this;
    }

    /** FRU globally unique identifier. */
    public Nguid fguid() {
        return nguid(112);
    }

    /** Command retry delay time 1 in 100 ms. */
    public int crdt1() {
        return u16(128);
    }

    public IdentifyController crdt1(int value) {
        u16(128, value);
        return this;
    }

    /** Command retry delay time 2 in 100 ms. */
    public int crdt2() {
        return u16(130);
    }

    /** Command retry delay time 3 in 100 ms. */
    public int crdt3() {
        return u16(132);
    }

    /** Optional admin command support. */
    public int oacs() {
        return u16(256);
    }

    public IdentifyController oacs(int value) {
        u16(256, value);
        return this;
    }

    /** Abort command limit; zero-based. */
    public int acl() {
        return u8(258);
    }

    public IdentifyController acl(int value) {
        u8(258, value);
        return this;
    }

    /** Asynchronous event request limit; zero-based. */
    public int aerl() {
        return u8(259);
    }

    public IdentifyController aerl(int value) {
        u8(259, value);
        return this;
    }

    /** Firmware updates. */
    public int frmw() {
        return u8(260);
    }

    /** Log page attributes: {@code LPA_...}. */
    public int lpa() {
        return u8(261);
    }

    public IdentifyController lpa(int value) {
        u8(261, value);
        return this;
    }

    /** Error log page entries; zero-based. */
    public int elpe() {
        return u8(262);
    }

    public IdentifyController elpe(int value) {
        u8(262, value);
        return this;
    }

    /** Number of power states; zero-based. */
    public int npss() {
        return u8(263);
    }

    /** Admin vendor specific command configuration. */
    public int avscc() {
        return u8(264);
    }

    /** Autonomous power state transition attributes. */
    public int apsta() {
        return u8(265);
    }

    /** Warning composite temperature threshold in kelvins. */
    public int wctemp() {
        return u16(266);
    }

    /** Critical composite temperature threshold in kelvins. */
    public int cctemp() {
        return u16(268);
    }

    /** Keep alive support: granularity of the timeout in 100 ms; 0 for no keep alive. */
    public int kas() {
        return u16(320);
    }

    public IdentifyController kas(int value) {
        u16(320, value);
        return this;
    }

    /** ANA transition time in seconds. */
    public int anatt() {
        return u8(342);
    }

    public IdentifyController anatt(int value) {
        u8(342, value);
        return this;
    }

    /** Asymmetric namespace access capabilities: bit n for the state n + 1, bit 6 for a constant group ID. */
    public int anacap() {
        return u8(343);
    }

    public IdentifyController anacap(int value) {
        u8(343, value);
        return this;
    }

    /** ANA group identifier maximum. */
    public int anagrpmax() {
        return u32(344);
    }

    public IdentifyController anagrpmax(int value) {
        u32(344, value);
        return this;
    }

    /** Number of ANA group identifiers. */
    public int nanagrpid() {
        return u32(348);
    }

    public IdentifyController nanagrpid(int value) {
        u32(348, value);
        return this;
    }

    /** Submission queue entry size, required in bits 3:0 and maximum in 7:4, as powers of two: 0x66. */
    public int sqes() {
        return u8(512);
    }

    public IdentifyController sqes(int value) {
        u8(512, value);
        return this;
    }

    /** Completion queue entry size, likewise: 0x44. */
    public int cqes() {
        return u8(513);
    }

    public IdentifyController cqes(int value) {
        u8(513, value);
        return this;
    }

    /** Maximum outstanding commands of an I/O queue. */
    public int maxcmd() {
        return u16(514);
    }

    public IdentifyController maxcmd(int value) {
        u16(514, value);
        return this;
    }

    /** Number of namespaces: the highest NSID, unsigned. */
    public int nn() {
        return u32(516);
    }

    public IdentifyController nn(int value) {
        u32(516, value);
        return this;
    }

    /** Optional NVM command support: {@code ONCS_...}. */
    public int oncs() {
        return u16(520);
    }

    public IdentifyController oncs(int value) {
        u16(520, value);
        return this;
    }

    /** Fused operation support. */
    public int fuses() {
        return u16(522);
    }

    /** Format NVM attributes. */
    public int fna() {
        return u8(524);
    }

    /** Volatile write cache: {@code VWC_...}. */
    public int vwc() {
        return u8(525);
    }

    public IdentifyController vwc(int value) {
        u8(525, value);
        return this;
    }

    /** Atomic write unit normal in logical blocks; zero-based. */
    public int awun() {
        return u16(526);
    }

    public IdentifyController awun(int value) {
        u16(526, value);
        return this;
    }

    /** Atomic write unit power fail in logical blocks; zero-based. */
    public int awupf() {
        return u16(528);
    }

    public IdentifyController awupf(int value) {
        u16(528, value);
        return this;
    }

    /** I/O command set vendor specific command configuration. */
    public int icsvscc() {
        return u8(530);
    }

    /** Namespace write protection capabilities. */
    public int nwpc() {
        return u8(531);
    }

    /** Atomic compare and write unit in logical blocks; zero-based. */
    public int acwu() {
        return u16(532);
    }

    /** SGL support: {@code SGLS_...}. */
    public int sgls() {
        return u32(536);
    }

    public IdentifyController sgls(int value) {
        u32(536, value);
        return this;
    }

    /** What addresses and lengths of data that SGLs describe are multiples of: 1 or 4 bytes; 0 for a controller without SGLs. */
    public int sglAlignmentBytes() {
        return switch (sgls() & (SGLS_BYTE_ALIGNED | SGLS_DWORD_ALIGNED)) {
            case SGLS_BYTE_ALIGNED -> 1;
            case SGLS_DWORD_ALIGNED -> 4;
            default -> 0;
        };
    }

    /** Maximum number of allowed namespaces; with ANA 1 to NN. */
    public int mnan() {
        return u32(540);
    }

    public IdentifyController mnan(int value) {
        u32(540, value);
        return this;
    }

    /** NVM subsystem NQN. */
    public String subnqn() {
        return text(768, 256);
    }

    public IdentifyController subnqn(String value) {
        text(768, 256, value, '\0');
        return this;
    }

    /** I/O queue command capsule size in 16 bytes: 4 and the in-capsule data. */
    public int ioccsz() {
        return u32(1792);
    }

    public IdentifyController ioccsz(int value) {
        u32(1792, value);
        return this;
    }

    /** I/O queue response capsule size in 16 bytes: 1. */
    public int iorcsz() {
        return u32(1796);
    }

    public IdentifyController iorcsz(int value) {
        u32(1796, value);
        return this;
    }

    /** In-capsule data offset in 16 bytes behind the command; Linux takes 0 alone. */
    public int icdoff() {
        return u16(1800);
    }

    public IdentifyController icdoff(int value) {
        u16(1800, value);
        return this;
    }

    /** Fabrics controller attributes: bit 0 for a dynamic model that is not. */
    public int fcatt() {
        return u8(1802);
    }

    /** Maximum SGL data block descriptors in a capsule; 0 for no limit. */
    public int msdbd() {
        return u8(1803);
    }

    public IdentifyController msdbd(int value) {
        u8(1803, value);
        return this;
    }

    /** Optional Fabrics command support: bit 0 for Disconnect. */
    public int ofcs() {
        return u16(1804);
    }

    public IdentifyController ofcs(int value) {
        u16(1804, value);
        return this;
    }

    /** {@link #mdts} in bytes with 4 KiB pages; {@link Long#MAX_VALUE} for no limit. */
    public long maxTransferBytes() {
        int exponent = mdts();
        return exponent == 0 || exponent > 50 ? Long.MAX_VALUE : 4096L << exponent;
    }

    /** In-capsule data of an I/O command in bytes, from {@link #ioccsz}; 0 for none. */
    public long inCapsuleDataBytes() {
        long capsule = (ioccsz() & 0xffff_ffffL) * 16;
        return Math.max(0, capsule - SubmissionQueueEntry.SIZE_BYTES - icdoff() * 16L);
    }

    /** Sets {@link #ioccsz} to hold a command and in-capsule data of this length, a multiple of 16. */
    public IdentifyController inCapsuleDataBytes(int lengthBytes) {
        if (lengthBytes < 0 || (lengthBytes & 15) != 0) {
            throw new IllegalArgumentException("in-capsule data of " + lengthBytes + " bytes is not a multiple of 16");
        }
        return ioccsz((SubmissionQueueEntry.SIZE_BYTES + lengthBytes) / 16);
    }

    /** Whether this is a discovery controller: by its type, or by its subsystem where an older one leaves the type at 0. */
    public boolean isDiscovery() {
        return cntrltype() == CNTRLTYPE_DISCOVERY || (cntrltype() == 0 && subnqn().equals(Nqn.DISCOVERY));
    }
}
