package org.nvmf4j.nvme;

import static org.assertj.core.api.Assertions.assertThat;

import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.UUID;
import java.util.stream.IntStream;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.Combinators;
import net.jqwik.api.ForAll;
import net.jqwik.api.From;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;
import net.jqwik.api.constraints.IntRange;
import net.jqwik.api.constraints.Size;

/** What is written is read back, at any offset and for any values. */
class RoundTripTest {
    private static MemorySegment room(int sizeBytes) {
        return MemorySegment.ofArray(new byte[sizeBytes]).fill((byte) 0xa5);
    }

    @Provide
    static Arbitrary<String> names() {
        return Arbitraries.strings()
                .withCharRange('!', '~')
                .withChars('\u00e9', '\u4e2d')
                .ofMinLength(1)
                .ofMaxLength(73)
                .map(text -> "nqn." + text);
    }

    @Provide
    static Arbitrary<UUID> uuids() {
        return Combinators.combine(Arbitraries.longs(), Arbitraries.longs()).as(UUID::new);
    }

    @Provide
    static Arbitrary<Nguid> nguids() {
        return Combinators.combine(Arbitraries.longs(), Arbitraries.longs()).as(Nguid::new);
    }

    @Provide
    static Arbitrary<DiscoveryLogEntry> entries() {
        Arbitrary<Integer> bytes = Arbitraries.integers().between(0, 255);
        Arbitrary<Integer> shorts = Arbitraries.integers().between(0, 65_535);
        Arbitrary<DiscoveryLogEntry.RdmaTsas> tsas =
                Combinators.combine(bytes, bytes, bytes, shorts).as(DiscoveryLogEntry.RdmaTsas::new);
        return Combinators.combine(bytes, bytes, shorts, shorts, names(), names(), tsas)
                .as((type, family, port, cntlid, nqn, address, rdma) ->
                        new DiscoveryLogEntry(type, family, 2, 4, port, cntlid, 32, 1, "4420", nqn, address, rdma));
    }

    @Property(tries = 200)
    void discoveryLog(@ForAll long genctr, @ForAll @Size(max = 8) List<@From("entries") DiscoveryLogEntry> entries)
            throws NvmeFormatException {
        DiscoveryLogPage page = new DiscoveryLogPage(genctr, entries);
        MemorySegment memory = room(page.sizeBytes() + 3);
        page.write(memory, 3);
        assertThat(DiscoveryLogPage.parse(memory, 3, page.sizeBytes())).isEqualTo(page);
    }

    @Property
    void connectData(
            @ForAll("uuids") UUID hostId,
            @ForAll @IntRange(max = 65_535) int cntlid,
            @ForAll("names") String subnqn,
            @ForAll("names") String hostnqn) {
        ConnectData data = new ConnectData(hostId, cntlid, subnqn, hostnqn);
        MemorySegment memory = room(ConnectData.SIZE_BYTES + 1);
        data.write(memory, 1);
        assertThat(ConnectData.parse(memory, 1)).isEqualTo(data);
    }

    @Property
    void namespaceIdentification(
            @ForAll long eui64,
            @ForAll("nguids") Nguid nguid,
            @ForAll("uuids") UUID uuid,
            @ForAll @IntRange(min = -1, max = 255) int csi)
            throws NvmeFormatException {
        NamespaceIdentification identification = new NamespaceIdentification(eui64, nguid, uuid, csi);
        MemorySegment memory = room(NamespaceIdentification.SIZE_BYTES + 1);
        identification.write(memory, 1);
        assertThat(NamespaceIdentification.parse(memory, 1)).isEqualTo(identification);
    }

    @Property
    void namespaceList(@ForAll @IntRange(max = 1024) int count, @ForAll @IntRange(min = 1, max = 1 << 20) int step)
            throws NvmeFormatException {
        int[] nsids = IntStream.rangeClosed(1, count).map(i -> i * step).toArray();
        MemorySegment memory = room(NamespaceList.SIZE_BYTES + 1);
        NamespaceList.write(memory, 1, nsids, count);
        assertThat(NamespaceList.parse(memory, 1)).isEqualTo(nsids);
    }

    @Property
    void readWriteCommand(
            @ForAll @IntRange(max = 65_535) int commandId,
            @ForAll int nsid,
            @ForAll long slba,
            @ForAll @IntRange(min = 1, max = 65_536) int blocks,
            @ForAll boolean fua) {
        MemorySegment memory = room(SubmissionQueueEntry.SIZE_BYTES + 1);
        ReadWriteCommand.write(memory, 1, IoOpcode.WRITE, commandId, nsid, slba, blocks, fua);
        assertThat(SubmissionQueueEntry.opcode(memory, 1)).isEqualTo(IoOpcode.WRITE);
        assertThat(SubmissionQueueEntry.flags(memory, 1)).isEqualTo(SubmissionQueueEntry.FLAGS_SGL);
        assertThat(SubmissionQueueEntry.commandId(memory, 1)).isEqualTo(commandId);
        assertThat(SubmissionQueueEntry.nsid(memory, 1)).isEqualTo(nsid);
        assertThat(ReadWriteCommand.slba(memory, 1)).isEqualTo(slba);
        assertThat(ReadWriteCommand.blocks(memory, 1)).isEqualTo(blocks);
        assertThat(ReadWriteCommand.fua(memory, 1)).isEqualTo(fua);
    }

    @Property
    void completion(
            @ForAll long result,
            @ForAll @IntRange(max = 65_535) int sqHead,
            @ForAll @IntRange(max = 65_535) int sqId,
            @ForAll @IntRange(max = 65_535) int commandId,
            @ForAll @IntRange(max = 0x7fff) int status) {
        MemorySegment memory = room(CompletionQueueEntry.SIZE_BYTES + 1);
        CompletionQueueEntry.write(memory, 1, result, sqHead, sqId, commandId, status);
        assertThat(CompletionQueueEntry.result(memory, 1)).isEqualTo(result);
        assertThat(CompletionQueueEntry.sqHead(memory, 1)).isEqualTo(sqHead);
        assertThat(CompletionQueueEntry.sqId(memory, 1)).isEqualTo(sqId);
        assertThat(CompletionQueueEntry.commandId(memory, 1)).isEqualTo(commandId);
        assertThat(CompletionQueueEntry.status(memory, 1)).isEqualTo(status);
    }

    @Property
    void privateData(
            @ForAll @IntRange(max = 65_535) int qid,
            @ForAll @IntRange(max = 65_535) int hrqsize,
            @ForAll @IntRange(max = 65_535) int hsqsizeZeroBased,
            @ForAll @IntRange(max = 65_535) int cntlid)
            throws NvmeFormatException {
        RdmaPrivateData.Request request = new RdmaPrivateData.Request(qid, hrqsize, hsqsizeZeroBased, cntlid);
        assertThat(RdmaPrivateData.Request.parse(request.toBytes())).isEqualTo(request);
        assertThat(RdmaPrivateData.Accept.parse(new RdmaPrivateData.Accept(qid).toBytes())
                        .crqsize())
                .isEqualTo(qid);
        assertThat(RdmaPrivateData.Reject.parse(new RdmaPrivateData.Reject(qid).toBytes())
                        .status())
                .isEqualTo(qid);
    }
}
