package org.nvmf4j.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import picocli.CommandLine;

class DecodeCommandTest {
    private static final Path CAPTURES = Path.of("..", "roce", "src", "test", "resources", "captures");

    private final StringWriter out = new StringWriter();
    private final StringWriter err = new StringWriter();

    private int nvmf(String... arguments) {
        CommandLine command = Main.commandLine();
        command.setOut(new PrintWriter(out));
        command.setErr(new PrintWriter(err));
        return command.execute(arguments);
    }

    static List<Path> captures() throws IOException {
        try (Stream<Path> files = Files.list(CAPTURES)) {
            return files.filter(file -> file.toString().endsWith(".pcap"))
                    .sorted()
                    .toList();
        }
    }

    @ParameterizedTest
    @MethodSource("captures")
    void findsEveryIcrcOfTheKernelsPacketsRight(Path capture) {
        assertThat(nvmf("decode", capture.toString())).isZero();
        assertThat(out.toString()).contains(" 0 wrong, 0 cut short");
    }

    @Test
    void namesTheNvmeCommandsOfAConnection() {
        nvmf("decode", CAPTURES.resolve("b-connect.pcap").toString());
        assertThat(out.toString())
                .contains("REQ")
                .contains("NVMe/RDMA qid 0 hrqsize 32 hsqsize 31 cntlid 0")
                .contains("qid 0 ")
                .contains("Connect")
                .contains("Identify")
                .contains("Keep Alive");
    }

    @Test
    void tellsAWrongIcrc(@TempDir Path folder) throws IOException {
        byte[] bytes = Files.readAllBytes(CAPTURES.resolve("c1-write4k.pcap"));
        bytes[bytes.length - 3] ^= 4;
        Path damaged = Files.write(folder.resolve("damaged.pcap"), bytes);
        assertThat(nvmf("decode", damaged.toString())).isEqualTo(1);
        assertThat(out.toString()).contains("WRONG ICRC").contains(", 1 wrong");
    }

    @Test
    void saysInOneLineWhatIsNoCapture(@TempDir Path folder) throws IOException {
        Path text = Files.writeString(folder.resolve("notes.txt"), "hello there, this is no capture");
        assertThat(nvmf("decode", text.toString())).isEqualTo(1);
        assertThat(err.toString().lines()).singleElement().asString().contains("not a pcap or pcapng file");
    }

    @Test
    void saysInOneLineThatAFileIsMissing() {
        assertThat(nvmf("decode", "/nonexistent.pcap")).isEqualTo(1);
        assertThat(err.toString().lines()).singleElement().asString().contains("no such file: /nonexistent.pcap");
    }
}
