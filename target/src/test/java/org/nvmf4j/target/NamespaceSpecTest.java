package org.nvmf4j.target;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import java.util.UUID;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.nvmf4j.target.NamespaceSpec.Kind;
import org.nvmf4j.target.backend.FileBackend;
import org.nvmf4j.target.backend.FileBackendOptions;
import org.nvmf4j.target.backend.FileBackendOptions.DirectIo;
import org.nvmf4j.target.spi.PeerClient;

class NamespaceSpecTest {
    @Test
    void readsEveryKind() {
        NamespaceSpec nul = NamespaceSpec.parse("null:1G");
        assertThat(nul.kind()).isEqualTo(Kind.NULL);
        assertThat(nul.sizeBytes()).isEqualTo(1L << 30);
        NamespaceSpec mem = NamespaceSpec.parse("mem:512M,bs=4096,nsid=7,ro,uuid=11111111-2222-3333-4444-555555555555");
        assertThat(mem.sizeBytes()).isEqualTo(512L << 20);
        assertThat(mem.blockSizeBytes()).isEqualTo(4096);
        assertThat(mem.nsid()).isEqualTo(7);
        assertThat(mem.readOnly()).isTrue();
        assertThat(mem.uuid()).isEqualTo(UUID.fromString("11111111-2222-3333-4444-555555555555"));
        NamespaceSpec file = NamespaceSpec.parse("file:/srv/a,,b.img,size=4k,direct=off,threads=2");
        assertThat(file.path()).isEqualTo(Path.of("/srv/a,b.img"));
        assertThat(file.sizeBytes()).isEqualTo(4096);
        assertThat(file.directIo()).isEqualTo(DirectIo.OFF);
        assertThat(file.threads()).isEqualTo(2);
    }

    @Test
    void readsThePeerMemory() {
        assertThat(NamespaceSpec.parse("mem:1M").peerMemory()).isEqualTo(PeerMemoryChoice.OFF);
        assertThat(NamespaceSpec.parse("mem:1M,p2pmem=0").peerMemory()).isEqualTo(PeerMemoryChoice.OFF);
        assertThat(NamespaceSpec.parse("mem:1M,p2pmem=1").peerMemory()).isEqualTo(PeerMemoryChoice.AUTO);
        assertThat(NamespaceSpec.parse("mem:1M,p2pmem=03:00.0,ro").peerMemory())
                .isEqualTo(PeerMemoryChoice.parse("0000:03:00.0"));
    }

    @Test
    void knowsWhoMovesTheData(@TempDir Path folder) throws IOException {
        Path file = Files.createFile(folder.resolve("disk.img"));
        Files.write(file, new byte[4096]);
        assertThat(NamespaceSpec.parse("file:" + file).peerClient()).isEqualTo(new PeerClient.File(file));
        assertThat(NamespaceSpec.parse("mem:1M").peerClient()).isInstanceOf(PeerClient.Cpu.class);
        NamespaceSpec buffered = NamespaceSpec.parse("file:" + file + ",direct=off");
        Namespace namespace = buffered.open(1);
        try (var backend = namespace.backend()) {
            assertThat(backend.peerClient()).isEqualTo(buffered.peerClient()).isInstanceOf(PeerClient.Cpu.class);
        }
    }

