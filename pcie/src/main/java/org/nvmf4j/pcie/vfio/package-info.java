/**
 * PCI functions in user space by Linux's VFIO: the IOMMU lets a function reach only the memory that it was given. Which functions are bound
 * to vfio-pci is the user's business; nothing here binds or unbinds one.
 */
@NullMarked
package org.nvmf4j.pcie.vfio;

import org.jspecify.annotations.NullMarked;
