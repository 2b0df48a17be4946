package org.nvmf4j.nvme;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.HashSet;
import java.util.Set;
import java.util.UUID;
import java.util.function.IntFunction;
import org.junit.jupiter.api.Test;

class NamesTest {
    private static final UUID ID = UUID.fromString("f81d4fae-7dec-11d0-a765-00a0c91e6bf6");

    @Test
    void acceptsNamesThatTheStandardAllows() {
        assertThat(Nqn.isValid(Nqn.DISCOVERY)).isTrue();
        assertThat(Nqn.isValid("nqn.2025-01.com.example:a")).isTrue();
        assertThat(Nqn.isValid("nqn." + "x".repeat(219))).isTrue();
        assertThat(Nqn.of(ID)).isEqualTo("nqn.2014-08.org.nvmexpress:uuid:f81d4fae-7dec-11d0-a765-00a0c91e6bf6");
        assertThat(Nqn.requireValid(Nqn.of(ID))).isEqualTo(Nqn.of(ID));
    }

    @Test
    void refusesOtherNamesAndSaysWhy() {
        assertThatThrownBy(() -> Nqn.requireValid("iqn.2025-01.com.example:a"))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("\"iqn.2025-01.com.example:a\" is not an NQN: it must be nqn. and a name, as in"
                        + " nqn.2025-01.com.example:disk1");
        assertThat(Nqn.isValid("")).isFalse();
        assertThat(Nqn.isValid("nqn.")).isFalse();
        assertThatThrownBy(() -> Nqn.requireValid("nqn." + "x".repeat(220)))
                .hasMessageEndingWith("it has 224 bytes, at most 223 are allowed");
        assertThat(Nqn.isValid("nqn." + "\u00e9".repeat(110))).isFalse();
        assertThat(Nqn.isValid("nqn.a b")).isFalse();
        assertThat(Nqn.isValid("nqn.a\u001b[2J")).isFalse();
        assertThat(Nqn.isValid("nqn.a\ufffd")).isFalse();
    }

