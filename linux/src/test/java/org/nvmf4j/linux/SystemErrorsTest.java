package org.nvmf4j.linux;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class SystemErrorsTest {
    @ParameterizedTest
    @CsvSource({
        "1, EPERM, operation not permitted",
        "11, EAGAIN, resource temporarily unavailable",
        "22, EINVAL, invalid argument",
        "40, ELOOP, too many levels of symbolic links",
        "42, ENOMSG, no message of desired type",
        "59, EBFONT, bad font file format",
        "90, EMSGSIZE, message too long",
        "98, EADDRINUSE, address already in use",
        "105, ENOBUFS, no buffer space available",
        "111, ECONNREFUSED, connection refused",
        "133, EHWPOISON, memory page has hardware error"
    })
    void knowsNamesAndWords(int errno, String name, String words) {
        assertThat(SystemErrors.name(errno)).isEqualTo(name);
        assertThat(SystemErrors.describe(errno)).isEqualTo(name + " (" + words + ")");
        assertThat(SystemErrors.fromWords(words)).isEqualTo(errno);
    }

    @ParameterizedTest
    @CsvSource({"0", "-1", "41", "58", "134", "4095"})
    void givesNumberWhereThereIsNoName(int errno) {
        assertThat(SystemErrors.name(errno)).isEqualTo("errno " + errno);
        assertThat(SystemErrors.describe(errno)).isEqualTo("errno " + errno);
    }

    @Test
    void exceptionSaysCallAndError() {
        LinuxException e = new LinuxException("bind", SystemErrors.EINVAL);
        assertThat(e).hasMessage("bind: EINVAL (invalid argument)");
        assertThat(e.call()).isEqualTo("bind");
        assertThat(e.errno()).isEqualTo(22);
        assertThat(SystemErrors.fromWords("no such words")).isZero();
    }
}
