package org.nvmf4j.nvme;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.lang.foreign.MemorySegment;
import java.util.Collections;
import java.util.List;
import java.util.UUID;
import org.junit.jupiter.api.Test;

/** Structures whose lengths and counts the peer says: lists, logs, Connect data and private data. */
class ListTest {
    private static MemorySegment zeroes(int sizeBytes) {
        return MemorySegment.ofArray(new byte[sizeBytes]);
    }

    @Test
    void readsAndWritesDiscoveryLogOfLinux() throws NvmeFormatException {
        MemorySegment linux = KernelBytes.segment("log-discovery");
        DiscoveryLogPage page = DiscoveryLogPage.parse(linux, 0, linux.byteSize());
        assertThat(page.genctr()).isEqualTo(3);
        assertThat(page.entries())
                .containsExactly(
                        entry(DiscoveryLogEntry.SUBTYPE_CURRENT_DISCOVERY, Nqn.DISCOVERY),
                        entry(DiscoveryLogEntry.SUBTYPE_NVME, "nqn.2026-01.lab.example:sub1"));
        MemorySegment written = zeroes(page.sizeBytes()).fill((byte) 0xee);
        page.write(written, 0);
        assertThat(written.mismatch(linux)).isEqualTo(-1);
    }

    private static DiscoveryLogEntry entry(int subtype, String subnqn) {
        return new DiscoveryLogEntry(
                DiscoveryLogEntry.TRTYPE_RDMA,
                DiscoveryLogEntry.ADRFAM_IPV4,
                subtype,
                DiscoveryLogEntry.TREQ_DISABLE_SQ_FLOW_CONTROL,
                1,
                DiscoveryLogEntry.CNTLID_DYNAMIC,
                32,
                0,
                "4420",
                subnqn,
                "10.77.0.2",
                DiscoveryLogEntry.RdmaTsas.DEFAULT);
    }

    @Test
    void discoveryEntryOfAnRdmaPortNeedsFewWords() {
        DiscoveryLogEntry entry = DiscoveryLogEntry.rdma(
                DiscoveryLogEntry.SUBTYPE_NVME, "nqn.2026-01.a:b", true, "fd00::1", 4421, 2, 128);
        MemorySegment memory = zeroes(DiscoveryLogEntry.SIZE_BYTES);
        entry.write(memory, 0);
        assertThat(DiscoveryLogEntry.parse(memory, 0)).isEqualTo(entry);
        assertThat(entry.adrfam()).isEqualTo(DiscoveryLogEntry.ADRFAM_IPV6);
        assertThat(entry.trsvcid()).isEqualTo("4421");
        assertThat(entry.asqsz()).isEqualTo(128);
    }

    @Test
    void discoveryHeaderNeedsTwentyBytes() throws NvmeFormatException {
        MemorySegment header = KernelBytes.segment("log-discovery").asSlice(0, DiscoveryLogPage.HEADER_CONTENT_BYTES);
        assertThat(DiscoveryLogPage.genctr(header, 0)).isEqualTo(3);
        assertThat(DiscoveryLogPage.numrec(header, 0)).isEqualTo(2);
    }

    @Test
    void refusesDiscoveryLogsThatLieAboutTheirLength() {
        MemorySegment linux = KernelBytes.segment("log-discovery");
        assertThatThrownBy(() -> DiscoveryLogPage.parse(linux, 0, 3071))
                .isInstanceOf(NvmeFormatException.class)
                .hasMessage("discovery log page of 3071 bytes is too short for its 2 entries");
        assertThatThrownBy(() -> DiscoveryLogPage.parse(linux, 0, 1023))
                .hasMessage("discovery log page of 1023 bytes is shorter than its header");
        Bytes.u64(linux, 8, -1);
        assertThatThrownBy(() -> DiscoveryLogPage.parse(linux, 0, 3072))
                .hasMessage("discovery log page with 18446744073709551615 entries, at most 65536 are believed");
        Bytes.u16(linux, 16, 1);
        assertThatThrownBy(() -> DiscoveryLogPage.parse(linux, 0, 3072))
                .hasMessage("discovery log page with record format 1, only 0 is known");
    }

    @Test
    void namesDiscoveryFieldsAsNvmeCliDoes() {
        assertThat(DiscoveryLogEntry.trtypeName(1)).isEqualTo("rdma");
        assertThat(DiscoveryLogEntry.adrfamName(2)).isEqualTo("ipv6");
        assertThat(DiscoveryLogEntry.subtypeName(3)).isEqualTo("current discovery subsystem");
        assertThat(DiscoveryLogEntry.treqName(5)).isEqualTo("required, sq flow control disable supported");
        assertThat(DiscoveryLogEntry.RdmaTsas.prtypeName(4)).isEqualTo("roce-v2");
        assertThat(DiscoveryLogEntry.RdmaTsas.qptypeName(1)).isEqualTo("connected");
        assertThat(DiscoveryLogEntry.RdmaTsas.cmsName(9)).isEqualTo("unrecognized");
    }

