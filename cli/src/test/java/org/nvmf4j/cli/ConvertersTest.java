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
    @ValueSource(strings = {"", "loss", "loss=-1", "loss=NaN", "lost=1", "corrupt=101%", "seed=x", "loss=1%,"})
    void refusesWhatIsNoFault(String text) {
        assertThatThrownBy(() -> new FaultsConverter().convert(text))
                .isInstanceOf(TypeConversionException.class)
                .hasMessageContaining("no fault");
    }

    @ParameterizedTest
    @ValueSource(strings = {"loss=1", "loss=5", "duplicate=1.0", "loss=0.1,corrupt=100"})
    void refusesFaultsThatForgetThePercentSign(String text) {
        assertThatThrownBy(() -> new FaultsConverter().convert(text))
                .isInstanceOf(TypeConversionException.class)
                .hasMessageContaining("write 1% or 0.01");
    }

    @ParameterizedTest
    @CsvSource({
        "10,10000",
        "10s,10000",
        "0.5,500",
        "1.5S,1500",
        "500ms,500",
        "500msec,500",
        "2m,120000",
        "2min,120000",
        "1h,3600000",
        "1d,86400000",
        "0,0"
    })
    void readsTimesAsFioDoes(String text, long millis) {
        assertThat(new Durations().convert(text)).isEqualTo(millis);
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "s", "-1", "1y", "1us", "0.5ms", "1e3", "99999d", "1 2", "1:30"})
    void refusesWhatIsNoTime(String text) {
        assertThatThrownBy(() -> new Durations().convert(text))
                .isInstanceOf(TypeConversionException.class)
                .hasMessageContaining("no time");
    }

    @ParameterizedTest
    @CsvSource({"1,1", "0x1,1", "0xff,255", "010,10", "4294967294,-2"})
    void readsNamespaceIds(String text, int nsid) {
        assertThat(NsidConverter.parse(text)).isEqualTo(nsid);
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "0", "-1", "x", "0x", "4294967295", "1.0"})
    void refusesWhatIsNoNamespaceId(String text) {
        assertThatThrownBy(() -> NsidConverter.parse(text))
                .isInstanceOf(TypeConversionException.class)
                .hasMessageContaining("no namespace ID");
    }

    @Test
    void readsListsOfCpus() {
        assertThat(CpuList.parse("0")).containsExactly(0);
        assertThat(CpuList.parse("4,0-2")).containsExactly(4, 0, 1, 2);
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "x", "1,", "2-1", "1-", "-1", "0-999999"})
    void refusesWhatIsNoListOfCpus(String text) {
        assertThatThrownBy(() -> CpuList.parse(text)).hasMessageContaining("--cpus_allowed");
    }

    @ParameterizedTest
    @CsvSource({"127.0.0.1,-1", "::1,-1", "[::1],-1", "host,-1", "127.0.0.1:4420,10", "[::1]:1,6", "host:1,5", "'',-1"})
    void findsThePort(String address, int index) {
        assertThat(Addresses.portIndex(address)).isEqualTo(index);
    }
}
