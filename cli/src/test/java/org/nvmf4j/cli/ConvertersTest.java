package org.nvmf4j.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.nvmf4j.verbs.FaultOptions;
import picocli.CommandLine.TypeConversionException;

class ConvertersTest {
    @ParameterizedTest
    @CsvSource({
        "4096,4096",
        "4k,4096",
        "4K,4096",
        "4KiB,4096",
        "64m,67108864",
        "1G,1073741824",
        "2T,2199023255552",
        "0,0"
    })
    void readsSizesAsFioDoes(String text, long bytes) {
        assertThat(Sizes.parse(text)).isEqualTo(bytes);
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "k", "-1", "4x", "1.5G", "9999999999T", "4 k b"})
    void refusesWhatIsNoSize(String text) {
        assertThatThrownBy(() -> Sizes.parse(text))
                .isInstanceOf(TypeConversionException.class)
                .hasMessageContaining("no size");
    }

    @ParameterizedTest
    @CsvSource({"4096,4K", "1073741824,1G", "4097,4097", "0,0", "1536,1536", "2199023255552,2T"})
    void writesSizesInTheLargestWholeUnit(long bytes, String text) {
        assertThat(Sizes.format(bytes)).isEqualTo(text);
    }

    @Test
    void readsFaults() throws Exception {
        assertThat(new FaultsConverter().convert("seed=7,loss=1%,reorder=0.5"))
                .isEqualTo(new FaultOptions(0.01, 0, 0.5, 0, 7));
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "loss", "loss=2", "loss=-1", "loss=NaN", "lost=1", "seed=x", "loss=1%,"})
    void refusesWhatIsNoFault(String text) {
        assertThatThrownBy(() -> new FaultsConverter().convert(text))
                .isInstanceOf(TypeConversionException.class)
                .hasMessageContaining("no fault");
    }
}
