/** A driver for NVMe controllers behind PCI Express, in user space. */
@NullMarked
package org.nvmf4j.pcie.nvme;

import org.jspecify.annotations.NullMarked;