    @ParameterizedTest
    @CsvSource({"4096,4096", "4k,4096", "4K,4096", "1KiB,1024", "3m,3145728", "2T,2199023255552"})
    void readsSizes(String text, long bytes) {
        assertThat(NamespaceSpec.parse("null:" + text).sizeBytes()).isEqualTo(bytes);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '`',
            value = {
                "disk.img | does not say what it is",
                "ram:1G | does not say what it is",
                "mem: | has no size",
                "mem | has no size",
                "file: | has no path",
                "mem:lots | 'lots' is not a size",
                "mem:-1 | 'mem:-1': '-1' is not a size",
                "mem:99999999999P | is not a size",
                "pcie: | has no PCI address; as in pcie:0000:04:00.0",
                "pcie:4 | '4' is no PCI address",
                "pcie:04:00.0/0 | '04:00.0/0' is no PCI address, or one with the number of a namespace",
                "pcie:04:00.0/x | is no PCI address",
                "pcie:04:00.0,size=1G | 'size=1G' is not an option here",
                "pcie:04:00.0,use_cmb_sqs=2 | use_cmb_sqs=2 is neither 0 nor 1",
                "pcie:04:00.0,use_cmb_sqs | use_cmb_sqs= is neither 0 nor 1",
                "mem:1G,use_cmb_sqs=1 | 'use_cmb_sqs=1' is not an option here",
                "file:x,use_cmb_sqs=0 | 'use_cmb_sqs=0' is not an option here",
                "mem:0 | holds no block",
                "mem:1000 | the next one is 1024",
                "mem:512,bs=4096 | the next one is 4096",
                "mem:1G,p2pmem=2 | 'mem:1G,p2pmem=2': p2pmem=2 is neither 0 (off)",
                "mem:1G,bs=1024 | neither 512 nor 4096",
                "mem:1G,nsid=0 | not a number from 1 to 1024",
                "mem:1G,nsid=x | not a number from 1 to 1024",
                "mem:1G,uuid=1-2 | is not a UUID",
                "mem:1G,ro=1 | 'ro=1' is not an option here",
                "mem:1G,direct=on | 'direct=on' is not an option here",
                "mem:1G,colour=red | 'colour=red' is not an option here",
                "file:x,direct=maybe | neither auto, on nor off",
                "mem:1G, | '' is not an option here"
            })
    void saysWhatIsWrong(String text, String message) {
        assertThatThrownBy(() -> NamespaceSpec.parse(text))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining(message);
    }

    @Test
    void readsDrives() throws IOException {
        NamespaceSpec spec = NamespaceSpec.parse("pcie:0A:00.1/3,p2pmem=1,ro,use_cmb_sqs=1");
        assertThat(spec.drive()).isEqualTo(new NamespaceSpec.Drive("0000:0a:00.1", 3, true));
        assertThat(spec.peerMemory()).isEqualTo(PeerMemoryChoice.AUTO);
        assertThat(spec.readOnly()).isTrue();
        assertThat(spec.peerClient()).isEqualTo(new PeerClient.PciFunction("0000:0a:00.1", "the drive"));
        assertThat(NamespaceSpec.parse("pcie:0001:04:00.0").drive())
                .isEqualTo(new NamespaceSpec.Drive("0001:04:00.0", 0, false))
                .isEqualTo(
                        NamespaceSpec.parse("pcie:0001:04:00.0,use_cmb_sqs=0").drive());
        UUID identity = new UUID(1, 2);
        Namespace namespace = spec.open(7, (address, nsid, useCmbSqs) -> {
            assertThat(new NamespaceSpec.Drive(address, nsid, useCmbSqs)).isEqualTo(spec.drive());
            return new PolledMemory(1 << 20, 1) {
                @Override
                public Optional<UUID> identity() {
                    return Optional.of(identity);
                }
            };
        });
        assertThat(namespace.uuid()).isEqualTo(identity);
        namespace.backend().close();
        assertThatThrownBy(() -> spec.open(7)).hasMessageContaining("this program opens no drives");
    }

    @Test
    void opensAFileUnderTheSameUuidEachTime(@TempDir Path folder) throws IOException {
        NamespaceSpec spec = NamespaceSpec.parse("file:" + folder.resolve("disk.img") + ",size=1M");
        Namespace first = spec.open(3);
        first.backend().close();
        Namespace second = spec.open(3);
        second.backend().close();
        assertThat(first.nsid()).isEqualTo(3);
        assertThat(first.blocks() * first.blockSizeBytes()).isEqualTo(1 << 20);
        if (Files.isReadable(Path.of("/etc/machine-id"))) {
            assertThat(second.uuid()).isEqualTo(first.uuid());
        }
    }

    @Test
    void refusesBlocksThatTheBackendCannotServe(@TempDir Path folder) throws IOException {
        FileBackendOptions options = FileBackendOptions.DEFAULT.withCreateSizeBytes(1 << 20);
        try (FileBackend file = FileBackend.open(folder.resolve("disk.img"), options)) {
            Namespace.Builder builder = Namespace.builder(1, file).blockSizeBytes(512);
            if (file.directIo()) {
                assertThatThrownBy(builder::build).hasMessageContaining("serves blocks of 4096 bytes, not of 512");
            } else {
                assertThat(builder.build().blockSizeBytes()).isEqualTo(512);
            }
        }
    }
}
