package org.nvmf4j.testkit.contract;

import java.net.InetAddress;
import org.nvmf4j.verbs.Device;
import org.nvmf4j.verbs.VerbsException;

/** What the parts of the contract suite get from {@link ProviderContractTest}. */
interface ContractSetup {
    /** The test's two devices, of one vector each; opened by the first call, closed after the test. */
    Fabric fabric() throws VerbsException;

    /** The same with several vectors, to be asked for first. */
    Fabric fabric(int vectors) throws VerbsException;

    /** Two more devices, which the test closes. */
    Fabric newFabric(int vectors) throws VerbsException;

    /** One more device at the address of another. */
    Device openLike(Device other) throws VerbsException;

    /** Where no device answers. */
    InetAddress nobodysAddress();

    boolean allocatesNothing();

    boolean registersDmaBuf();

    boolean pinsMemory();

    boolean invalidatesRegions();

    boolean ownsItsAddress();

    boolean tellsLocalErrorsApart();
}
