package org.nvmf4j.host;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.nvmf4j.host.FakeQueue.FakeCommand;
import org.nvmf4j.nvme.AdminOpcode;
import org.nvmf4j.nvme.AsyncEvent;
import org.nvmf4j.nvme.ConnectCommand;
import org.nvmf4j.nvme.ConnectData;
import org.nvmf4j.nvme.DiscoveryLogEntry;
import org.nvmf4j.nvme.DiscoveryLogPage;
import org.nvmf4j.nvme.Feature;
import org.nvmf4j.nvme.FeaturesCommand;
import org.nvmf4j.nvme.GetLogPageCommand;
import org.nvmf4j.nvme.IdentifyController;
import org.nvmf4j.nvme.LogPage;
import org.nvmf4j.nvme.Nqn;

@SuppressWarnings("NullAway.Init")
class EventsAndDiscoveryTest {
    private HostFixture fixture;
    private FakeTarget target;

    @BeforeEach
    void start() throws IOException {
        fixture = new HostFixture();
        target = fixture.target;
    }

    @AfterEach
    void stop() {
        fixture.close();
    }

    @Test
    void takesEventsAgainAndAgainAndReadsTheirLogPages() throws IOException {
        target.identify.oaes(AsyncEvent.NOTICE_NAMESPACE_ATTRIBUTE);
        ConcurrentLinkedQueue<Integer> events = new ConcurrentLinkedQueue<>();
        try (Host host = fixture.open(HostFixture.options().build())) {
            Controller controller = fixture.connect(host);
            controller.addEventListener(events::add);
            for (int i = 1; i <= 3; i++) {
                HostFixture.waitFor("an event request", () -> target.eventRequests() == 1);
                target.fireEvent(AsyncEvent.NAMESPACE_ATTRIBUTE_CHANGED);
                int expected = i;
                HostFixture.waitFor("the event", () -> events.size() == expected);
            }
            assertThat(events).containsOnly(AsyncEvent.NAMESPACE_ATTRIBUTE_CHANGED);
            List<FakeCommand> reads = target.log.stream()
                    .filter(c -> c.opcode() == AdminOpcode.GET_LOG_PAGE)
                    .toList();
            assertThat(reads)
                    .hasSize(3)
                    .allMatch(c -> !GetLogPageCommand.rae(c.entry, 0)
                            && GetLogPageCommand.lid(c.entry, 0) == LogPage.CHANGED_NAMESPACE_LIST);
            assertThat(target.log)
                    .anyMatch(c -> c.opcode() == AdminOpcode.SET_FEATURES
                            && FeaturesCommand.fid(c.entry, 0) == Feature.ASYNCHRONOUS_EVENT_CONFIGURATION
                            && FeaturesCommand.value(c.entry, 0) == AsyncEvent.NOTICE_NAMESPACE_ATTRIBUTE);
        }
    }

    private static List<DiscoveryLogEntry> entries(int count) {
        List<DiscoveryLogEntry> entries = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            entries.add(FakeTarget.entry("nqn.2025-01.com.example:disk" + i));
        }
        return entries;
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1, 3, 4, 5, 40})
    void readsDiscoveryLogsOfAnySize(int count) throws IOException {
        target.identify
                .cntrltype(IdentifyController.CNTRLTYPE_DISCOVERY)
                .ioccsz(0)
                .kas(0);
        target.discovery = new DiscoveryLogPage(5, entries(count));
        try (Host host = fixture.open(HostFixture.options().build())) {
            assertThat(host.discover(target.address)).isEqualTo(target.discovery);
        }
        FakeCommand connect = target.log.element();
        assertThat(ConnectCommand.katoMillis(connect.entry, 0)).isZero();
        assertThat(ConnectData.parse(target.connectData(), 0).subnqn()).isEqualTo(Nqn.DISCOVERY);
    }

    @Test
    void readsTheWholePageAtOnceFromAControllerWithoutLogPageOffsets() throws IOException {
        target.identify.cntrltype(IdentifyController.CNTRLTYPE_DISCOVERY).lpa(0);
        target.discovery = new DiscoveryLogPage(5, entries(6));
        try (Host host = fixture.open(HostFixture.options().build())) {
            assertThat(host.discover(target.address)).isEqualTo(target.discovery);
        }
        assertThat(target.log.stream().filter(c -> c.opcode() == AdminOpcode.GET_LOG_PAGE))
                .allMatch(c -> GetLogPageCommand.lpo(c.entry, 0) == 0);
    }

    @Test
    void beginsAnewWhenTheLogChanges() throws IOException {
        target.identify.cntrltype(IdentifyController.CNTRLTYPE_DISCOVERY);
        target.discovery = new DiscoveryLogPage(5, entries(8));
        int[] reads = new int[1];
        target.script = command -> {
            if (command.opcode() == AdminOpcode.GET_LOG_PAGE && ++reads[0] == 3) {
                target.discovery = new DiscoveryLogPage(6, entries(9));
            }
            return false;
        };
        try (Host host = fixture.open(HostFixture.options().build())) {
            DiscoveryLogPage page = host.discover(target.address);
            assertThat(page.genctr()).isEqualTo(6);
            assertThat(page.entries()).hasSize(9);
        }
    }

    @Test
    void givesUpOnALogThatNeverStandsStill() throws IOException {
        target.identify.cntrltype(IdentifyController.CNTRLTYPE_DISCOVERY);
        long[] generation = new long[1];
        target.script = command -> {
            if (command.opcode() == AdminOpcode.GET_LOG_PAGE) {
                target.discovery = new DiscoveryLogPage(++generation[0], entries(1));
            }
            return false;
        };
        try (Host host = fixture.open(HostFixture.options().build())) {
            assertThatThrownBy(() -> host.discover(target.address))
                    .isInstanceOf(HostException.class)
                    .hasMessageContaining("changed during each of");
        }
    }
}
