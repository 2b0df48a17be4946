package org.nvmf4j.pcie.nvme;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;
import java.util.logging.Handler;
import java.util.logging.Level;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.nvmf4j.nvme.AsyncEvent;
import org.nvmf4j.nvme.LbaFormat;
import org.nvmf4j.nvme.NvmeStatus;
import org.nvmf4j.target.spi.BackendLane;
import org.nvmf4j.target.spi.BackendMapping;
import org.nvmf4j.target.spi.BackendOperation;
import org.nvmf4j.target.spi.BackendStatus;

/** Namespaces that somebody formats, resizes or detaches while they are exported. */
class NvmeNamespaceChangeTest {
    private static final int MEMORY_BYTES = 2 << 20;
    private static final int CHANGED = NvmeStatus.INVALID_NAMESPACE_OR_FORMAT | NvmeStatus.DNR;

    private static final Logger TROUBLE = Logger.getLogger(NvmeBackend.class.getName());

    private final List<LogRecord> told = new ArrayList<>();
    private final Handler listener = new Handler() {
        @Override
        public void publish(LogRecord line) {
            told.add(line);
        }

        @Override
        public void flush() {}

        @Override
        public void close() {}
    };

    private final SimulatedNvme device = new SimulatedNvme(1);
    private final MemorySegment memory = Arena.ofAuto().allocate(MEMORY_BYTES, 4096);

    @SuppressWarnings("NullAway.Init")
    private NvmeBackend backend;

    @SuppressWarnings("NullAway.Init")
    private BackendLane lane;

    @SuppressWarnings("NullAway.Init")
    private BackendMapping mapping;

    @BeforeEach
    void start() throws IOException {
        TROUBLE.addHandler(listener);
        TROUBLE.setUseParentHandlers(false);
        backend = (NvmeBackend) SimulatedDrives.backend(device);
        lane = backend.openLane(() -> {});
        mapping = lane.map(memory, null);
        memory.fill((byte) 0x5a);
        device.meanwhile = this::poll;
        assertThat(await(started(BackendOperation.WRITE, 0, 4096))).isEqualTo(BackendStatus.SUCCESS);
    }

    @AfterEach
    void givesEverythingBack() {
        mapping.close();
        lane.close();
        backend.close();
        assertThat(device.allocations()).isZero();
        TROUBLE.removeHandler(listener);
        TROUBLE.setUseParentHandlers(true);
    }

    private void poll() {
        lane.poll(device.nanoTime());
    }

    private LaneRequest started(BackendOperation operation, long at, long length) {
        LaneRequest request = new LaneRequest(memory, at);
        request.start(lane, mapping, operation, at, length, false);
        return request;
    }

    private BackendStatus await(LaneRequest request) {
        for (int i = 0; request.isUnderWay(); i++) {
            assertThat(i).as("pauses").isLessThan(100_000);
            device.pause();
            backend.drive().lookAfter();
        }
        return request.status();
    }

    private void awaitChanged(LaneRequest request) {
        assertThat(await(request)).isEqualTo(BackendStatus.DEVICE_STATUS);
        assertThat(NvmeStatus.describe(request.deviceStatus())).isEqualTo(NvmeStatus.describe(CHANGED));
    }

    private void format(int lbads) {
        device.namespace.lbaFormat(0, new LbaFormat(0, lbads, 0)).nsze(SimulatedNvme.BLOCKS >>> (lbads - 9));
    }

    /** The drive reports a change, and the driver hears of it. */
    private void report() {
        while (!device.raise(AsyncEvent.NAMESPACE_ATTRIBUTE_CHANGED)) {
            device.pause();
        }
        int pages = device.logPages;
        backend.drive().lookAfter();
        assertThat(device.logPages).isEqualTo(pages + 1);
    }

    private void assertThatNothingHappens(Runnable requests) {
        memory.fill((byte) 0x33);
        byte[] blocks = device.medium().bytes().clone();
        int commands = device.medium().commands();
        requests.run();
        assertThat(device.medium().commands()).isEqualTo(commands);
        assertThat(device.medium().bytes()).isEqualTo(blocks);
        assertThat(memory.toArray(ValueLayout.JAVA_BYTE)).containsOnly(0x33);
    }

