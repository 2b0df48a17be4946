package org.nvmf4j.pcie;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class PciAddressTest {
    @Test
    void readsBothWaysOfWritingIt() {
        assertThat(PciAddress.parse("0000:03:1f.7")).isEqualTo(new PciAddress(0, 3, 31, 7));
        assertThat(PciAddress.parse("0A:00.0")).hasToString("0000:0a:00.0");
        assertThat(PciAddress.parse("10000:e1:00.0")).hasToString("10000:e1:00.0");
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "03:00", "0000:03:20.0", "0000:03:00.8", "000:03:00.0", "0000:03:00.0 ", "nvme0"})
    void refusesWhatIsNoAddress(String text) {
        assertThat(PciAddress.find(text)).isEmpty();
        assertThatThrownBy(() -> PciAddress.parse(text))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("'" + text + "' is no PCI address; write it as 0000:03:00.0 or 03:00.0");
    }

    @Test
    void refusesNumbersOutOfRange() {
        assertThatThrownBy(() -> new PciAddress(0, 256, 0, 0)).isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> new PciAddress(0, 0, 32, 0)).isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> new PciAddress(0, 0, 0, -1)).isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> new PciAddress(0x10000000, 0, 0, 0)).isInstanceOf(IllegalArgumentException.class);
    }

    @Property
    void readsWhatItWroteAndOrdersByPosition(
            @ForAll @IntRange(max = 0xfffffff) int domain,
            @ForAll @IntRange(max = 255) int bus,
            @ForAll @IntRange(max = 31) int device,
            @ForAll @IntRange(max = 7) int function) {
        PciAddress address = new PciAddress(domain, bus, device, function);
        assertThat(PciAddress.parse(address.toString())).isEqualTo(address);
        assertThat(new PciAddress(domain, bus, device, 0)).isLessThanOrEqualTo(address);
        assertThat(new PciAddress(domain, 255, 31, 7)).isGreaterThanOrEqualTo(address);
    }
}
