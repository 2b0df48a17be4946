package org.nvmf4j.testkit.contract;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.net.InetAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.nvmf4j.linux.NetworkRoutes;
import org.nvmf4j.testkit.ScriptedProvider;
import org.nvmf4j.testkit.ScriptedProvider.AboveLimit;
import org.nvmf4j.testkit.ScriptedProvider.Posted;
import org.nvmf4j.testkit.ScriptedProvider.Script;
import org.nvmf4j.testkit.contract.Fabric.Link;
import org.nvmf4j.verbs.Device;
import org.nvmf4j.verbs.DeviceOptions;
import org.nvmf4j.verbs.InlineUse;
import org.nvmf4j.verbs.SendWorkRequest;
import org.nvmf4j.verbs.VerbsException;
import org.nvmf4j.verbs.WorkCompletionStatus;
import org.nvmf4j.verbs.WorkOpcode;

/** The core's inline decision above devices of every kind that is known, and some that are not. */
class InlineMatrixTest {
    /** i40iw 48, siw 80, bnxt 96, E810 101, qedr 128 or 256, rxe about 400 to 512, mlx5 988, mana none. */
    private static final int[] LIMITS = {0, 48, 80, 96, 101, 128, 256, 400, 512, 988};

    private static final int USUAL = Endpoint.USUAL_SEND_BYTES;
    private static final int CAPSULE_BYTES = 64;
    private static final int ROOM_BYTES = 8192;

    static Stream<Script> devices() {
        List<Script> all = new ArrayList<>();
        for (int limit : LIMITS) {
            for (AboveLimit above : List.of(AboveLimit.EINVAL, AboveLimit.ENOMEM, AboveLimit.GRANTS_LIMIT)) {
                for (boolean roundsUp : new boolean[] {false, true}) {
                    for (int inlinePosts : new int[] {Script.ALL, 0, 3}) {
                        all.add(new Script(limit, above, roundsUp, inlinePosts));
                    }
                }
            }
        }
        return all.stream();
    }

    @ParameterizedTest
    @MethodSource("devices")
    void everyDeviceCarriesTheSameBytes(Script script) throws Exception {
        ScriptedProvider provider = ScriptedProvider.overLoopback(script);
        Fabric fabric = fabric(provider, UnaryOperator.identity());
        try {
            Link link = fabric.link();
            int granted = expectedGrant(script);
            assertThat(link.host().inlineBytes()).isEqualTo(granted);
            boolean refused = USUAL > script.limitBytes() && script.aboveLimit() != AboveLimit.GRANTS_LIMIT;
            assertThat(provider.askedInlineBytes())
                    .isEqualTo(refused ? List.of(USUAL, 0, USUAL, 0) : List.of(USUAL, USUAL));

            List<Integer> lengths = lengths(granted);
            exchange(fabric, link, lengths);

            List<Boolean> inline = expectedInline(script, granted, lengths);
            assertThat(provider.posted()).extracting(Posted::inline).isEqualTo(inline);
            long inlinePosts = inline.stream().filter(i -> i).count();
            boolean refusedAtPost = script.inlinePosts() != Script.ALL && granted > 0;
            assertThat(link.host().inlineBytes()).isEqualTo(refusedAtPost ? 0 : granted);
            assertThat(fabric.host.device.counters())
                    .containsEntry("inline_posts", inlinePosts)
                    .containsEntry(
                            "by_reference_posts",
                            2 * lengths.stream().filter(n -> n > 0).count() - inlinePosts)
                    .containsEntry("inline_refused_at_creation", refused ? 1L : 0L)
                    .containsEntry("inline_granted_less", !refused && granted < USUAL ? 1L : 0L)
                    .containsEntry("inline_refused_at_post", refusedAtPost ? 1L : 0L);
        } finally {
            fabric.close();
        }
    }

    private static int expectedGrant(Script script) {
        if (USUAL <= script.limitBytes()) {
            return script.roundsUp() ? script.limitBytes() : USUAL;
        }
        return script.aboveLimit() == AboveLimit.GRANTS_LIMIT || script.roundsUp() ? script.limitBytes() : 0;
    }

    /** No data, a response, a capsule, capsules with in-capsule data, and what is granted, one less and one more. */
    private static List<Integer> lengths(int granted) {
        return List.of(
                0,
                16,
                CAPSULE_BYTES,
                Math.max(0, granted - 1),
                granted,
                granted + 1,
                CAPSULE_BYTES + 300,
                CAPSULE_BYTES + 4096,
                1);
    }

    /** Each length as a SEND and as an RDMA WRITE in one chain, of two elements where there is more than a capsule. */
    private static void exchange(Fabric fabric, Link link, List<Integer> lengths) throws VerbsException {
        for (int i = 0; i < lengths.size(); i++) {
            int bytes = lengths.get(i);
            RegisteredMemory from = fabric.host.memory(ROOM_BYTES);
            RegisteredMemory message = fabric.target.memory(ROOM_BYTES);
            RegisteredMemory written = fabric.target.memory(ROOM_BYTES);
            from.fill(0, bytes, i);
            link.target().receive(message, 0, ROOM_BYTES);
            SendWorkRequest write = gather(WorkOpcode.RDMA_WRITE, from, bytes);
            write.remote(written.address(), written.region().rkey());
            SendWorkRequest send = gather(WorkOpcode.SEND, from, bytes);
            write.next(send);
            link.host().post(write);
            assertThat(write.next()).isSameAs(send);
            fabric.awaitReceived(link.target(), i + 1);
            fabric.awaitSent(link.host(), 2 * (i + 1));
            assertThat(link.target().received.getLast().lengthBytes()).isEqualTo(bytes);
            for (RegisteredMemory copy : List.of(message, written)) {
                copy.assertFilled(0, bytes, i);
                copy.assertFresh(bytes, ROOM_BYTES - bytes);
            }
        }
        assertThat(link.host().sent).extracting(Completed::status).containsOnly(WorkCompletionStatus.SUCCESS);
    }