    @ParameterizedTest
    @EnumSource(BackendOperation.class)
    void usesANamespaceNoMoreThatHasAnotherBlockSize(BackendOperation operation) {
        format(12);
        report();
        assertThatNothingHappens(() -> awaitChanged(started(operation, 0, 8192)));
        format(9);
        report();
        assertThatNothingHappens(() -> awaitChanged(started(operation, 0, 8192))); // what it held has gone all the same
        assertThat(told).hasSize(1);
    }

    @Test
    void endsRequestsThatWaitForRoom() {
        device.meanwhile = () -> {};
        LaneRequest[] requests = new LaneRequest[200]; // the controller's queue has 64 entries
        int before = device.medium().commands();
        for (int i = 0; i < requests.length; i++) {
            requests[i] = started(BackendOperation.READ, i * 4096L, 4096);
        }
        while (device.medium().commands() < before + 63) {
            device.pause();
        }
        format(12);
        report();
        device.meanwhile = this::poll;
        assertThatNothingHappens(() -> {
            for (LaneRequest request : requests) {
                awaitChanged(request);
            }
        });
    }

    @Test
    void identifiesNamespacesAfterAResetBeforeLanesGoOn() {
        format(12);
        List<LaneRequest> late = new ArrayList<>();
        device.meanwhile = () -> {
            poll();
            if (backend.drive().controller().resets() > 0 && late.size() < 100) {
                late.add(started(BackendOperation.READ, 0, 4096));
            }
        };
        assertThatNothingHappens(() -> {
            device.resetFunction();
            while (late.size() < 100) {
                device.pause();
                backend.drive().lookAfter();
            }
            late.forEach(this::awaitChanged);
        });
        assertThat(backend.drive().controller().resets()).isOne();
        assertThat(told).hasSize(1);
    }

    /** Bytes of metadata, the block size as a power of two, blocks, whether the drive refuses to identify it, and what is said. */
    @ParameterizedTest
    @CsvSource({
        "0,12,512,false,it had blocks of 512 bytes and has blocks of 4096",
        "0,9,4095,false,it had 4096 blocks and has 4095",
        "0,9,0,false,namespace 1 of drive 0000:04:00.0 is not there any more: it was detached or deleted just now",
        "8,9,4096,false,namespace 1 of drive 0000:04:00.0 has 8 bytes of metadata with each block",
        "0,13,256,false,namespace 1 of drive 0000:04:00.0 has blocks of 8192 bytes",
        "0,9,4096,true,Identify"
    })
    void saysWhatHasChanged(int ms, int lbads, long blocks, boolean refused, String what) {
        device.namespace.lbaFormat(0, new LbaFormat(ms, lbads, 0)).nsze(blocks);
        device.refusesNamespace = refused;
        report();
        report();
        assertThatNothingHappens(() -> awaitChanged(started(BackendOperation.WRITE, 4096, 4096)));
        assertThat(told).hasSize(1);
        assertThat(told.getFirst().getLevel()).isEqualTo(Level.SEVERE);
        assertThat(told.getFirst().getMessage())
                .startsWith("drive 0000:04:00.0, namespace 1 has changed, and its requests fail from now on: " + what)
                .endsWith("; start the target again to export it as it is");
    }

    @Test
    void goesOnWithANamespaceThatHasGrown() {
        report();
        assertThat(told).isEmpty();
        device.namespace.nsze(SimulatedNvme.BLOCKS * 2);
        report();
        report();
        assertThat(await(started(BackendOperation.READ, 4096, 4096))).isEqualTo(BackendStatus.SUCCESS);
        assertThat(backend.sizeBytes()).isEqualTo(SimulatedNvme.BLOCKS * 512L);
        assertThat(told).hasSize(1);
        assertThat(told.getFirst().getMessage())
                .isEqualTo("drive 0000:04:00.0, namespace 1 has 8192 blocks now, of which 4096 are exported;"
                        + " start the target again to export all");
    }
}