    @Test
    void readsNamespaceListOfLinux() throws NvmeFormatException {
        assertThat(NamespaceList.parse(KernelBytes.segment("active-namespaces"), 0))
                .containsExactly(1);
    }

    @Test
    void namespaceListMayBeEmptyOrFull() throws NvmeFormatException {
        MemorySegment memory = zeroes(4096);
        assertThat(NamespaceList.parse(memory, 0)).isEmpty();
        int[] nsids = new int[1024];
        for (int i = 0; i < nsids.length; i++) {
            nsids[i] = 3 * i + 1;
        }
        NamespaceList.write(memory, 0, nsids, nsids.length);
        assertThat(NamespaceList.parse(memory, 0)).isEqualTo(nsids);
        NamespaceList.write(memory, 0, nsids, 2);
        assertThat(NamespaceList.parse(memory, 0)).containsExactly(1, 4);
        NamespaceList.write(memory, 0, new int[] {NamespaceList.CHANGED_TOO_MANY}, 1);
        assertThat(NamespaceList.parse(memory, 0)).containsExactly(-1);
        assertThatThrownBy(() -> NamespaceList.write(memory, 0, new int[1025], 1025))
                .isInstanceOf(IllegalArgumentException.class);
    }

    @Test
    void refusesNamespaceListThatDoesNotAscend() {
        MemorySegment memory = zeroes(4096);
        NamespaceList.write(memory, 0, new int[] {1, -1, 2}, 3);
        assertThatThrownBy(() -> NamespaceList.parse(memory, 0))
                .isInstanceOf(NvmeFormatException.class)
                .hasMessage("namespace list: NSID 2 comes after 4294967295");
        assertThat(NamespaceList.parseChanged(memory, 0)).containsExactly(1, -1, 2);
    }

    @Test
    void readsAndWritesDescriptorsOfLinux() throws NvmeFormatException {
        MemorySegment linux = KernelBytes.segment("descriptors");
        NamespaceIdentification identification = NamespaceIdentification.parse(linux, 0);
        assertThat(identification)
                .isEqualTo(new NamespaceIdentification(
                        0, Nguid.NONE, UUID.fromString("11111111-2222-3333-4444-555555555555"), Cns.CSI_NVM));
        MemorySegment written = zeroes(4096).fill((byte) 0xee);
        identification.write(written, 0);
        assertThat(written.mismatch(linux)).isEqualTo(-1);
    }

    @Test
    void passesOverUnknownDescriptorsAndRefusesBrokenOnes() throws NvmeFormatException {
        MemorySegment memory = zeroes(4096);
        Bytes.u16(memory, 0, 0x0577); // type 0x77, 5 bytes
        Bytes.u16(memory, 9, 0x0104); // CSI
        Bytes.u8(memory, 13, 2);
        assertThat(NamespaceIdentification.parse(memory, 0))
                .isEqualTo(new NamespaceIdentification(0, Nguid.NONE, null, 2));
        Bytes.u16(memory, 9, 0x0f03);
        assertThatThrownBy(() -> NamespaceIdentification.parse(memory, 0))
                .isInstanceOf(NvmeFormatException.class)
                .hasMessage("namespace identification descriptor of type 3 with length 15");
        for (int at = 0; at < 4096; at += 256) {
            Bytes.u16(memory, at, 0xfc77);
        }
        assertThat(NamespaceIdentification.parse(memory, 0).uuid()).isNull();
        Bytes.u16(memory, 15 * 256, 0xfd77);
        assertThatThrownBy(() -> NamespaceIdentification.parse(memory, 0)).isInstanceOf(NvmeFormatException.class);
    }

    @Test
    void readsAnaLogOfLinux() throws NvmeFormatException {
        MemorySegment linux = KernelBytes.segment("log-ana");
        AnaLog log = AnaLog.parse(linux, 0, linux.byteSize());
        assertThat(log).isEqualTo(new AnaLog(0, List.of(new AnaLog.Group(1, 0, AnaLog.STATE_OPTIMIZED, List.of(1)))));
        MemorySegment written = zeroes(log.sizeBytes());
        log.write(written, 0);
        assertThat(written.mismatch(linux.asSlice(0, log.sizeBytes()))).isEqualTo(-1);
    }

