package org.nvmf4j.systemtest;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.FieldSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.nvmf4j.cli.Main;
import org.nvmf4j.verbs.AddressText;
import org.nvmf4j.verbs.Device;
import org.nvmf4j.verbs.DeviceOptions;
import picocli.CommandLine;

/**
 * What the command prints: help that fits a terminal, and of whatever is wrong one line that says what it is and what to do. The
 * commands run in this process, but for those where it matters.
 */
class CommandLineTest {
    private static final int COLUMNS = 120;
    private static final int NAMESPACE_BYTES = 64 << 10;
    private static final String NOBODY = "127.9.9.9";
    private static final String URI = "rdma://@NOBODY/@HERE";

    @TempDir
    static Path folder;

    private static TargetNode node;

    /** Words of a command line, its exit status, and what its one line must contain. */
    record Wrong(String arguments, int status, List<String> hints) {
        @Override
        public String toString() {
            return arguments;
        }
    }

    /** What makes no sense as it stands. */
    private static Wrong wrong(String arguments, String... hints) {
        return new Wrong(arguments, 2, List.of(hints));
    }

    /** What files, the network or the target do not allow. */
    private static Wrong failed(String arguments, String... hints) {
        return new Wrong(arguments, 1, List.of(hints));
    }

    /** {@code @FOLDER} is a folder, {@code @ADDR} and {@code @PORT} are a target's that is there, {@code @HERE} its NQN. */
    static final List<Wrong> WRONG_INPUT = List.of(
            wrong("bogus", "'bogus'", "serve, discover"),
            wrong("--bogus", "--bogus", "--help"),
            wrong("help bogus", "'bogus'", "--help"),
            wrong("serve", "--ns=SPEC"),
            wrong("serve --ns", "--ns"),
            wrong("serve --ns disk:1G", "'disk:1G'", "null:SIZE, mem:SIZE, file:PATH or pcie:BDF"),
            wrong("serve --ns mem", "mem:1G"),
            wrong("serve --ns mem:12x", "'12x'", "512M"),
            wrong("serve --ns mem:-1", "'-1'"),
            wrong("serve --ns mem:0", "mem:1G"),
            wrong("serve --ns mem:513", "512", "1024"),
            wrong("serve --ns mem:9999999999T", "9999999999T"),
            wrong("serve --ns mem:900000T", "memory", "null:SIZE"),
            wrong("serve --ns mem:1000T", "mem:", "1000TiB", "this machine has", "file:PATH"),
            wrong("serve --ns mem:600T,nsid=3 --ns mem:400T", "1000TiB", "this machine has"),
            failed("serve --ns file:@FOLDER/disk --ns file:@FOLDER/disk", "@FOLDER/disk", "once"),
            wrong("serve --ns mem:1M,bs=1000", "bs=1000", "512", "4096"),
            wrong("serve --ns mem:1M,nsid=0", "nsid=0", "1 to 1024"),
            wrong("serve --ns mem:1M,uuid=7", "uuid=7"),
            wrong("serve --ns mem:1M,size=5", "'size=5'"),
            wrong("serve --ns mem:1M,nsid=1 --ns mem:1M,nsid=1", "nsid 1", "taken"),
            wrong("serve --ns mem:1M,p2pmem=2", "p2pmem=2", "0 (off)", "0000:03:00.0"),
            wrong("serve --ns mem:1M --allow-raw-bar 03:00.0/resource2", "--allow-raw-bar", "p2pmem=1"),
            wrong("serve --ns mem:1M --sysfs @FOLDER", "--sysfs", "p2pmem=1"),
            wrong("serve --ns mem:1M,p2pmem=1 --allow-raw-bar 03:00.0", "'03:00.0'", "resource2"),
            failed("serve --ns mem:1M,p2pmem=1 --sysfs @FOLDER", "--sysfs @FOLDER", "folder bus"),
            failed("serve --listen 127.9.9.9 --ns mem:1M,p2pmem=ff:1f.7", "p2pmem=0000:ff:1f.7", "no such device"),
            wrong("serve --ns file:", "path"),
            failed("serve --ns file:@FOLDER/none", "@FOLDER/none", "size=SIZE"),
            failed("serve --ns file:@FOLDER/none/disk,size=1M", "@FOLDER/none/disk", "folder"),
            failed("serve --ns file:@FOLDER", "@FOLDER", "directory"),
            failed("serve --ns file:@FOLDER/tiny", "@FOLDER/tiny", "512", "truncate"),
            wrong("serve --ns mem:1M --listen 1.2.3.4.5", "'1.2.3.4.5'"),
            wrong("serve --ns mem:1M --listen [::1", "'[::1'", "[IPV6]:PORT"),
            wrong("serve --ns mem:1M --listen 127.9.9.9:0", "'127.9.9.9:0'", "1 to 65535"),
            wrong("serve --ns mem:1M --listen 127.9.9.9:65536", "'127.9.9.9:65536'", "1 to 65535"),
            wrong("serve --ns mem:1M --listen 127.9.9.9:x", "'127.9.9.9:x'", "ADDR:PORT"),
            wrong("serve --ns mem:1M --listen :4420", "':4420'", "ADDR:PORT"),
            wrong("serve --ns mem:1M --listen 0.0.0.0", "--listen", "0.0.0.0"),
            failed("serve --ns mem:1M --listen 240.0.0.77", "240.0.0.77", "127.0.0.1"),
            failed("serve --ns mem:1M --listen 224.0.0.1", "224.0.0.1"),
            wrong("serve --ns mem:1M --listen 127.9.9.9 --listen 127.9.9.8 --pcap @FOLDER/x", "--pcap", "--listen"),
            wrong("serve --ns mem:1M --nqn foo", "\"foo\"", "NQN", "nqn.2025-01.com.example:disk1"),
            wrong("serve --ns mem:1M --allow-host foo", "\"foo\"", "NQN"),
            wrong("serve --ns mem:1M --inline-data-size 16385", "--inline-data-size", "16384"),
            wrong("serve --ns mem:1M --inline-data-size 100", "--inline-data-size", "16"),
            wrong("serve --ns mem:1M --inline-data-size x", "--inline-data-size", "'x'"),
            wrong("serve --ns mem:1M --max-queue-size 1", "--max-queue-size", "2 to 1024"),
            wrong("serve --ns mem:1M --max-queue-size x", "--max-queue-size", "'x'"),
            wrong("serve --ns mem:1M --lanes 0", "--lanes", "1 to 64"),
            wrong("serve --ns mem:1M --provider foo", "'foo'", "softroce"),
            wrong("serve --ns mem:1M --path-mtu 1000", "path MTU", "1024"),
            wrong("serve --ns mem:1M --path-mtu x", "--path-mtu", "'x'"),
            wrong("serve --ns mem:1M --faults loss=2", "--faults", "'loss=2'", "1%", "0.01"),
            wrong("serve --ns mem:1M --faults reorder=1", "--faults", "'reorder=1'", "1%", "0.01"),
            wrong("serve --ns mem:1M --faults corrupt=101%", "--faults", "'corrupt=101%'", "1%"),
            wrong("serve --ns mem:1M --faults lost=1", "--faults", "'lost=1'", "loss=P"),
            failed("serve --ns mem:1M --listen 127.9.9.9 --pcap @FOLDER/none/x", "@FOLDER/none/x", "folder"),
            wrong("serve --ns mem:1M --bogus", "--bogus"),
            wrong("serve --ns mem:1M extra", "'extra'"),
            wrong("discover", "--traddr"),
            wrong("discover -a @NOBODY -s 0", "--trsvcid", "1 to 65535"),
            wrong("discover -a @NOBODY -s 70000", "--trsvcid", "1 to 65535"),
            wrong("discover -a @NOBODY -s x", "--trsvcid", "'x'"),
            wrong("discover -a @NOBODY -t tcp", "--transport", "rdma"),
            wrong("discover -a 1.2.3.4.5", "'1.2.3.4.5'"),
            wrong("discover -a :::1", "':::1'"),
            wrong("discover -a @NOBODY:4421", "-a @NOBODY -s 4421"),
            wrong("discover -a [::1]:4421", "-a [::1] -s 4421"),
            wrong("discover -a @NOBODY -n foo", "\"foo\"", "NQN"),
            failed("discover -a @ADDR -s @PORT -n @HERE", "Invalid Log Page", "@HERE is not a discovery", "-n/--nqn"),
            wrong("discover -a @NOBODY -o xml", "--output-format", "'xml'", "normal or json"),
            wrong("discover -a @NOBODY -I 5", "--hostid", "'5'"),
            wrong("discover -a @NOBODY -q foo", "\"foo\"", "NQN"),
            wrong("discover -a @NOBODY -k -1", "--keep-alive-tmo", "0 to 86400"),
            wrong("discover -a @NOBODY -k 9999999", "--keep-alive-tmo", "0 to 86400"),
            failed("discover -a @NOBODY -w 240.0.0.77", "240.0.0.77", "127.0.0.1"),
            wrong("discover -a @NOBODY -w 1.2.3.4.5", "'1.2.3.4.5'"),
            wrong("discover -a @NOBODY --path-mtu 5", "path MTU", "1024"),
            wrong("discover -a @NOBODY --provider foo", "'foo'", "softroce"),
            failed("discover -a @ADDR -s 1", "@ADDR:1", "refused"),
            wrong("id-ctrl -a @ADDR -s @PORT", "--nqn"),
            wrong("id-ctrl -a @ADDR -s @PORT -n foo", "\"foo\"", "NQN"),
            failed(
                    "id-ctrl -a @ADDR -s @PORT -n nqn.2026-11.com.example:other",
                    "nqn.2026-11.com.example:other",
                    "SUBNQN"),
            wrong("id-ns -a @ADDR -s @PORT -n @HERE --namespace-id x", "--namespace-id", "'x'"),
            wrong("id-ns -a @ADDR -s @PORT -n @HERE --nsid 0", "--namespace-id", "'0'", "list-ns"),
            wrong("id-ns -a @ADDR -s @PORT -n 1", "\"1\"", "NQN", "-N/--namespace-id"),
            failed("id-ns -a @ADDR -s @PORT -n @HERE --namespace-id 7", "namespace 7", "list-ns"),
            wrong("list-ns -a @ADDR -s @PORT -n", "--nqn"),
            wrong("copy", "'SRC', 'DST'"),
            wrong("copy @FOLDER/tiny", "'DST'"),
            wrong("copy @FOLDER/tiny @FOLDER/other", "rdma://ADDR[:PORT]/NQN?nsid=N"),
            wrong("copy " + URI + " " + URI, "rdma://ADDR[:PORT]/NQN?nsid=N"),
            wrong("copy rdma://@NOBODY @FOLDER/x", "'rdma://@NOBODY'", "rdma://ADDR[:PORT]/NQN?nsid=N"),
            wrong("copy rdma:///@HERE @FOLDER/x", "'rdma:///@HERE'", "rdma://ADDR[:PORT]/NQN?nsid=N"),
            wrong("copy rdma://@NOBODY/ @FOLDER/x", "'rdma://@NOBODY/'"),
            wrong("copy rdma://@NOBODY:x/@HERE @FOLDER/x", "'@NOBODY:x'"),
            wrong("copy rdma://@NOBODY/foo @FOLDER/x", "\"foo\"", "NQN"),
            wrong("copy " + URI + "?nsid=0 @FOLDER/x", "nsid=N"),
            wrong("copy " + URI + "?nsid=x @FOLDER/x", "nsid=N"),
            wrong("copy " + URI + "?ns=1 @FOLDER/x", "nsid=N"),
            wrong("copy tcp://@NOBODY/@HERE @FOLDER/x", "rdma://ADDR[:PORT]/NQN?nsid=N"),
            wrong("copy " + URI + " - --verify", "--verify"),
            failed("copy @FOLDER/none " + URI, "@FOLDER/none"),
            failed("copy @FOLDER " + URI, "@FOLDER"),
            wrong("copy @FOLDER/tiny " + URI + " --size x", "--size", "'x'"),
            failed("copy @FOLDER/tiny rdma://@ADDR:@PORT/@HERE --size 1G", "--size", "100 bytes"),
            failed("copy @FOLDER/large rdma://@ADDR:@PORT/@HERE", "65537 bytes", "65536", "--size"),
            failed("copy rdma://@ADDR:@PORT/@HERE @FOLDER/x --size 1G", "--size", "65536 bytes"),
            failed("copy rdma://@ADDR:@PORT/@HERE @FOLDER", "@FOLDER"),
            failed("copy rdma://@ADDR:@PORT/@HERE @FOLDER/none/x", "@FOLDER/none/x", "no folder @FOLDER/none"),
            failed("copy rdma://@ADDR:@PORT/@HERE?nsid=7 @FOLDER/x", "namespace 7", "list-ns"),
            wrong("bench -a @NOBODY -n @HERE --bs 0", "--bs", "512"),
            wrong("bench -a @NOBODY -n @HERE --bs 8G", "--bs", "4M", "8G"),
            wrong("bench -a @NOBODY -n @HERE --bs 1000", "bs", "512"),
            wrong("bench -a @NOBODY -n @HERE --bs x", "--b", "'x'"),
            wrong("bench -a @NOBODY -n @HERE --iodepth 0", "iodepth", "1 to 1023"),
            wrong("bench -a @NOBODY -n @HERE --iodepth 5000", "iodepth", "1 to 1023"),
            wrong("bench -a @NOBODY -n @HERE --numjobs 0", "numjobs", "1 to 64"),
            wrong("bench -a @NOBODY -n @HERE --rw foo", "'foo'", "randread"),
            wrong("bench -a @NOBODY -n @HERE --rwmixread 101", "rwmixread", "0 to 100"),
            wrong("bench -a @NOBODY -n @HERE --runtime -1", "--runtime"),
            wrong("bench -a @NOBODY -n @HERE --runtime x", "--runtime", "'x'"),
            wrong("bench -a @NOBODY -n @HERE --runtime 1y", "--runtime", "'1y'", "500ms"),
            wrong("bench -a @NOBODY -n @HERE --runtime 0", "--runtime", "--size"),
            wrong("bench -a @NOBODY -n @HERE --ramp_time 1y", "--ramp_time", "'1y'", "500ms"),
            wrong("bench -a @NOBODY -n @HERE --time_based --size 1M", "--time_based", "--runtime=10s"),
            wrong("bench -a @NOBODY -n @HERE --time_based", "--time_based", "--runtime=10s"),
            wrong("bench -a @NOBODY -n @HERE --direct=0", "--direct=0", "page cache"),
            wrong("bench -a @NOBODY -n @HERE --direct=2", "--direct", "0 nor 1"),
            wrong("bench -a @NOBODY -n @HERE --ioengine=libaio", "--ioengine", "nvmf", "libaio"),
            wrong("bench -a @NOBODY -n @HERE --group_reporting=0", "--group_reporting=0", "as one"),
            wrong("bench -a @NOBODY -n @HERE --thread=0", "--thread=0", "threads"),
            wrong("bench -a @NOBODY -n @HERE --filename=/dev/nvme0n1", "--filename", "-a, -n and -N"),
            wrong("bench -a @NOBODY -n @HERE --rwmixwrite=30", "--rwmixwrite", "--rwmixread"),
            wrong("bench -a @NOBODY -n @HERE --offset=1M", "--offset", "start of the namespace"),
            wrong("bench -a @NOBODY -n @HERE --eta=never", "--eta", "only the end"),
            wrong("bench -a @NOBODY -n @HERE --number_ios=7", "--number_ios", "--size", "--runtime"),
            wrong("bench -a @NOBODY -n @HERE --minimal", "--minimal", "-o json"),
            wrong("bench -a @NOBODY -n @HERE --size=10%", "--size", "'10%'", "bytes"),
            wrong("bench -a @NOBODY -n @HERE --cpus_allowed 3-1", "--cpus_allowed", "'3-1'"),
            wrong("bench -a @NOBODY -n @HERE --size x", "--size", "'x'"),
            wrong("bench -a @NOBODY -n @HERE --verify md5", "--verify", "crc32c"),
            wrong("bench -a @NOBODY -n @HERE --cpus_allowed x", "--cpus_allowed", "'x'"),
            wrong("bench -a @NOBODY -n @HERE --cpus_allowed 99999", "--cpus_allowed", "99999"),
            failed("bench -a @ADDR -s @PORT -n @HERE --size 1G", "size", "65536"),
            failed("bench -a @ADDR -s @PORT -n @HERE --bs 128k", "65536", "bs"),
            wrong("bench -a @NOBODY -n @HERE --post maybe", "--post", "'maybe'", "asked-not-used"),
            wrong("bench compare --arms inline", "--arms", "two or more", "inline"),
            wrong("bench compare --arms inline,inline", "--arms", "different"),
            wrong("bench compare --arms inline,fast", "--arms", "'fast'", "reference"),
            wrong("bench compare --a=--iodepth=1", "--a and --b"),
            wrong("bench compare --a=--iodepth=1 --b=--iodepth=2 --arms inline,reference", "--a and --b", "--arms"),
            wrong("bench compare --a=--randseed=1 --b=--iodepth=2", "--a: --randseed", "whole comparison"),
            wrong("bench compare --a=--iodepth=1 --b=--name=x", "--b: --name", "whole comparison"),
            wrong("bench compare --a=--iodepth=1 --b=--bogus=2", "--b", "'--bogus=2'"),
            wrong("bench compare --a=--iodepth=1 --b=--iodepth=0", "b: iodepth", "1 to 1023"),
            wrong("bench compare --a=--iodepth=1 --b=--filename=x", "--b", "--filename", "-a, -n and -N"),
            wrong("bench compare --pairs 1", "--pairs", "2 to 10000"),
            wrong("bench --verbose compare -n @HERE --bogus", "nvmf bench compare: ", "--bogus"),
            wrong("bench compare --warmup -1", "--warmup", "0 to 10000"),
            wrong("bench compare -a @NOBODY", "--nqn"),
            wrong("bench compare -n @HERE", "--traddr"),
            wrong("bench compare --runtime 1y", "--runtime", "'1y'"),
            wrong("bench compare -N 7", "--namespace-id", "--traddr"),
            wrong("bench compare --pcap @FOLDER/x", "--pcap", "anew"),
            failed("bench compare --report @FOLDER/tiny/x", "@FOLDER/tiny/x", "--report"),
            failed(
                    "bench compare -a @ADDR -s @PORT -n @HERE --size 1G --pairs 2 --report @FOLDER/larger",
                    "arm ",
                    "65536"),
            failed("bench compare -a @ADDR -s @PORT -n @HERE -N 9 --report @FOLDER/ninth", "namespace 9", "list-ns"),
            wrong("decode", "FILE.pcap"),
            failed("decode @FOLDER/none", "@FOLDER/none"),
            failed("decode @FOLDER", "@FOLDER"),
            failed("decode @FOLDER/tiny", "@FOLDER/tiny", "pcap"),
            failed("decode @FOLDER/empty", "@FOLDER/empty", "pcap"),
            wrong("demo --bogus", "--bogus"));

