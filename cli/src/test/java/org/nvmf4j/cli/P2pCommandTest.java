package org.nvmf4j.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.nvmf4j.testkit.SysfsTree;
import picocli.CommandLine;
import tools.jackson.core.JsonParser;
import tools.jackson.core.JsonToken;
import tools.jackson.core.ObjectReadContext;
import tools.jackson.core.json.JsonFactory;

class P2pCommandTest {
    private static final long MIB = 1 << 20;

    @TempDir
    @SuppressWarnings("NullAway.Init")
    private Path dir;

    @SuppressWarnings("NullAway.Init")
    private SysfsTree tree;

    private record Result(int status, String out, String err) {}

    /** A switch with two drives and a NIC, a drive elsewhere, and RDMA in software besides. */
    @BeforeEach
    void makeTree() {
        tree = new SysfsTree(dir.resolve("sys"));
        SysfsTree.Node host = tree.hostBridge("0000:00", SysfsTree.OTHER_HOST_BRIDGE);
        SysfsTree.Node upstream = host.rootPort("0000:00:01.0").switchUpstreamPort("0000:01:00.0");
        upstream.switchDownstreamPort("0000:02:00.0")
                .nvme("0000:03:00.0")
                .p2pmem(2 * MIB, MIB, true)
                .blockDevice("nvme0n1", "259:0");
        upstream.switchDownstreamPort("0000:02:01.0").nvme("0000:04:00.0").resource(2, MIB);
        upstream.switchDownstreamPort("0000:02:02.0").nic("0000:05:00.0").rdmaDevice("mlx5_0");
        host.rootPort("0000:00:02.0").nvme("0000:06:00.0").p2pmem(4 * MIB, 4 * MIB, false);
        tree.softRdmaDevice("rxe0", "eth0");
    }

    private Result run(SysfsTree of, String arguments) {
        List<String> words = new ArrayList<>(List.of("p2p"));
        words.addAll(List.of(arguments.split(" ")));
        words.add("--sysfs=" + of.root());
        return nvmf(words.toArray(String[]::new));
    }

    private Result run(String arguments) {
        return run(tree, arguments);
    }

    private static Result nvmf(String... words) {
        StringWriter out = new StringWriter();
        StringWriter err = new StringWriter();
        CommandLine command = Main.commandLine();
        command.setOut(new PrintWriter(out));
        command.setErr(new PrintWriter(err));
        int status = Main.launch(command, words);
        return new Result(status, out.toString(), err.toString());
    }

    private static List<String> lines(Result result) {
        assertThat(result.err()).isEmpty();
        assertThat(result.status()).isZero();
        return result.out().lines().toList();
    }

    /** {@code /memories/0/usable=yes} and so on, for every value. */
    private static List<String> json(Result result) {
        List<String> facts = new ArrayList<>();
        try (JsonParser parser = JsonFactory.builder().build().createParser(ObjectReadContext.empty(), result.out())) {
            for (JsonToken token = parser.nextToken(); token != null; token = parser.nextToken()) {
                if (token.isScalarValue()) {
                    facts.add(parser.streamReadContext().pathAsPointer() + "=" + parser.getString());
                }
            }
        }
        return facts;
    }

    @Test
    void listsEachMemoryWithItsDistances() {
        assertThat(lines(run("list --allow-raw-bar 04:00.0/resource2@4K+64K")))
                .containsExactly(
                        "Address       Size    Free    Published  mlx5_0  rxe0  Usable  Publisher",
                        "0000:03:00.0  2 MiB   1 MiB   yes        4       CPU   yes     its driver",
                        "0000:04:00.0  64 KiB  64 KiB  yes        4       CPU   yes     the user"
                                + " (0000:04:00.0/resource2@4096+65536)",
                        "0000:06:00.0  4 MiB   4 MiB   no         no      CPU   no      its driver",
                        "RDMA device rxe0 is software over eth0: the CPU moves its data",
                        "0000:06:00.0: its memory is not published",
                        "0000:06:00.0 and mlx5_0: NVMe device 0000:06:00.0 is under root port 0000:00:02.0,"
                                + " NIC 0000:05:00.0 is under root port 0000:00:01.0 of the same host bridge 0000:00,"
                                + " and this platform (host bridge 8086:29c0) is not known to route between them");
    }

