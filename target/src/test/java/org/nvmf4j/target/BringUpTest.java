package org.nvmf4j.target;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Random;
import org.junit.jupiter.api.Test;
import org.nvmf4j.nvme.AdminOpcode;
import org.nvmf4j.nvme.Cns;
import org.nvmf4j.nvme.ControllerProperties;
import org.nvmf4j.nvme.Feature;
import org.nvmf4j.nvme.FeaturesCommand;
import org.nvmf4j.nvme.IdentifyController;
import org.nvmf4j.nvme.IdentifyNamespace;
import org.nvmf4j.nvme.NamespaceIdentification;
import org.nvmf4j.nvme.NamespaceList;
import org.nvmf4j.nvme.NvmeFormatException;
import org.nvmf4j.target.backend.MemoryBackend;
import org.nvmf4j.verbs.VerbsException;

/** The way from a connection to data, in the order in which a Linux host goes it. */
class BringUpTest {
    private final Namespace namespace = Namespace.of(1, new MemoryBackend(16 << 20));

    @Test
    void takesALinuxHostThroughItsSequence() throws VerbsException, NvmeFormatException {
        try (RawHost host = RawHost.withNamespace(namespace)) {
            RawQueue admin = host.connectQueuePair(0, 32);
            RawQueue.Answer connect = host.sendConnect(admin, 0, 31, 5000, RawHost.connectData(0xffff));
            assertThat(connect.status()).isZero();
            assertThat(connect.result()).isEqualTo(1);
            assertThat(connect.sqHead()).isEqualTo(1);
            assertThat(connect.invalidatedRkey()).isNotZero();

            long cap = host.getProperty(admin, ControllerProperties.CAP, 8).result();
            assertThat(ControllerProperties.mqesZeroBased(cap)).isEqualTo(1023);
            assertThat(ControllerProperties.minPageSizeBytes(cap)).isEqualTo(4096);
            host.setProperty(admin, ControllerProperties.CC, 4, 0x460000);
            assertThat(host.getProperty(admin, ControllerProperties.CC, 4).result())
                    .isEqualTo(0x460000);
            assertThat(host.getProperty(admin, ControllerProperties.CSTS, 4).result())
                    .isZero();
            host.setProperty(admin, ControllerProperties.CC, 4, 0x460001);
            assertThat(host.getProperty(admin, ControllerProperties.CSTS, 4).result())
                    .isEqualTo(1);
            assertThat(host.getProperty(admin, ControllerProperties.VS, 4).result())
                    .isEqualTo(0x10400);

            assertThat(host.identify(admin, 0, Cns.CONTROLLER).status()).isZero();
            IdentifyController id = IdentifyController.parse(admin.data.segment(), 0);
            assertThat(id.cntlid()).isEqualTo(1);
            assertThat(id.kas()).isNotZero();
            assertThat(id.ioccsz()).isEqualTo(260);
            assertThat(id.iorcsz()).isEqualTo(1);
            assertThat(id.icdoff()).isZero();
            assertThat(id.sgls()).isEqualTo(0x100005);
            assertThat(id.mdts()).isEqualTo(8);
            assertThat(id.subnqn()).isEqualTo(RawHost.SUBSYSTEM_NQN);
            assertThat(id.maxcmd()).isEqualTo(1024);

            long granted = host.setFeature(admin, Feature.NUMBER_OF_QUEUES, FeaturesCommand.numberOfQueues(2, 2))
                    .result();
            assertThat(granted).isEqualTo(0x10001);
            RawQueue first = host.connectIo(1, 128);
            RawQueue second = host.connectIo(2, 128);
            assertThat(host.setFeature(admin, Feature.ASYNCHRONOUS_EVENT_CONFIGURATION, 0x100)
                            .status())
                    .isZero();
            host.sendEventRequest(admin);

            host.identify(admin, 0, Cns.ACTIVE_NAMESPACE_LIST);
            assertThat(NamespaceList.parse(admin.data.segment(), 0)).containsExactly(1);
            host.identify(admin, 1, Cns.NAMESPACE_IDENTIFICATION_DESCRIPTORS);
            assertThat(NamespaceIdentification.parse(admin.data.segment(), 0).uuid())
                    .isEqualTo(namespace.uuid());
            host.identify(admin, 1, Cns.NAMESPACE);
            IdentifyNamespace ns = IdentifyNamespace.parse(admin.data.segment(), 0);
            assertThat(ns.nsze()).isEqualTo(32768);
            assertThat(ns.lbaFormat().blockSizeBytes()).isEqualTo(512);

            byte[] small = random(4096);
            byte[] large = random(1 << 20);
            assertThat(host.writeInCapsule(first, 1, 8, 8, small).status()).isZero();
            assertThat(host.write(second, 1, 2048, 2048, large).status()).isZero();
            assertThat(host.read(second, 1, 8, 8, 4096)).isEqualTo(small);
            assertThat(host.read(first, 1, 2048, 2048, 1 << 20)).isEqualTo(large);
            assertThat(host.plain(first, 0, 1).status()).isZero();
            assertThat(host.plain(admin, AdminOpcode.KEEP_ALIVE, 0).status()).isZero();

            first.disconnect();
            second.disconnect();
            host.setProperty(admin, ControllerProperties.CC, 4, 0x464001);
            assertThat(host.getProperty(admin, ControllerProperties.CSTS, 4).result() & 0xc)
                    .isEqualTo(8);
            admin.disconnect();
            host.pumpUntil("end of the queues", () -> host.target.statistics().queues() == 0);
            assertThat(host.target.statistics().buffersInUse()).isZero();
        }
    }

    private static byte[] random(int length) {
        byte[] bytes = new byte[length];
        new Random(length).nextBytes(bytes);
        return bytes;
    }
}
