package org.nvmf4j.systemtest;

import static org.assertj.core.api.Assertions.assertThat;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.nvmf4j.host.Controller;
import org.nvmf4j.host.Host;
import org.nvmf4j.host.HostOptions;
import org.nvmf4j.host.Namespace;
import org.nvmf4j.testkit.ScriptedProvider;
import org.nvmf4j.testkit.ScriptedProvider.AboveLimit;
import org.nvmf4j.testkit.ScriptedProvider.Posted;
import org.nvmf4j.testkit.ScriptedProvider.Script;
import org.nvmf4j.verbs.Device;
import org.nvmf4j.verbs.DeviceOptions;

/** Host and target above devices that differ in what they do about inline data: neither of them ever notices. */
class InlineDevicesTest {
    private static final int DATA_BYTES = 64 << 10;
    private static final int CAPSULE_BYTES = 64;
    private static final int RESPONSE_BYTES = 16;

    static Stream<Script> devices() {
        List<Script> all = new ArrayList<>();
        for (int limit : new int[] {0, 48, 80, 96, 101, 128, 256, 400, 512, 988}) {
            for (AboveLimit above : List.of(AboveLimit.EINVAL, AboveLimit.ENOMEM, AboveLimit.GRANTS_LIMIT)) {
                all.add(new Script(limit, above, false, Script.ALL));
                all.add(new Script(limit, above, true, Script.ALL));
                all.add(new Script(limit, above, true, 2));
            }
        }
        return all.stream();
    }

    @ParameterizedTest
    @MethodSource("devices")
    void dataIsRightOnEveryDevice(Script script) throws Exception {
        ScriptedProvider target = ScriptedProvider.overLoopback(script);
        ScriptedProvider host = ScriptedProvider.overLoopback(script);
        Device targets = Device.open(target, DeviceOptions.at(TargetNode.randomLoopbackAddress()));
        try (TargetNode node = TargetNode.on(targets, TargetNode.Setup.of("loopback", 1 << 20));
                Host opened = Host.open(
                        Device.open(host, DeviceOptions.towards(node.address().getAddress())),
                        HostOptions.builder().build());
                Controller controller = opened.connect(node.address(), TargetNode.NQN);
                Arena arena = Arena.ofShared()) {
            writeAndReadBack(controller.namespace(TargetNode.NSID), arena);
            boolean breaksItsWord = script.inlinePosts() != Script.ALL && script.limitBytes() >= CAPSULE_BYTES;
            assertThat(opened.deviceCounters())
                    .containsEntry("inline_refused_at_post", breaksItsWord ? 2L : 0L); // admin and I/O queue
        }
        boolean kept = script.inlinePosts() == Script.ALL;
        if (kept && script.limitBytes() >= CAPSULE_BYTES) {
            assertThat(ofLength(host, CAPSULE_BYTES)).isNotEmpty().containsOnly(true);
        }
        if (kept && script.limitBytes() >= RESPONSE_BYTES) {
            assertThat(ofLength(target, RESPONSE_BYTES)).isNotEmpty().containsOnly(true);
        }
        if (script.limitBytes() == 0) {
            assertThat(host.posted()).extracting(Posted::inline).containsOnly(false);
            assertThat(target.posted()).extracting(Posted::inline).containsOnly(false);
        }
    }

    /** In-capsule, by RDMA READ, and a read back. */
    private static void writeAndReadBack(Namespace namespace, Arena arena) throws Exception {
        byte[] data = new byte[DATA_BYTES];
        new SplittableRandom(7).nextBytes(data);
        MemorySegment out = arena.allocateFrom(ValueLayout.JAVA_BYTE, data);
        MemorySegment in = arena.allocate(DATA_BYTES);
        namespace.write(0, out.asSlice(0, 512));
        namespace.write(1, out.asSlice(512, 4096));
        namespace.write(9, out.asSlice(4608));
        namespace.flush();
        namespace.read(0, in);
        assertThat(in.mismatch(out)).isEqualTo(-1);
    }

    private static List<Boolean> ofLength(ScriptedProvider provider, int bytes) {
        return provider.posted().stream()
                .filter(posted -> posted.lengthBytes() == bytes)
                .map(Posted::inline)
                .toList();
    }
}