    @Test
    void listsTheSameInJson() {
        Result result = run("list -o json");
        assertThat(result.err()).isEmpty();
        assertThat(json(result))
                .contains(
                        "/rdma_devices/0/name=mlx5_0",
                        "/rdma_devices/0/pci_address=0000:05:00.0",
                        "/rdma_devices/1/reason=RDMA device rxe0 is software over eth0: the CPU moves its data",
                        "/memories/0/pci_address=0000:03:00.0",
                        "/memories/0/size_bytes=2097152",
                        "/memories/0/free_bytes=1048576",
                        "/memories/0/published=true",
                        "/memories/0/publisher=its driver",
                        "/memories/0/reaches/0/client=RDMA device mlx5_0",
                        "/memories/0/reaches/0/reach=peer_to_peer",
                        "/memories/0/reaches/0/distance=4",
                        "/memories/0/reaches/1/reach=with_the_cpu",
                        "/memories/0/usable=yes",
                        "/memories/1/pci_address=0000:06:00.0",
                        "/memories/1/published=false",
                        "/memories/1/own_problem=its memory is not published",
                        "/memories/1/reaches/0/reach=not",
                        "/memories/1/usable=no");
    }

    @Test
    void saysWhatWouldGivePeerMemoryWhereThereIsNone() {
        SysfsTree captured = SysfsTree.captured("switch", dir.resolve("captured"));
        assertThat(lines(run(captured, "list"))).containsExactly("this machine has no peer memory", P2pCommand.REMEDY);
        assertThat(json(run(captured, "list -o json")))
                .containsExactly(
                        "/rdma_devices/0/name=rxe0",
                        "/rdma_devices/0/reason=RDMA device rxe0 is software over eth0: the CPU moves its data");
        assertThat(lines(run(captured, "explain --ns null:1G --rdma-device rxe0")))
                .containsExactly(
                        "namespace null:1G,p2pmem=1 on RDMA device rxe0",
                        "├─ takes system memory: this machine has no peer memory",
                        "│  └─ " + P2pCommand.REMEDY,
                        "├─ RDMA device rxe0 is software over eth0: the CPU moves its data",
                        "└─ the null backend moves its data with the CPU");
    }

    @Test
    void listsWhatOnlyTheCpuReaches() {
        SysfsTree captured = SysfsTree.captured("switch-noiommu", dir.resolve("captured"));
        captured.function("0000:06:00.0").p2pmem(MIB, MIB, true);
        assertThat(lines(run(captured, "list")))
                .contains("0000:06:00.0  1 MiB  1 MiB  yes        CPU   CPU only  its driver")
                .anyMatch(line -> line.startsWith("CPU only: "));
    }

    @Test
    void explainsTheNearest() {
        tree.function("0000:04:00.0").p2pmem(2 * MIB, MIB, true);
        assertThat(lines(run("explain --ns file:/dev/nvme0n1,p2pmem=1 --rdma-device mlx5_0")))
                .containsExactly(
                        "namespace file:/dev/nvme0n1,p2pmem=1 on RDMA device mlx5_0",
                        "├─ takes 0000:03:00.0: 1 MiB free, at distance 4",
                        "│  ├─ RDMA device mlx5_0: distance 4",
                        "│  └─ the device behind /dev/nvme0n1: distance 0",
                        "├─ also usable 0000:04:00.0: 1 MiB free, at distance 8",
                        "│  ├─ RDMA device mlx5_0: distance 4",
                        "│  └─ the device behind /dev/nvme0n1: distance 4",
                        "└─ refused 0000:06:00.0: its memory is not published",
                        "   ├─ RDMA device mlx5_0: NVMe device 0000:06:00.0 is under root port 0000:00:02.0,"
                                + " NIC 0000:05:00.0 is under root port 0000:00:01.0 of the same host bridge 0000:00,"
                                + " and this platform (host bridge 8086:29c0) is not known to route between them",
                        "   └─ the device behind /dev/nvme0n1: NVMe device 0000:06:00.0 is under root port 0000:00:02.0,"
                                + " NVMe device 0000:03:00.0 is under root port 0000:00:01.0 of the same host bridge"
                                + " 0000:00, and this platform (host bridge 8086:29c0) is not known to route between"
                                + " them");
    }

