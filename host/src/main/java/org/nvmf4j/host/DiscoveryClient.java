package org.nvmf4j.host;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import org.nvmf4j.nvme.DiscoveryLogEntry;
import org.nvmf4j.nvme.DiscoveryLogPage;
import org.nvmf4j.nvme.IdentifyController;
import org.nvmf4j.nvme.LogPage;

/**
 * Reads a discovery log page as it is at one moment: header, entries in pieces, header again; begins anew if the page changed
 * meanwhile.
 */
final class DiscoveryClient {
    private static final int ATTEMPTS = 10;
    private static final int PIECE_BYTES = 4096;

    private DiscoveryClient() {}

    static DiscoveryLogPage read(AdminClient admin, IdentifyController identify) throws IOException {
        boolean offsets = (identify.lpa() & IdentifyController.LPA_EXTENDED_DATA) != 0;
        for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
            MemorySegment header = header(admin);
            int count = DiscoveryLogPage.numrec(header, 0);
            int total = DiscoveryLogPage.HEADER_BYTES + count * DiscoveryLogEntry.SIZE_BYTES;
            MemorySegment page = offsets
                    ? readPieces(admin, header, total)
                    : admin.logPage(LogPage.DISCOVERY, 0, false, 0, total).data();
            long generation = DiscoveryLogPage.genctr(header, 0);
            if (DiscoveryLogPage.genctr(page, 0) == generation
                    && DiscoveryLogPage.genctr(header(admin), 0) == generation) {
                return DiscoveryLogPage.parse(page, 0, total);
            }
        }
        throw new HostException("the discovery log page changed during each of " + ATTEMPTS + " attempts to read it");
    }

    private static MemorySegment header(AdminClient admin) throws IOException {
        return admin.logPage(LogPage.DISCOVERY, 0, false, 0, DiscoveryLogPage.HEADER_BYTES)
                .data();
    }

    private static MemorySegment readPieces(AdminClient admin, MemorySegment header, int total) throws IOException {
        MemorySegment page = MemorySegment.ofArray(new byte[total]);
        MemorySegment.copy(header, 0, page, 0, DiscoveryLogPage.HEADER_BYTES);
        for (int at = DiscoveryLogPage.HEADER_BYTES; at < total; at += PIECE_BYTES) {
            int length = Math.min(PIECE_BYTES, total - at);
            MemorySegment piece =
                    admin.logPage(LogPage.DISCOVERY, 0, false, at, length).data();
            MemorySegment.copy(piece, 0, page, at, length);
        }
        return page;
    }
}
