package org.nvmf4j.testkit.contract;

import java.util.ServiceLoader;
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
}
