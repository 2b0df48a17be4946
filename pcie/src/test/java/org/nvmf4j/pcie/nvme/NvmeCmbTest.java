package org.nvmf4j.pcie.nvme;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.nvmf4j.nvme.IoOpcode;
import org.nvmf4j.nvme.ReadWriteCommand;

class NvmeCmbTest {
    private static final int BYTES = 48 << 10;

    private final SimulatedNvme device = new SimulatedNvme(1);
    private final SimulatedCmb bars = new SimulatedCmb();

    private NvmeCmb find() throws IOException {
        device.cmb = bars;
        return Objects.requireNonNull(NvmeCmb.find(device, bars));
    }

    /** The end of the last command. */
    private int ended = -1;

    private void execute(NvmeController controller, NvmeIoQueue io, int opcode, long address) throws IOException {
        device.meanwhile = () -> io.poll(device.nanoTime(), (slot, status, result) -> ended = status);
        while (!io.isRunning()) {
            controller.lookAfter();
            device.pause();
        }
        NvmeQueue queue = io.queue();
        int slot = queue.take();
        ended = -1;
        ReadWriteCommand.write(queue.commands(), queue.commandAt(), opcode, slot, 1, 9, BYTES / 512, false);
        queue.data(slot, address, BYTES);
        queue.submit(slot, device.nanoTime() + 5_000_000_000L);
        queue.ring();
        while (ended < 0) {
            device.pause();
            controller.lookAfter();
        }
        assertThat(ended).isZero();
    }

    /** CAP.CMBS and whether CBA is heeded: controllers of 1.4, QEMU's legacy-cmb=on, controllers before 1.4. */
    @ParameterizedTest
    @CsvSource({"true,false,0", "true,false,1", "true,true,0", "false,true,2"})
    void dataPassesThroughIt(boolean controlled, boolean legacy, int sgls) throws IOException {
        device.sgls = sgls;
        bars.controlled = controlled;
        bars.legacy = legacy;
        NvmeCmb cmb = find();
        assertThat(cmb.description().takesData()).isTrue();
        assertThat(cmb.busAddress()).isEqualTo(SimulatedCmb.BAR_ADDRESS);
        assertThat(cmb.segment().byteSize()).isEqualTo(SimulatedCmb.BYTES);
        try (NvmeController controller = NvmeController.start(device, device, device, cmb)) {
            NvmeIoQueue queue = controller.openQueue(8, () -> {});
            byte[] data = new byte[BYTES];
            new Random(7).nextBytes(data);
            MemorySegment.copy(MemorySegment.ofArray(data), 0, cmb.segment(), 4096, BYTES);
            execute(controller, queue, IoOpcode.WRITE, cmb.busAddress() + 4096);
            assertThat(Arrays.copyOfRange(device.medium().bytes(), 9 * 512, 9 * 512 + BYTES))
                    .isEqualTo(data);
            controller.reset();
            bars.memory().fill((byte) 0);
            execute(controller, queue, IoOpcode.READ, cmb.busAddress());
            assertThat(cmb.segment().asSlice(0, BYTES).toArray(ValueLayout.JAVA_BYTE))
                    .isEqualTo(data);
            assertThat(device.described).isEqualTo(sgls == 0 ? 0 : 2);
        }
        cmb.close();
        cmb.close();
        assertThat(bars.maps).isZero();
    }

    @Test
    void aControllerThatForgotItInAResetIsToldAgain() throws IOException {
        NvmeCmb cmb = find();
        try (NvmeController controller = NvmeController.start(device, device, device, cmb)) {
            assertThat(bars.covers(SimulatedCmb.BAR_ADDRESS, BYTES)).isTrue();
            bars.control(0);
            controller.reset();
            assertThat(bars.covers(SimulatedCmb.BAR_ADDRESS, BYTES)).isTrue();
        }
        cmb.close();
    }

    /** Data that came before the reset or during it are lost, and somebody may look at any time. */
    @Test
    void aResetLosesWhatIsInItFromItsBeginningToItsEnd() throws IOException {
        NvmeCmb cmb = find();
        try (NvmeController controller = NvmeController.start(device, device, device, cmb)) {
            long before = cmb.losses();
            List<Long> during = new ArrayList<>();
            bars.onForget = () -> during.add(cmb.losses());
            controller.reset();
            assertThat(during).isNotEmpty().allMatch(losses -> losses > before && losses < cmb.losses());
            bars.onForget = () -> {};
        }
        cmb.close();
    }

    @Test
    void manyControllersHaveNone() throws IOException {
        assertThat(NvmeCmb.find(device, bars)).isNull();
        device.cmb = bars;
        bars.cmbsz = 0;
        assertThat(NvmeCmb.find(device, bars)).isNull();
        device.removed = true;
        assertThat(NvmeCmb.find(device, bars)).isNull();
        assertThat(bars.maps).isZero();
    }

    /** CMBLOC, bytes of the BAR, and what of the 64 KiB buffer can be used. */
    @ParameterizedTest
    @CsvSource({"0x1002, 65536, 61440", "2, 61440, 61440", "2, 61439, 57344", "0x2002, 16384, 8192"})
    void oneThatIsLargerThanItsBarEndsWithIt(int cmbloc, long barBytes, long usable) throws IOException {
        bars.cmbloc = cmbloc;
        bars.barBytes = barBytes;
        NvmeCmb cmb = find();
        assertThat(cmb.sizeBytes()).isEqualTo(usable).isEqualTo(cmb.segment().byteSize());
        assertThat(cmb.description().sizeBytes()).isEqualTo(SimulatedCmb.BYTES);
        cmb.close();
        assertThat(bars.maps).isZero();
    }

    @ParameterizedTest
    @CsvSource({"0x10002, 65536", "0x11002, 65536", "2, 4095", "3, 65536"})
    void oneThatHasNoPageInItsBarIsRefused(int cmbloc, long barBytes) {
        bars.cmbloc = cmbloc;
        bars.barBytes = barBytes;
        assertThatThrownBy(this::find)
                .isInstanceOf(NvmeDeviceException.class)
                .hasMessageStartingWith("a controller memory buffer of 65536 bytes at offset ")
                .hasMessageContaining(" has no room in BAR ");
        assertThat(bars.maps).isZero();
    }

    @Test
    void oneWithoutMeaningIsRefused() {
        bars.cmbloc = 6;
        assertThatThrownBy(this::find).isInstanceOf(IOException.class).hasMessageContaining("CMBLOC 0x6");
    }

    @Test
    void oneWhoseAddressTheControllerRefusesIsNotUsed() {
        bars.refusesAddress = true;
        assertThatThrownBy(this::find)
                .hasMessage("the controller does not take 0x3800000000 for the address of its memory buffer"
                        + " (CMBSTS.CBAI)");
        assertThat(bars.maps).isZero();
    }
}
