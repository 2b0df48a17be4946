package org.nvmf4j.host;

import org.nvmf4j.nvme.ControllerProperties;
import org.nvmf4j.nvme.IdentifyController;

/** What this host, as Linux', insists on of a controller before it uses it. */
final class ControllerChecks {
    private static final long PAGE_BYTES = 4096;
    private static final int COMMAND_CAPSULE_UNITS = 4;

    private ControllerChecks() {}

    static void checkCapabilities(long cap) throws HostException {
        require(
                ControllerProperties.minPageSizeBytes(cap) <= PAGE_BYTES,
                "its smallest page has " + ControllerProperties.minPageSizeBytes(cap)
                        + " bytes (CAP.MPSMIN), not 4096");
        require(
                (cap & (ControllerProperties.CAP_CSS_NVM | ControllerProperties.CAP_CSS_ADMIN_ONLY)) != 0,
                "it has no NVM command set (CAP.CSS)");
    }

    static void check(IdentifyController identify, int controllerId, int keepAliveMillis) throws HostException {
        require(
                identify.cntlid() == controllerId,
                "it identifies as controller " + identify.cntlid() + ", but Connect gave " + controllerId);
        if (identify.isDiscovery()) {
            return;
        }
        require(
                Integer.compareUnsigned(identify.ioccsz(), COMMAND_CAPSULE_UNITS) >= 0,
                "its I/O command capsules (IOCCSZ " + Integer.toUnsignedString(identify.ioccsz())
                        + ") do not hold a command");
        require(identify.iorcsz() != 0, "its I/O response capsules (IORCSZ 0) do not hold a completion");
        require(identify.icdoff() == 0, "its in-capsule data begins at an offset (ICDOFF " + identify.icdoff() + ")");
        require(
                (identify.sgls() & IdentifyController.SGLS_KEYED) != 0,
                "it has no keyed SGLs (SGLS), which RDMA needs");
        require(
                identify.kas() != 0 || keepAliveMillis == 0,
                "it has no keep alive (KAS 0); connect with keep-alive timeout 0");
    }

    private static void require(boolean condition, String problem) throws HostException {
        if (!condition) {
            throw new HostException("this controller cannot be used: " + problem);
        }
    }
}
