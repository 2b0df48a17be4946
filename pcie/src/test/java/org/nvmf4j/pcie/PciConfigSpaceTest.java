package org.nvmf4j.pcie;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Arrays;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import org.junit.jupiter.api.Test;

class PciConfigSpaceTest {
    @Test
    void knowsNothingOfWhatItMayNotSee() {
        assertThat(new PciConfigSpace(new byte[0]).acs().isUnknown()).isTrue();
        assertThat(new PciConfigSpace(new byte[64]).acs().isUnknown()).isTrue();
        assertThat(new PciConfigSpace(new byte[64]).portType()).isEqualTo(-1);
    }

    @Test
    void knowsThatConventionalFunctionsHaveNoAcs() {
        assertThat(new PciConfigSpace(new byte[256]).acs()).isEqualTo(AcsControl.ABSENT);
    }

    @Test
    void takesOnesForAFunctionThatIsGone() {
        byte[] ones = new byte[4096];
        Arrays.fill(ones, (byte) -1);
        assertThat(new PciConfigSpace(ones).acs().isUnknown()).isTrue();
    }

    @Test
    void knowsNothingOfWhatAnArchiveFilledUp() {
        byte[] config = new byte[4096];
        config[6] = 0x10;
        config[0x34] = 0x40;
        assertThat(new PciConfigSpace(config).acs().isUnknown()).isTrue();
        config[0x40] = 5;
        assertThat(new PciConfigSpace(config).acs()).isEqualTo(AcsControl.ABSENT);
    }

    @Test
    void comesToAnEndWithListsThatRunInCircles() {
        byte[] config = new byte[4096];
        config[6] = 0x10;
        config[0x34] = 0x40;
        config[0x41] = 0x40;
        config[0x100] = 1;
        config[0x103] = 0x10; // next is 0x100 again
        assertThat(new PciConfigSpace(config).portType()).isEqualTo(-1);
        assertThat(new PciConfigSpace(config).acs()).isEqualTo(AcsControl.ABSENT);
    }

    @Property
    void readsAnyBytes(@ForAll byte[] start, @ForAll byte[] extended) {
        byte[] config = Arrays.copyOf(start, 4096);
        System.arraycopy(extended, 0, config, 0x100, Math.min(extended.length, 0xf00));
        for (int length : new int[] {0, 64, 256, 257, 300, 4096}) {
            PciConfigSpace space = new PciConfigSpace(Arrays.copyOf(config, length));
            assertThat(space.portType()).isBetween(-1, 15);
            boolean hidden = length < 256 || (config[0] == -1 && config[1] == -1);
            assertThat(space.acs().isUnknown() || !hidden).isTrue();
        }
    }

    @Test
    void tellsAcsBitsApart() {
        assertThat(new AcsControl(AcsControl.State.PRESENT, 0x04).requestRedirect())
                .isTrue();
        assertThat(new AcsControl(AcsControl.State.PRESENT, 0x08).completionRedirect())
                .isTrue();
        assertThat(new AcsControl(AcsControl.State.PRESENT, 0x20).egressControl())
                .isTrue();
        AcsControl rest = new AcsControl(AcsControl.State.PRESENT, 0x53);
        assertThat(rest.upstreamForwarding()).isTrue();
        assertThat(rest.redirects()).isFalse();
    }
}