    private record Result(int status, String out, String err) {}

    @BeforeAll
    static void prepare() throws IOException {
        Files.write(folder.resolve("tiny"), new byte[100]);
        Files.write(folder.resolve("empty"), new byte[0]);
        Files.write(folder.resolve("disk"), new byte[1 << 20]);
        Files.write(folder.resolve("large"), new byte[NAMESPACE_BYTES + 1]);
        node = TargetNode.start(TargetNode.Setup.of("softroce", NAMESPACE_BYTES));
    }

    @AfterAll
    static void closeTarget() {
        if (node != null) {
            node.close();
        }
    }

    private static String filled(String text) {
        return text.replace("@FOLDER", folder.toString())
                .replace("@ADDR", node.address().getAddress().getHostAddress())
                .replace("@PORT", Integer.toString(node.address().getPort()))
                .replace("@HERE", TargetNode.NQN)
                .replace("@NOBODY", NOBODY);
    }

    /** Runs a command in this process; what is written to this process's standard error counts as the command's. */
    private static Result nvmf(String... arguments) {
        StringWriter out = new StringWriter();
        StringWriter err = new StringWriter();
        ByteArrayOutputStream direct = new ByteArrayOutputStream();
        PrintStream before = System.err;
        System.setErr(new PrintStream(direct, true, StandardCharsets.UTF_8));
        try {
            CommandLine command = Main.commandLine();
            command.setOut(new PrintWriter(out));
            command.setErr(new PrintWriter(err));
            int status = Main.launch(command, arguments);
            return new Result(status, out.toString(), err + direct.toString(StandardCharsets.UTF_8));
        } finally {
            System.setErr(before);
        }
    }

