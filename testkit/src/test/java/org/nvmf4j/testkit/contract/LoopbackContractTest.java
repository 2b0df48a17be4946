package org.nvmf4j.testkit.contract;

import java.util.ServiceLoader;
import org.junit.jupiter.api.Test;
import org.nvmf4j.verbs.IdleStrategy;
import org.nvmf4j.verbs.spi.VerbsProvider;

/** The loopback provider keeps the contract. */
class LoopbackContractTest extends ProviderContractTest {
    @Override
    protected VerbsProvider provider() {
        return ServiceLoader.load(VerbsProvider.class).stream()
                .map(ServiceLoader.Provider::get)
                .filter(provider -> provider.name().equals("loopback"))
                .findFirst()
                .orElseThrow();
    }

    /** More than the contract asks for: whoever closes devices before the lanes gets no worse than an end of all traffic. */
    @Test
    void devicesMayCloseUnderTheirRunningLanes() throws Exception {
        for (int i = 0; i < 20; i++) {
            Fabric devices = newFabric(2);
            EchoTraffic traffic = new EchoTraffic(devices, IdleStrategy.BACKOFF);
            traffic.start(1, Integer.MAX_VALUE);
            if (i % 2 == 0) {
                traffic.awaitRounds(10);
            }
            devices.host.closeDevice();
            devices.target.closeDevice();
            traffic.close();
        }
    }
}