    @Test
    void explainsTheSameInJson() {
        Result result = run("explain --ns file:/dev/nvme0n1 --rdma-device 05:00.0 -o json");
        assertThat(result.err()).isEmpty();
        assertThat(json(result))
                .contains(
                        "/namespace=file:/dev/nvme0n1,p2pmem=1",
                        "/p2pmem=1",
                        "/clients/0/name=RDMA device 0000:05:00.0",
                        "/clients/0/pci_address=0000:05:00.0",
                        "/clients/1/pci_address=0000:03:00.0",
                        "/takes=peer_memory",
                        "/pci_address=0000:03:00.0",
                        "/why=0000:03:00.0, the nearest, at distance 4",
                        "/candidates/0/distance=4",
                        "/candidates/0/usable=true",
                        "/candidates/0/reaches/1/distance=0",
                        "/candidates/1/pci_address=0000:06:00.0",
                        "/candidates/1/usable=false");
    }

    @Test
    void explainsOnACapturedMachine() {
        SysfsTree captured = SysfsTree.captured("switch-noiommu", dir.resolve("captured"));
        captured.function("0000:03:00.0").p2pmem(MIB, MIB, true);
        captured.function("0000:06:00.0").p2pmem(MIB, MIB, true);
        assertThat(lines(run(captured, "explain --ns file:/dev/nvme1n1 --rdma-device 0000:05:00.0")))
                .contains(
                        "├─ takes 0000:03:00.0: 1 MiB free, at distance 8",
                        "└─ refused 0000:06:00.0: 1 MiB free, out of reach of RDMA device 0000:05:00.0 and the device"
                                + " behind /dev/nvme1n1");
    }

    @Test
    void printsTheTreeOfARefusedChoiceAndFails() {
        Result result = run("explain --ns file:/dev/nvme0n1,p2pmem=06:00.0 --rdma-device mlx5_0");
        assertThat(result.status()).isEqualTo(1);
        assertThat(result.err().lines()).hasSize(1);
        assertThat(result.err())
                .startsWith("nvmf p2p explain: p2pmem=0000:06:00.0: its memory is not published; ")
                .endsWith("; 0000:03:00.0 has 1 MiB free at distance 4\n");
        assertThat(result.out().lines())
                .contains(
                        "├─ refused 0000:06:00.0: its memory is not published",
                        "└─ not chosen 0000:03:00.0: 1 MiB free, at distance 4");

        Result json = run("explain --ns file:/dev/nvme0n1,p2pmem=06:00.0 --rdma-device mlx5_0 -o json");
        assertThat(json.status()).isEqualTo(1);
        assertThat(json(json))
                .contains("/takes=nothing", "/p2pmem=0000:06:00.0")
                .anyMatch(fact -> fact.startsWith("/why=p2pmem=0000:06:00.0: its memory is not published"))
                .noneMatch(fact -> fact.startsWith("/pci_address="));
    }

    @Test
    void refusesAChoiceThatHasNoPeerMemory() {
        Result result = run("explain --ns mem:1M,p2pmem=0000:04:00.0 --rdma-device mlx5_0");
        assertThat(result.status()).isEqualTo(1);
        assertThat(result.err()).contains("p2pmem=0000:04:00.0: no such device has peer memory");
        assertThat(result.out()).contains("├─ refused 0000:04:00.0: it has no peer memory");
    }

