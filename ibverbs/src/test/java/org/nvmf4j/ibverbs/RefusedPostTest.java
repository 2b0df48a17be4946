package org.nvmf4j.ibverbs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.nvmf4j.verbs.ReceiveWorkRequest;
import org.nvmf4j.verbs.SendWorkRequest;
import org.nvmf4j.verbs.SharedReceiveQueue;

/** Chains of which a device takes only the beginning: what it took completes as itself, and what it did not take is not remembered. */
class RefusedPostTest {
    private static final int SUCCESS = 0;

    private final FakeRdma fake = new FakeRdma();
    private FakeEndpoint endpoint;

    @BeforeEach
    void open() throws Exception {
        endpoint = new FakeEndpoint(fake);
        endpoint.connected();
        endpoint.events.clear();
    }

    @AfterEach
    void close() {
        endpoint.close();
        fake.close();
    }

    private void takesNoMoreThan(int requests, int errno) {
        fake.room = requests;
        fake.fastResult = errno;
    }

    private void takesAll() {
        takesNoMoreThan(Integer.MAX_VALUE, 0);
    }

    @Test
    void sendsBeforeOneThatIsRefusedCompleteAsThemselves() {
        SendWorkRequest first = endpoint.send(1);
        first.next(endpoint.send(2));
        takesNoMoreThan(1, 22);
        assertThatThrownBy(() -> endpoint.pair.postSend(first))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContainingAll("ibv_post_send", "EINVAL");
        takesAll();
        endpoint.pair.postSend(endpoint.send(3));
        assertThat(fake.sendIds).hasSize(2).doesNotHaveDuplicates();
        fake.sendIds.forEach(id -> fake.completes(id, SUCCESS, endpoint.pair.number()));
        endpoint.await(() -> endpoint.events.size() == 2);
        assertThat(endpoint.events).containsExactly("SEND 1 SUCCESS", "SEND 3 SUCCESS");
    }

    private ReceiveWorkRequest chain(long first, int count) {
        ReceiveWorkRequest request = endpoint.receive(first);
        if (count > 1) {
            request.next(chain(first + 1, count - 1));
        }
        return request;
    }

    @Test
    void receivesBeforeOneThatIsRefusedCompleteAsThemselves() {
        takesNoMoreThan(1, 12);
        assertThatThrownBy(() -> endpoint.pair.postReceive(chain(1, 3)))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("ENOMEM");
        takesAll();
        endpoint.pair.postReceive(chain(4, 7));
        fake.receiveIds.subList(0, 2).forEach(id -> fake.completes(id, SUCCESS, endpoint.pair.number()));
        endpoint.await(() -> endpoint.events.size() == 2);
        assertThat(endpoint.events).containsExactly("RECEIVE 1 SUCCESS", "RECEIVE 4 SUCCESS");
    }

    @Test
    void aSharedReceiveThatIsRefusedKeepsNoRoom() throws Exception {
        SharedReceiveQueue shared = endpoint.device.createSharedReceiveQueue(endpoint.domain, 4, 2, 0);
        takesNoMoreThan(1, 12);
        assertThatThrownBy(() -> shared.postReceive(chain(1, 3)))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("ENOMEM");
        takesAll();
        shared.postReceive(chain(4, 3));
        assertThat(fake.receiveIds).hasSize(4).doesNotHaveDuplicates();
        int number = endpoint.sharing(shared).number();
        fake.receiveIds.forEach(id -> fake.completes(id, SUCCESS, number));
        endpoint.await(() -> endpoint.events.size() == 4);
        assertThat(endpoint.events)
                .containsExactly("RECEIVE 1 SUCCESS", "RECEIVE 4 SUCCESS", "RECEIVE 5 SUCCESS", "RECEIVE 6 SUCCESS");
    }
}
