package org.nvmf4j.target;

import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.nvmf4j.target.spi.PeerClient;
import org.nvmf4j.target.spi.PeerMemory;
import org.nvmf4j.target.spi.PeerMemoryProvider;
import org.nvmf4j.target.spi.Reach;

/** A machine whose peer memories everybody reaches over PCI, at distance 4, unless it is told otherwise. */
final class FakePeerMachine implements PeerMemoryProvider {
    private final List<FakePeerMemory> memories = new CopyOnWriteArrayList<>();
    volatile Reach reach = Reach.peerToPeer(4);

    FakePeerMachine(FakePeerMemory... memories) {
        this.memories.addAll(List.of(memories));
    }

    /** The device goes, and is not found any more. */
    void unplug(FakePeerMemory memory) {
        memory.vanish();
        memories.remove(memory);
    }

    void plug(FakePeerMemory memory) {
        memories.add(memory);
    }

    @Override
    public List<FakePeerMemory> memories() {
        return List.copyOf(memories);
    }

    @Override
    public Reach reach(PeerMemory memory, PeerClient client) {
        return reach;
    }
}