    private static String[] words(String arguments) {
        return filled(arguments).strip().split(" +");
    }

    @ParameterizedTest
    @FieldSource("WRONG_INPUT")
    void wrongInputGetsOneLineThatHelps(Wrong input) {
        Result result = nvmf(words(input.arguments));

        assertThat(result.err().lines()).as(result.err()).hasSize(1);
        assertThat(result.err()).startsWith("nvmf").doesNotContain("Exception", "\tat ");
        for (String hint : input.hints) {
            assertThat(result.err()).contains(filled(hint));
        }
        assertThat(result.status()).isEqualTo(input.status);
        assertThat(result.out()).isEmpty();
    }

    static List<String> commands() {
        return List.copyOf(Main.commandLine().getSubcommands().keySet());
    }

    @ParameterizedTest
    @MethodSource("commands")
    void helpOfEveryCommandFitsATerminal(String name) {
        Result result = nvmf(name, "--help");

        assertThat(result.status()).isZero();
        assertThat(result.err()).isEmpty();
        assertThat(result.out()).contains("Usage: nvmf " + name);
        assertThat(result.out().lines()).allMatch(line -> line.length() <= COLUMNS);
    }

    @Test
    void helpNamesEveryCommand() {
        for (Result result : List.of(nvmf("--help"), nvmf("help"), nvmf())) {
            assertThat(result.status()).isZero();
            assertThat(result.err()).isEmpty();
            assertThat(result.out()).contains(commands());
            assertThat(result.out().lines()).allMatch(line -> line.length() <= COLUMNS);
        }
    }

