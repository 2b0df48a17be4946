package org.nvmf4j.pcie.vfio;

import java.io.IOException;
import java.nio.file.Path;
import java.util.stream.Collectors;
import org.nvmf4j.linux.LinuxException;
import org.nvmf4j.linux.SystemErrors;
import org.nvmf4j.pcie.NvmeFunction;
import org.nvmf4j.pcie.PciAddress;

/** What the kernel's refusals mean, and what to do: one line each. */
final class VfioErrors {
    private VfioErrors() {}

    static IOException open(Path file, LinuxException e) {
        return switch (e.errno()) {
            case SystemErrors.ENOENT, SystemErrors.ENODEV ->
                new IOException("there is no VFIO here (" + file + "): run 'modprobe vfio-pci'", e);
            case SystemErrors.EACCES, SystemErrors.EPERM -> noPermission(file, e);
            default -> e;
        };
    }

    static IOException group(Path file, LinuxException e) {
        return switch (e.errno()) {
            case SystemErrors.EBUSY ->
                new IOException(
                        file + " is in use, by another process or by this one: stop it first" + " ('fuser -v " + file
                                + "' names it)",
                        e);
            case SystemErrors.ENOENT, SystemErrors.ENODEV ->
                new IOException(file + " is not there although its function is bound to vfio-pci: bind it again", e);
            case SystemErrors.EACCES, SystemErrors.EPERM -> noPermission(file, e);
            default -> e;
        };
    }

    private static IOException noPermission(Path file, LinuxException e) {
        return new IOException("no permission to open " + file + ": run as root, or 'chown USER " + file + "'", e);
    }

    static IOException notViable(NvmeFunction function) {
        String others = function.groupMates().stream()
                .filter(mate -> mate.standsInTheWay())
                .map(NvmeFunction.GroupMate::toString)
                .collect(Collectors.joining(", "));
        return new IOException("IOMMU group " + function.iommuGroup() + " of " + function.address()
                + " has functions that other drivers use"
                + (others.isEmpty() ? "" : ": " + others)
                + "; bind these to vfio-pci too, or unbind them");
    }

    static IOException iommu(PciAddress address, LinuxException e) {
        return e.errno() == SystemErrors.EPERM
                ? new IOException(
                        "the IOMMU does not remap interrupts, so that VFIO keeps " + address
                                + " from user space: turn on interrupt remapping in the firmware, or, where all devices are"
                                + " trusted, load vfio_iommu_type1 with allow_unsafe_interrupts=1",
                        e)
                : new IOException("the IOMMU cannot take " + address + ": " + SystemErrors.describe(e.errno()), e);
    }

    static IOException device(PciAddress address, LinuxException e) {
        return e.errno() == SystemErrors.ENODEV
                ? new IOException(address + " was unplugged or given to another driver just now", e)
                : new IOException("VFIO does not give " + address + ": " + SystemErrors.describe(e.errno()), e);
    }

    static IOException map(long bytes, LinuxException e) {
        return switch (e.errno()) {
            case SystemErrors.ENOMEM ->
                new IOException(
                        "memory of " + bytes + " bytes cannot be locked for devices: run as root or raise"
                                + " the limit (ulimit -l, LimitMEMLOCK= of systemd)",
                        e);
            case SystemErrors.ENOSPC ->
                new IOException("no more mappings for devices: load vfio_iommu_type1 with a larger dma_entry_limit", e);
            case SystemErrors.EFAULT ->
                new IOException("memory of " + bytes + " bytes cannot be pinned for devices", e);
            default -> new IOException("VFIO does not map " + bytes + " bytes: " + SystemErrors.describe(e.errno()), e);
        };
    }
}