    @Test
    void refusesAnaLogsThatLieAboutTheirLength() {
        AnaLog log = new AnaLog(1, Collections.nCopies(3, new AnaLog.Group(1, 2, 3, List.of(4, 5))));
        MemorySegment memory = zeroes(log.sizeBytes());
        log.write(memory, 0);
        for (int length = 0; length < log.sizeBytes(); length++) {
            int cut = length;
            assertThatThrownBy(() -> AnaLog.parse(memory, 0, cut)).isInstanceOf(NvmeFormatException.class);
        }
        Bytes.u32(memory, 16 + 4, -1);
        assertThatThrownBy(() -> AnaLog.parse(memory, 0, memory.byteSize()))
                .hasMessage("ANA log page ends within the 4294967295 namespaces of group 1");
    }

    @Test
    void readsAndWritesConnectDataOfLinux() {
        MemorySegment linux = KernelBytes.segment("connect-data-admin");
        ConnectData data = ConnectData.parse(linux, 0);
        assertThat(data.hostId()).isEqualTo(UUID.fromString("aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee"));
        assertThat(data.cntlid()).isEqualTo(ConnectData.CNTLID_DYNAMIC);
        assertThat(data.subnqn()).isEqualTo("nqn.2026-01.lab.example:sub1");
        assertThat(Nqn.isValid(data.hostnqn())).isTrue();
        MemorySegment written = zeroes(1024).fill((byte) 0xee);
        data.write(written, 0);
        assertThat(written.mismatch(linux)).isEqualTo(-1);

        ConnectData io = ConnectData.parse(KernelBytes.segment("capsule-connect-io"), 64);
        assertThat(io).isEqualTo(new ConnectData(data.hostId(), 1, data.subnqn(), data.hostnqn()));
    }

    @Test
    void connectDataWithNamesThatNeverEndIsRead() {
        MemorySegment memory = zeroes(1024).fill((byte) 'n');
        ConnectData data = ConnectData.parse(memory, 0);
        assertThat(data.subnqn()).hasSize(256);
        assertThat(Nqn.isValid(data.subnqn())).isFalse();
    }

    @Test
    void readsAndWritesPrivateDataOfLinux() throws NvmeFormatException {
        byte[] admin = KernelBytes.bytes("cm-request-admin");
        RdmaPrivateData.Request request = RdmaPrivateData.Request.parse(admin);
        assertThat(request).isEqualTo(new RdmaPrivateData.Request(0, 32, 31, 0));
        assertThat(admin).startsWith(request.toBytes());
        assertThat(RdmaPrivateData.Request.parse(KernelBytes.bytes("cm-request-io")))
                .isEqualTo(new RdmaPrivateData.Request(1, 128, 127, 0));

        byte[] accepted = KernelBytes.bytes("cm-reply-io");
        RdmaPrivateData.Accept accept = RdmaPrivateData.Accept.parse(accepted);
        assertThat(accept.crqsize()).isEqualTo(128);
        assertThat(accepted).startsWith(accept.toBytes());
    }

    @Test
    void refusesBrokenPrivateData() {
        assertThat(RdmaPrivateData.Request.check(new byte[31])).isEqualTo(RdmaPrivateData.INVALID_LENGTH);
        byte[] format = new byte[56];
        format[1] = 1;
        assertThat(RdmaPrivateData.Request.check(format)).isEqualTo(RdmaPrivateData.INVALID_RECFMT);
        assertThatThrownBy(() -> RdmaPrivateData.Request.parse(format))
                .isInstanceOf(NvmeFormatException.class)
                .hasMessage("NVMe/RDMA request of 56 bytes: invalid record format");
        assertThatThrownBy(() -> RdmaPrivateData.Request.parse(new byte[0]))
                .hasMessage("NVMe/RDMA request of 0 bytes: invalid private data length");
        assertThatThrownBy(() -> RdmaPrivateData.Accept.parse(new byte[3])).isInstanceOf(NvmeFormatException.class);
        assertThatThrownBy(() -> RdmaPrivateData.Accept.parse(format)).isInstanceOf(NvmeFormatException.class);
        assertThatThrownBy(() -> RdmaPrivateData.Reject.parse(new byte[3])).isInstanceOf(NvmeFormatException.class);
        assertThatThrownBy(() -> RdmaPrivateData.Reject.parse(format)).isInstanceOf(NvmeFormatException.class);
    }

    @Test
    void saysWhyAConnectionIsRejected() throws NvmeFormatException {
        byte[] bytes = new RdmaPrivateData.Reject(RdmaPrivateData.INVALID_HSQSIZE).toBytes();
        assertThat(bytes).containsExactly(0, 0, 4, 0);
        assertThat(RdmaPrivateData.Reject.parse(bytes).describe())
                .isEqualTo("invalid host submission queue size (NVMe/RDMA status 4)");
        for (int status = 1; status <= 9; status++) {
            assertThat(RdmaPrivateData.words(status)).isNotEqualTo("unknown reason");
        }
    }
}