    @Test
    void everyCommandHasADescriptionOfEveryOption() {
        Main.commandLine()
                .getSubcommands()
                .forEach((name, command) -> command.getCommandSpec()
                        .options()
                        .forEach(option -> assertThat(option.description())
                                .as(name + " " + option.longestName())
                                .isNotEmpty()));
    }

    @Test
    void comparesTwoSetsOfOptions() throws IOException {
        Result result =
                nvmf(words("bench compare -a @ADDR -s @PORT -n @HERE --bs 512 --pairs 2 --warmup 1 --runtime 200ms"
                        + " --ramp_time 0 --randseed 7 --a=--iodepth=1 --b=--iodepth=4 --report @FOLDER/report"));

        assertThat(result.err()).isEmpty();
        assertThat(result.status()).isZero();
        assertThat(result.out())
                .contains("b and a: 2 pairs are too few to conclude, ask for at least 10\n")
                .contains("report: " + folder.resolve("report/compare.html"));
        assertThat(folder.resolve("report")).isDirectoryContaining("glob:**/compare.json");
        assertThat(Files.readString(folder.resolve("report/compare.md")))
                .contains("| arm |", "| b |", "seed: 7;", "--a=--iodepth=1 --b=--iodepth=4");
    }

    @Test
    void comparesWaysToPostAgainstATargetOfItsOwn() throws IOException {
        NvmfProcess.Result result = NvmfProcess.run(
                folder, words("bench compare --pairs 2 --warmup 0 --runtime 200ms --ramp_time 0 --report @FOLDER/own"));

        assertThat(result.err()).isEmpty();
        assertThat(result.status()).isZero();
        assertThat(result.out().lines())
                .anyMatch(line -> line.matches("reference .* 0 %"))
                .anyMatch(line -> line.matches("inline .* (9[0-9]|100) %"))
                .anyMatch(line -> line.matches("asked-not-used .* 0 %"));
    }

