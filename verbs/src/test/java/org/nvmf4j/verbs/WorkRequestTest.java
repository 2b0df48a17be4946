package org.nvmf4j.verbs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.lang.foreign.MemorySegment;
import org.junit.jupiter.api.Test;

class WorkRequestTest {
    @Test
    void sumsTheLengthsOfItsScatterGatherList() {
        SendWorkRequest request = new SendWorkRequest(2);
        request.addSge(MemorySegment.NULL, 0, 64, 1);
        request.addSge(MemorySegment.NULL, 0, 4096, 2);
        assertThat(request.lengthBytes()).isEqualTo(4160);
        request.clearSges();
        assertThat(request.lengthBytes()).isZero();
    }

    @Test
    void refusesOneElementTooMany() {
        SendWorkRequest request = new SendWorkRequest(1);
        request.addSge(MemorySegment.NULL, 0, 1, 0);
        assertThatThrownBy(() -> request.addSge(MemorySegment.NULL, 0, 1, 0)).isInstanceOf(IllegalStateException.class);
    }

    @Test
    void refusesAReceiveOnTheSendQueue() {
        SendWorkRequest request = new SendWorkRequest(1);
        assertThatThrownBy(() -> request.opcode(WorkOpcode.RECEIVE)).isInstanceOf(IllegalArgumentException.class);
    }
}
