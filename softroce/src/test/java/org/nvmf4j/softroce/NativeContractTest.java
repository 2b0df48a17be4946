package org.nvmf4j.softroce;

import org.nvmf4j.linux.UdpOptions;
import org.nvmf4j.testkit.contract.ProviderContractTest;
import org.nvmf4j.verbs.spi.VerbsProvider;

class NativeContractTest extends ProviderContractTest {
    @Override
    protected VerbsProvider provider() {
        return Providers.impatient(UdpOptions.Implementation.NATIVE);
    }

    @Override
    public boolean registersDmaBuf() {
        return true;
    }
}
