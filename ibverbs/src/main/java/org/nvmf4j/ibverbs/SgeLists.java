package org.nvmf4j.ibverbs;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import org.nvmf4j.verbs.WorkRequest;

/** The scatter/gather lists of a chain of work requests, as {@code struct ibv_sge}: one list for each place in the chain. */
final class SgeLists {
    private final MemorySegment sges;
    private final long bytesPerList;

    SgeLists(int lists, int maxSge) {
        bytesPerList = (long) maxSge * Abi.IbvSge.SIZE;
        sges = Arena.ofAuto().allocate(lists * bytesPerList, 8);
    }

    long address(int list) {
        return sges.address() + list * bytesPerList;
    }

    /** Takes a work request's list without those of length 0, which to some devices mean 2 GiB; gives how many there are. */
    int set(int list, WorkRequest request) {
        long at = list * bytesPerList;
        int count = 0;
        for (int i = 0; i < request.sgeCount(); i++) {
            int length = request.sgeLength(i);
            if (length != 0) {
                long address = request.sgeSegment(i).address() + request.sgeOffset(i);
                set(at, address, length, request.sgeLkey(i));
                at += Abi.IbvSge.SIZE;
                count++;
            }
        }
        return count;
    }

    /** Makes a list of one element. */
    void setOne(int list, long address, int length, int lkey) {
        set(list * bytesPerList, address, length, lkey);
    }

    private void set(long at, long address, int length, int lkey) {
        sges.set(ValueLayout.JAVA_LONG, at + Abi.IbvSge.ADDR, address);
        sges.set(ValueLayout.JAVA_INT, at + Abi.IbvSge.LENGTH, length);
        sges.set(ValueLayout.JAVA_INT, at + Abi.IbvSge.LKEY, lkey);
    }
}
