package org.nvmf4j.pcie.vfio;

import java.util.ArrayList;
import java.util.List;
import org.nvmf4j.linux.EventCounter;
import org.nvmf4j.linux.LinuxException;

/** MSI-X vectors of a function, each counted. */
public final class VfioInterrupts implements AutoCloseable {
    private final VfioDevice device;
    private final List<EventCounter> counters = new ArrayList<>();

    VfioInterrupts(VfioDevice device, int count) throws LinuxException {
        this.device = device;
        boolean made = false;
        try {
            for (int i = 0; i < count; i++) {
                counters.add(new EventCounter());
            }
            made = true;
        } finally {
            if (!made) {
                closeCounters();
            }
        }
    }

    int[] descriptors() {
        return counters.stream().mapToInt(EventCounter::fd).toArray();
    }

    /** A vector's counter. */
    public EventCounter vector(int index) {
        return counters.get(index);
    }

    void closeCounters() {
        counters.forEach(EventCounter::close);
    }

    /** Gives the vectors back; the device's own close does it too. */
    @Override
    public void close() {
        device.release(this);
    }
}