    @ParameterizedTest
    @CsvSource({"discover,''", "id-ctrl,-n @HERE", "id-ns,-n @HERE", "list-ns,-n @HERE"})
    void commandsPrintTextAndJson(String name, String more) {
        String arguments = name + " -a @ADDR -s @PORT " + more;
        Result text = nvmf(words(arguments));
        assertThat(text.err()).isEmpty();
        assertThat(text.status()).isZero();
        assertThat(text.out()).isNotBlank();

        Result json = nvmf(words(arguments + " -o json"));
        assertThat(json.err()).isEmpty();
        assertThat(json.status()).isZero();
        assertThat(json.out().strip()).startsWith("{").endsWith("}");
    }

    @Test
    void benchWritesAndVerifiesWhatItIsAskedTo() {
        List<String> options = new ArrayList<>(List.of(words("bench -a @ADDR -s @PORT -n @HERE")));
        Stream.of("--rw", "randwrite", "--bs", "4k", "--iodepth", "8", "--size", "64k", "--verify", "crc32c")
                .forEach(options::add);

        Result result = nvmf(options.toArray(String[]::new));

        assertThat(result.err()).isEmpty();
        assertThat(result.status()).isZero();
        assertThat(result.out()).contains("IOPS", "all right");
    }

    @Test
    void benchTakesWhatFioUsersPaste() {
        Result result =
                nvmf(words("bench -a @ADDR -s @PORT -n @HERE -N 1 --name=job --ioengine=nvmf --direct=1 --rw=randread"
                        + " --bs=4k --iodepth=4 --numjobs=1 --size=64k --runtime=2m --group_reporting --thread --randrepeat=1"
                        + " --cpus_allowed=0-0 --output-format=json"));

        assertThat(result.err()).isEmpty();
        assertThat(result.status()).isZero();
    }

