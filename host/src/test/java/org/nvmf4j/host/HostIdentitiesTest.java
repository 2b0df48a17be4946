package org.nvmf4j.host;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.UUID;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.nvmf4j.nvme.HostIdentity;
import org.nvmf4j.nvme.Nqn;

class HostIdentitiesTest {
    private static final UUID ID = UUID.fromString("0f0e0d0c-0b0a-4908-8706-050403020100");

    @TempDir
    @SuppressWarnings("NullAway.Init")
    Path folder;

    private void write(String name, String content) throws IOException {
        Files.writeString(folder.resolve(name), content);
    }

    @Test
    void readsWhatNvmeCliKeeps() throws IOException {
        write("hostnqn", "nqn.2025-01.com.example:host\n");
        write("hostid", ID + "\n");
        assertThat(HostIdentities.read(folder)).isEqualTo(new HostIdentity("nqn.2025-01.com.example:host", ID));
    }

    @Test
    void takesTheIdentifierFromTheNqnWhereItHasOne() throws IOException {
        write("hostnqn", Nqn.of(ID));
        assertThat(HostIdentities.read(folder)).isEqualTo(HostIdentity.of(ID));
    }

    @Test
    void findsNothingInAnEmptyFolder() {
        assertThat(HostIdentities.read(folder)).isNull();
    }

    @Test
    void derivesTheSameIdentifierForTheSameNqn() {
        HostIdentity first = HostIdentities.of("nqn.2025-01.com.example:derived");
        assertThat(HostIdentities.of("nqn.2025-01.com.example:derived")).isEqualTo(first);
        assertThat(HostIdentities.of("nqn.2025-01.com.example:other").hostId()).isNotEqualTo(first.hostId());
    }

    @Test
    void refusesToPairOneIdentifierWithTwoNqns() throws HostException {
        UUID id = UUID.randomUUID();
        HostIdentities.claim(new HostIdentity("nqn.2025-01.com.example:one", id));
        HostIdentities.claim(new HostIdentity("nqn.2025-01.com.example:one", id));
        assertThatThrownBy(() -> HostIdentities.claim(new HostIdentity("nqn.2025-01.com.example:two", id)))
                .isInstanceOf(HostException.class)
                .hasMessageContaining("belongs to host NQN nqn.2025-01.com.example:one");
    }

    @Test
    void refusesToPairThisMachinesIdentifierWithAnotherNqn() {
        UUID local = HostIdentities.local().hostId();
        assertThatThrownBy(() -> HostIdentities.claim(new HostIdentity("nqn.2025-01.com.example:thief", local)))
                .isInstanceOf(HostException.class);
    }
}
