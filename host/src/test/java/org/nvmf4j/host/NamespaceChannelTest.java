package org.nvmf4j.host;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedChannelException;
import java.util.Random;
import org.junit.jupiter.api.Test;

class NamespaceChannelTest {
    private static final int ROUNDS = 60;

    private interface Body {
        void run(FakeTarget target, NamespaceChannel channel) throws IOException;
    }

    private static void withChannel(int nsid, Body body) throws IOException {
        try (HostFixture fixture = new HostFixture();
                Host host = fixture.open(HostFixture.options().build())) {
            fixture.target.recording = false;
            Namespace namespace = fixture.connect(host).namespace(nsid);
            body.run(fixture.target, new NamespaceChannel(namespace));
        }
    }

    @Test
    void behavesAsAnArrayOfBytesWould() throws IOException {
        long seed = System.nanoTime();
        Random random = new Random(seed);
        byte[] model = new byte[FakeTarget.NAMESPACE_BYTES];
        withChannel(2, (target, channel) -> {
            for (int i = 0; i < ROUNDS; i++) {
                int at = random.nextInt(model.length);
                int length = Math.min(random.nextInt(random.nextBoolean() ? 100 : 300_000), model.length - at);
                byte[] data = new byte[length];
                channel.position(at);
                if (random.nextBoolean()) {
                    random.nextBytes(data);
                    System.arraycopy(data, 0, model, at, length);
                    assertThat(channel.write(ByteBuffer.wrap(data)))
                            .as("seed %d", seed)
                            .isEqualTo(length);
                } else {
                    assertThat(channel.read(ByteBuffer.wrap(data)))
                            .as("seed %d", seed)
                            .isEqualTo(length);
                    assertThat(MemorySegment.ofArray(data)
                                    .mismatch(MemorySegment.ofArray(model).asSlice(at, length)))
                            .as("seed %d", seed)
                            .isEqualTo(-1);
                }
                assertThat(channel.position()).isEqualTo(at + length);
            }
            channel.force();
            assertThat(target.store(2).mismatch(MemorySegment.ofArray(model)))
                    .as("seed %d", seed)
                    .isEqualTo(-1);
        });
    }

    @Test
    void endsWhereTheNamespaceEnds() throws IOException {
        withChannel(1, (target, channel) -> {
            channel.position(channel.size() - 700);
            assertThat(channel.write(ByteBuffer.allocateDirect(1_000))).isEqualTo(700);
            assertThatThrownBy(() -> channel.write(ByteBuffer.allocate(1)))
                    .isInstanceOf(HostException.class)
                    .hasMessageContaining("ends at byte 8388608");
            assertThat(channel.read(ByteBuffer.allocate(1))).isEqualTo(-1);
            channel.position(channel.size() - 700);
            ByteBuffer buffer = ByteBuffer.allocate(1_000).position(100);
            assertThat(channel.read(buffer)).isEqualTo(700);
            assertThat(buffer.position()).isEqualTo(800);
        });
    }

    @Test
    void isOfNoUseOnceClosed() throws IOException {
        withChannel(1, (target, channel) -> {
            channel.close();
            assertThat(channel.isOpen()).isFalse();
            assertThatThrownBy(() -> channel.read(ByteBuffer.allocate(1))).isInstanceOf(ClosedChannelException.class);
        });
    }
}