    @Test
    void keepsDirectIoFromABarAndSaysWhatToDo() {
        String common = " --rdma-device mlx5_0 --allow-raw-bar 04:00.0/resource2";
        Result direct = run("explain --ns file:/dev/nvme0n1,p2pmem=04:00.0" + common);
        assertThat(direct.status()).isEqualTo(1);
        assertThat(direct.err()).contains("Linux takes no BAR for direct I/O", "direct=off");

        assertThat(lines(run("explain --ns file:/dev/nvme0n1,direct=off,p2pmem=04:00.0" + common)))
                .contains(
                        "├─ takes 0000:04:00.0: 1 MiB free, with the CPU for the page cache of /dev/nvme0n1",
                        "│  └─ warning: the CPU copies to and from 0000:04:00.0 for the page cache of /dev/nvme0n1:"
                                + " that works, and is slower than system memory");
    }

    @Test
    void softwareRdmaGetsPeerMemoryOnlyByName() {
        assertThat(lines(run("explain --ns null:1G --rdma-device rxe0")))
                .contains(
                        "├─ takes system memory: no peer memory that all can use",
                        "└─ refused 0000:03:00.0: 1 MiB free, with the CPU for RDMA device rxe0 and the null backend",
                        "   ├─ RDMA device rxe0 is software over eth0: the CPU moves its data",
                        "   └─ the null backend moves its data with the CPU");
        assertThat(lines(run("explain --ns null:1G,p2pmem=03:00.0 --rdma-device rxe0")))
                .contains("├─ takes 0000:03:00.0: 1 MiB free, with the CPU for RDMA device rxe0 and the null backend")
                .anyMatch(line -> line.startsWith("│  └─ warning: the CPU copies"));
        assertThat(lines(run("explain --ns null:1G,p2pmem=0 --rdma-device rxe0")))
                .containsExactly(
                        "namespace null:1G,p2pmem=0 on RDMA device rxe0", "└─ takes system memory: peer memory is off");
    }

    @Test
    void onThisMachineSpeaksOfTheDeviceThatServeWouldOpen() {
        Result result = nvmf("p2p", "explain", "--ns", "null:1G", "--listen", "127.9.8.7:4421", "-o", "json");
        assertThat(result.err()).isEmpty();
        assertThat(result.status()).isZero();
        assertThat(json(result))
                .contains(
                        "/clients/0/name=RDMA device softroce-127.9.8.7",
                        "/clients/0/reason=RDMA device softroce-127.9.8.7 is not one of the kernel's: the CPU moves its"
                                + " data",
                        "/takes=system_memory");
    }

    @Test
    void answersForATargetHereThatReadsAnotherTree() {
        assertThat(lines(run("explain --ns null:1G,p2pmem=03:00.0 --listen 127.9.8.7")))
                .contains("namespace null:1G,p2pmem=03:00.0 on RDMA device softroce-127.9.8.7")
                .anyMatch(line -> line.startsWith("├─ takes 0000:03:00.0"));
    }

    @Test
    void opensAndMakesNoFile() throws IOException {
        Path file = dir.resolve("new.img");
        Result made = nvmf("p2p", "explain", "--ns", "file:" + file + ",size=1M");
        assertThat(made.err()).isEmpty();
        assertThat(file).doesNotExist();

        Result missing = nvmf("p2p", "explain", "--ns", "file:" + file);
        assertThat(missing.status()).isEqualTo(1);
        assertThat(missing.err())
                .isEqualTo("nvmf p2p explain: no such file: " + file
                        + "; with ,size=SIZE a target makes it, if its folder exists\n");
    }