    @Test
    void hostIdentityIsNameAndIdentifier() {
        assertThat(HostIdentity.of(ID)).isEqualTo(new HostIdentity(Nqn.of(ID), ID));
        assertThatThrownBy(() -> new HostIdentity("host", ID)).isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> new HostIdentity(Nqn.of(ID), new UUID(0, 0)))
                .hasMessage("the host ID is all zeroes; use a random UUID");
    }

    @Test
    void everyNumberHasANameOfItsOwn() {
        for (IntFunction<String> names : Set.<IntFunction<String>>of(
                AdminOpcode::name, IoOpcode::name, FabricsType::name, Cns::name, LogPage::name, Feature::name)) {
            Set<String> seen = new HashSet<>();
            for (int number = 0; number < 256; number++) {
                assertThat(names.apply(number)).isNotBlank();
                assertThat(seen.add(names.apply(number)))
                        .as(names.apply(number))
                        .isTrue();
            }
        }
        assertThat(AdminOpcode.name(0xc0)).isEqualTo("Admin opcode 0xc0");
    }

    @Test
    void capabilitiesAsLinuxHasThem() {
        long linux = CompletionQueueEntry.result(KernelBytes.segment("cqe-property-get-cap"), 0);
        assertThat(ControllerProperties.mqesZeroBased(linux)).isEqualTo(127);
        assertThat(ControllerProperties.timeoutMillis(linux)).isEqualTo(7500);
        assertThat(ControllerProperties.minPageSizeBytes(linux)).isEqualTo(4096);
        assertThat(ControllerProperties.maxPageSizeBytes(linux)).isEqualTo(4096);
        assertThat(linux & ControllerProperties.CAP_CSS_NVM).isNotZero();
        assertThat(linux & ControllerProperties.CAP_CSS_IO_COMMAND_SETS).isNotZero();
    }

    @Test
    void composesCapabilities() {
        long cap = ControllerProperties.cap(1023, 7_499);
        assertThat(ControllerProperties.mqesZeroBased(cap)).isEqualTo(1023);
        assertThat(ControllerProperties.timeoutMillis(cap)).isEqualTo(7500);
        assertThat(cap).isEqualTo(0x20_0f01_03ffL);
        assertThat(ControllerProperties.timeoutMillis(ControllerProperties.cap(1, 127_500)))
                .isEqualTo(127_500);
        assertThatThrownBy(() -> ControllerProperties.cap(65_536, 1)).isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> ControllerProperties.cap(1, 127_501)).isInstanceOf(IllegalArgumentException.class);
    }

    @Test
    void configurationAsLinuxSetsIt() {
        int cc = ControllerProperties.cc(true, ControllerProperties.CSS_NVM, ControllerProperties.SHN_NONE);
        assertThat(cc).isEqualTo(0x0046_0001);
        assertThat(ControllerProperties.enabled(cc)).isTrue();
        assertThat(ControllerProperties.iosqes(cc)).isEqualTo(6);
        assertThat(ControllerProperties.iocqes(cc)).isEqualTo(4);
        assertThat(ControllerProperties.mps(cc)).isZero();
        assertThat(ControllerProperties.ams(cc)).isZero();
        assertThat(ControllerProperties.css(0x0046_4061)).isEqualTo(ControllerProperties.CSS_ALL);
        assertThat(ControllerProperties.shn(0x0046_4061)).isEqualTo(ControllerProperties.SHN_NORMAL);
    }

    @Test
    void statusAsLinuxGivesIt() {
        int csts = CompletionQueueEntry.dword0(KernelBytes.segment("cqe-property-get-csts-shutdown"), 0);
        assertThat(ControllerProperties.shst(csts)).isEqualTo(ControllerProperties.SHST_COMPLETE);
        assertThat(ControllerProperties.ready(csts)).isFalse();
        assertThat(ControllerProperties.csts(false, false, ControllerProperties.SHST_COMPLETE))
                .isEqualTo(csts);
        int failed = ControllerProperties.csts(true, true, ControllerProperties.SHST_NORMAL);
        assertThat(failed).isEqualTo(3);
        assertThat(ControllerProperties.fatal(failed)).isTrue();
    }

    @Test
    void versionsInWords() {
        assertThat(ControllerProperties.version(1, 3, 0)).isEqualTo(0x0001_0300);
        assertThat(ControllerProperties.versionText(0x0001_0201)).isEqualTo("1.2.1");
        assertThat(ControllerProperties.versionText(0x0002_0000)).isEqualTo("2.0");
        assertThat(ControllerProperties.name(0x1c)).isEqualTo("CSTS");
        assertThat(ControllerProperties.name(0x38)).isEqualTo("property 0x38");
    }

    @Test
    void eventsInWords() {
        assertThat(AsyncEvent.NAMESPACE_ATTRIBUTE_CHANGED).isEqualTo(0x04_00_02);
        assertThat(AsyncEvent.DISCOVERY_LOG_CHANGED).isEqualTo(0x70_f0_02);
        assertThat(AsyncEvent.type(AsyncEvent.DISCOVERY_LOG_CHANGED)).isEqualTo(AsyncEvent.TYPE_NOTICE);
        assertThat(AsyncEvent.info(AsyncEvent.DISCOVERY_LOG_CHANGED)).isEqualTo(0xf0);
        assertThat(AsyncEvent.logPage(AsyncEvent.ANA_CHANGED)).isEqualTo(LogPage.ASYMMETRIC_NAMESPACE_ACCESS);
        assertThat(AsyncEvent.describe(AsyncEvent.ANA_CHANGED)).isEqualTo("asymmetric namespace access changed");
        assertThat(AsyncEvent.describe(AsyncEvent.event(AsyncEvent.TYPE_SMART, 1, LogPage.SMART_HEALTH_INFORMATION)))
                .isEqualTo("SMART / health 0x01, SMART / Health Information");
    }
}
