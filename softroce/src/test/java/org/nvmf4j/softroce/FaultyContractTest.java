package org.nvmf4j.softroce;

import java.net.InetAddress;
import org.nvmf4j.linux.UdpOptions;
import org.nvmf4j.testkit.contract.ProviderContractTest;
import org.nvmf4j.verbs.DeviceOptions;
import org.nvmf4j.verbs.FaultOptions;
import org.nvmf4j.verbs.spi.VerbsProvider;

/** The same while both sides lose, repeat, reorder and damage a hundredth of their packets each. */
class FaultyContractTest extends ProviderContractTest {
    private static final double P = 0.01;

    @Override
    protected VerbsProvider provider() {
        return Providers.impatient(UdpOptions.Implementation.AUTOMATIC);
    }

    @Override
    protected DeviceOptions targetOptions() {
        return super.targetOptions().withFaults(new FaultOptions(P, P, P, P, 1));
    }

    @Override
    protected DeviceOptions hostOptions(InetAddress target) {
        return super.hostOptions(target).withFaults(new FaultOptions(P, P, P, P, 2));
    }

    /** Tested without faults: among retransmission timeouts it would take too long. */
    @Override
    public boolean allocatesNothing() {
        return false;
    }

    @Override
    public boolean registersDmaBuf() {
        return true;
    }
}