    @Test
    void helpSaysWhatAnExitStatusMeans() {
        assertThat(nvmf("--help").out()).contains("Exit status:", "130", "wrong command line");
    }

    @Test
    void processSaysInOneLineThatNobodyAnswers() throws IOException {
        NvmfProcess.Result result = NvmfProcess.run(
                folder, "discover", "-a", TargetNode.randomLoopbackAddress().getHostAddress());

        assertThat(result.err().lines()).as(result.err()).hasSize(1);
        assertThat(result.err()).startsWith("nvmf discover: ").contains("nothing listens at", "4420", "4791");
        assertThat(result.out()).isEmpty();
        assertThat(result.status()).isEqualTo(1);
    }

    @Test
    void processSaysInOneLineWhoHasThePort() throws IOException {
        try (NvmfProcess.Serving first = NvmfProcess.serve(folder, "--ns", "mem:1M")) {
            String taken = first.address().getAddress().getHostAddress();
            NvmfProcess.Result result = NvmfProcess.run(folder, "serve", "--ns", "mem:1M", "--listen", taken);

            assertThat(result.err().lines()).as(result.err()).hasSize(1);
            assertThat(result.err())
                    .startsWith("nvmf serve: ")
                    .contains(
                            "4791",
                            taken,
                            Long.toString(first.process().handle().pid()));
            assertThat(result.status()).isEqualTo(1);
        }
    }