    @Test
    void wrongInputGetsOneLineThatHelps() throws IOException {
        String explain = "explain --rdma-device mlx5_0 --ns ";
        Stream.of(
                        wrong(
                                1,
                                "list --allow-raw-bar 04:00.0/resource0",
                                "0000:04:00.0 has no resource0 but resource2"),
                        wrong(1, "list --allow-raw-bar 09:00.0/resource0", "no PCI function 0000:09:00.0", "/devices"),
                        wrong(1, "list --allow-raw-bar 04:00.0/resource2@2M", "only 1048576 bytes"),
                        wrong(1, "list --allow-raw-bar 03:00.0/resource2", "use p2pmem=0000:03:00.0 without"),
                        wrong(
                                1,
                                "list --allow-raw-bar 04:00.0/resource2 --allow-raw-bar 04:00.0/resource2@4K",
                                "0000:04:00.0/resource2 and 0000:04:00.0/resource2@4096 overlap"),
                        wrong(
                                1,
                                explain + "mem:1M,p2pmem=03:00.0 --allow-raw-bar 03:00.0/resource2",
                                "use p2pmem=0000:03:00.0 without"),
                        wrong(2, "list --allow-raw-bar 04:00.0/resource2+4M", "04:00.0/resource2@0+4M"),
                        wrong(2, "list --allow-raw-bar 04:00.0", "--allow-raw-bar", "0000:03:00.0/resource2@OFFSET"),
                        wrong(2, "list -o xml", "'xml'", "normal or json"),
                        wrong(2, "explain", "--ns"),
                        wrong(2, "explain --ns mem:1M", "--rdma-device: one of mlx5_0, rxe0", "--listen"),
                        wrong(2, explain + "mem:1M --listen 127.0.0.1", "--listen and --rdma-device"),
                        wrong(2, explain + "mem:1M,p2pmem=x", "p2pmem=x", "0000:03:00.0"),
                        wrong(2, explain + "disk:1M", "'disk:1M'", "null:SIZE"),
                        wrong(1, explain + "file:/srv/disk.img", "no block device /srv/disk.img", "file:/dev/nvme0n1"),
                        wrong(1, explain + "file:/dev/nvme9n1", "no block device /dev/nvme9n1"),
                        wrong(1, "explain --ns mem:1M --rdma-device x", "'x'", "one of mlx5_0, rxe0"),
                        wrong(1, "explain --ns mem:1M --rdma-device 0a:00.0", "0000:0a:00.0", "one of mlx5_0, rxe0"))
                .forEach(wrong -> assertHelps(run(wrong.arguments), wrong));
        assertHelps(nvmf("p2p", "list", "--sysfs", dir.toString()), wrong(1, "", "--sysfs", "use " + tree.root()));
        Path empty = Files.createDirectory(dir.resolve("empty"));
        assertHelps(nvmf("p2p", "list", "--sysfs", empty.toString()), wrong(1, "", "--sysfs " + empty, "/sys"));
        assertHelps(
                nvmf("p2p", "explain", "--ns", "mem:1M", "--listen", "0.0.0.0"), wrong(2, "", "--listen", "0.0.0.0"));
        assertHelps(
                nvmf("p2p", "explain", "--ns", "mem:1M", "--listen", "240.0.0.77"),
                wrong(1, "", "240.0.0.77", "127.0.0.1"));
        assertHelps(nvmf("p2p", "bogus"), wrong(2, "", "'bogus'", "list, explain"));
    }

    private record Wrong(int status, String arguments, List<String> hints) {}

    private static Wrong wrong(int status, String arguments, String... hints) {
        return new Wrong(status, arguments, List.of(hints));
    }

    private static void assertHelps(Result result, Wrong wrong) {
        assertThat(result.err().lines()).as(result.err()).hasSize(1);
        assertThat(result.err()).startsWith("nvmf p2p").contains(wrong.hints).doesNotContain("Exception");
        assertThat(result.out()).isEmpty();
        assertThat(result.status()).as(result.err()).isEqualTo(wrong.status);
    }

    @Test
    void helpFitsATerminalAndDescribesEveryOption() {
        for (String name : List.of("list", "explain")) {
            Result help = nvmf("p2p", name, "--help");
            assertThat(help.status()).isZero();
            assertThat(help.out()).contains("Usage: nvmf p2p " + name, "--sysfs=DIR", "--allow-raw-bar=");
            assertThat(help.out().lines()).allMatch(line -> line.length() <= 120);
            assertThat(help.out()).doesNotContain("${");
        }
        assertThat(nvmf("p2p", "explain", "--help").out()).contains("what p2pmem=1 would pick");
    }

    @Test
    void printsItsHelpWhenTheCommandIsMissing() {
        Result result = nvmf("p2p");
        assertThat(result.status()).isEqualTo(2);
        assertThat(result.out()).isEmpty();
        assertThat(result.err()).contains("Usage: nvmf p2p", "list", "explain");
    }
}