    private static SendWorkRequest gather(WorkOpcode opcode, RegisteredMemory from, int bytes) {
        SendWorkRequest request = new SendWorkRequest(2);
        request.opcode(opcode);
        int head = Math.min(bytes, CAPSULE_BYTES);
        request.addSge(from.segment(), 0, head, from.region().lkey());
        if (bytes > head) {
            request.addSge(from.segment(), head, bytes - head, from.region().lkey());
        }
        return request;
    }

    private static List<Boolean> expectedInline(Script script, int granted, List<Integer> lengths) {
        List<Boolean> expected = new ArrayList<>();
        int taken = 0;
        boolean on = true;
        for (int length : lengths) {
            for (int message = 0; message < 2; message++) {
                boolean inline = on && length > 0 && length <= granted;
                if (inline && taken == script.inlinePosts()) {
                    on = false;
                    inline = false;
                }
                taken += inline ? 1 : 0;
                expected.add(inline);
            }
        }
        return expected;
    }

    @Test
    void measurementsAskForNoneOrDoNotUseIt() throws Exception {
        for (InlineUse use : InlineUse.values()) {
            ScriptedProvider provider =
                    ScriptedProvider.overLoopback(new Script(512, AboveLimit.EINVAL, false, Script.ALL));
            Fabric fabric = fabric(provider, options -> options.withInlineUse(use));
            try {
                exchange(fabric, fabric.link(), List.of(CAPSULE_BYTES));
                assertThat(provider.askedInlineBytes()).containsOnly(use == InlineUse.NOT_ASKED ? 0 : USUAL);
                assertThat(provider.posted())
                        .hasSize(2)
                        .extracting(Posted::inline)
                        .containsOnly(use == InlineUse.WHERE_IT_FITS);
            } finally {
                fabric.close();
            }
        }
    }

    @Test
    void aFullSendQueueIsNotBlamedOnInline() throws Exception {
        ScriptedProvider provider =
                ScriptedProvider.overLoopback(new Script(512, AboveLimit.EINVAL, false, Script.ALL));
        Fabric fabric = fabric(provider, UnaryOperator.identity());
        try {
            Link link = fabric.link();
            provider.beFull(true);
            RegisteredMemory from = fabric.host.memory(ROOM_BYTES);
            assertThatThrownBy(() -> link.host().send(from, 0, CAPSULE_BYTES))
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessageContaining("full");
            assertThatThrownBy(() -> link.host().send(from, 0, ROOM_BYTES)).isInstanceOf(IllegalStateException.class);
            provider.beFull(false);
            exchange(fabric, link, List.of(CAPSULE_BYTES));
            assertThat(provider.posted()).extracting(Posted::inline).containsOnly(true);
            assertThat(fabric.host.device.counters())
                    .containsEntry("inline_posts", 2L)
                    .containsEntry("by_reference_posts", 0L)
                    .containsEntry("inline_refused_at_post", 0L);
        } finally {
            fabric.close();
        }
    }

    @Test
    void otherFailuresOfCreationAreNotBlamedOnInline() throws Exception {
        ScriptedProvider provider = ScriptedProvider.overLoopback(new Script(0, AboveLimit.ENODEV, false, Script.ALL));
        assertThatThrownBy(() -> fabric(provider, UnaryOperator.identity()).link())
                .isInstanceOf(VerbsException.class)
                .hasMessageContaining("No such device");
        assertThat(provider.askedInlineBytes()).containsExactly(USUAL);
    }

    @Test
    void aFailureWithoutInlineIsTheOneThatCounts() throws Exception {
        ScriptedProvider provider = ScriptedProvider.overLoopback(new Script(-1, AboveLimit.ENOMEM, false, Script.ALL));
        Fabric fabric = fabric(provider, UnaryOperator.identity());
        assertThatThrownBy(fabric::link)
                .isInstanceOf(VerbsException.class)
                .hasMessageContaining("Cannot allocate memory")
                .satisfies(e -> assertThat(e.getSuppressed()).hasSize(1));
        assertThat(provider.askedInlineBytes()).containsExactly(USUAL, 0);
        assertThat(fabric.host.device.counters()).containsEntry("inline_refused_at_creation", 0L);
        fabric.close();
    }

    private static Fabric fabric(ScriptedProvider provider, UnaryOperator<DeviceOptions> change) throws VerbsException {
        InetAddress address = NetworkRoutes.randomLoopbackAddress(ThreadLocalRandom.current());
        return new Fabric(
                Device.open(provider, change.apply(DeviceOptions.at(address))),
                Device.open(provider, change.apply(DeviceOptions.towards(address))));
    }
}