    @Test
    void hostThatIsNotAllowedLearnsWhoItWasAndWhatToDo() throws IOException {
        String own = "nqn.2026-11.com.example:stranger";
        String[] serve = {"--nqn", TargetNode.NQN, "--ns", "mem:1M", "--allow-host", "nqn.2026-11.com.example:friend"};
        try (NvmfProcess.Serving target = NvmfProcess.serve(folder, serve)) {
            String address = target.address().getAddress().getHostAddress();
            Result result = nvmf("list-ns", "-a", address, "-n", TargetNode.NQN, "-q", own);

            assertThat(result.err().lines()).as(result.err()).hasSize(1);
            assertThat(result.err()).contains(own, "Connect Invalid Host", "-q/--hostnqn");
            assertThat(result.status()).isEqualTo(1);
            Await.until(
                    "the target says whom it refused",
                    () -> target.process().err().contains(own),
                    target.process()::err);
            assertThat(target.process().err()).contains("--allow-host");
        }
    }

    @Test
    void copyOfTooMuchFromStandardInputSaysHowMuchWasWritten() throws IOException {
        String uri = "rdma://" + AddressText.of(node.address()) + "/" + TargetNode.NQN;
        try (NvmfProcess copy = NvmfProcess.startWithInput(folder, "copy", "-", uri)) {
            copy.input().write(new byte[NAMESPACE_BYTES + 1]);
            copy.input().close();
            NvmfProcess.Result result = copy.result();

            assertThat(result.err().lines()).as(result.err()).hasSize(1);
            assertThat(result.err())
                    .contains("more than the " + NAMESPACE_BYTES + " bytes of the namespace", "nothing was written to");
            assertThat(result.status()).isEqualTo(1);
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"discover", "list-ns", "id-ctrl", "id-ns", "bench", "copy"})
    void commandThatWaitsForATargetEndsAtOnceWhenItIsTold(String name) throws Exception {
        // The device is there and answers nothing: nobody drives it.
        try (Device silent = Device.open("softroce", DeviceOptions.at(TargetNode.randomLoopbackAddress()))) {
            String address = AddressText.of(silent.attributes().localAddress());
            List<String> arguments = new ArrayList<>(List.of(name));
            switch (name) {
                case "copy" -> arguments.addAll(List.of("rdma://" + address + "/" + TargetNode.NQN, "-"));
                case "discover" -> arguments.addAll(List.of("-a", address));
                default -> arguments.addAll(List.of("-a", address, "-n", TargetNode.NQN));
            }
            arguments.add("--verbose");
            try (NvmfProcess command = NvmfProcess.start(folder, arguments.toArray(String[]::new))) {
                Await.until(
                        "the command has opened its device",
                        () -> command.err().contains("software RoCE device at"),
                        command::err);
                command.signal("TERM");

                assertThat(command.result().status()).as(command.err()).isEqualTo(130);
                assertThat(command.err().lines()).as(command.err()).noneMatch(line -> line.startsWith("nvmf " + name));
            }
        }
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "discover -a @ADDR -s @PORT",
                "list-ns -a @ADDR -s @PORT -n @HERE",
                "id-ctrl -a @ADDR -s @PORT -n @HERE -o json",
                "bench -a @ADDR -s @PORT -n @HERE --size 64k",
                "bench -a @ADDR -s @PORT -n @HERE --size 64k -o json",
                "--help"
            })
    void processSaysThatItCannotPrint(String arguments) throws IOException {
        NvmfProcess.Result result = NvmfProcess.runOnFullDisk(folder, words(arguments));

        assertThat(result.err()).matches("nvmf.*: cannot write to standard output\\n");
        assertThat(result.status()).isEqualTo(1);
    }

    @Test
    void copyToAFullStandardOutputFails() throws IOException {
        NvmfProcess.Result result = NvmfProcess.runOnFullDisk(folder, words("copy rdma://@ADDR:@PORT/@HERE -"));

        assertThat(result.err().lines()).as(result.err()).hasSize(1);
        assertThat(result.err())
                .startsWith("nvmf copy: ")
                .contains("No space left on device", "nothing was written to standard output");
        assertThat(result.status()).isEqualTo(1);
    }

    @Test
    void stackTraceComesWhenItIsAskedFor() throws IOException {
        NvmfProcess.Result result =
                NvmfProcess.run(folder, "decode", folder.resolve("tiny").toString(), "--verbose");

        assertThat(result.err()).startsWith("nvmf decode: ").contains("\tat org.nvmf4j");
        assertThat(result.status()).isEqualTo(1);
    }
}
