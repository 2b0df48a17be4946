package org.nvmf4j.pcie;

import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.nvmf4j.nvme.ControllerMemoryBuffer;

/**
 * A PCI function as a driver of ours sees it: who drives it now, with whom it shares an IOMMU group, and what would be lost if it
 * were taken away from the kernel.
 *
 * @param driver its name, empty if there is none
 * @param iommuGroup its number, -1 if there is none
 * @param groupMates the other functions of the group
 * @param namespaces the kernel's block devices on it
 * @param memoryBuffer what the kernel's driver says of the controller memory buffer; null if it says nothing
 */
public record NvmeFunction(
        PciAddress address,
        String driver,
        int iommuGroup,
        List<GroupMate> groupMates,
        List<Namespace> namespaces,
        @Nullable ControllerMemoryBuffer memoryBuffer) {
    /** The driver that gives functions to user space. */
    public static final String VFIO_DRIVER = "vfio-pci";

    /** Copies the lists. */
    public NvmeFunction {
        groupMates = List.copyOf(groupMates);
        namespaces = List.copyOf(namespaces);
    }

    /**
     * Another function of the group: the IOMMU does not tell them apart, so that they go to user space all or none.
     *
     * @param driver its name, empty if there is none
     * @param bridge whether it is a bridge, which may stay with its driver
     */
    public record GroupMate(PciAddress address, String driver, boolean bridge) {
        /** Whether its driver must give it up first. */
        public boolean standsInTheWay() {
            return !bridge && !driver.isEmpty() && !driver.equals(VFIO_DRIVER) && !driver.equals("pci-stub");
        }

        @Override
        public String toString() {
            return driver.isEmpty() ? address.toString() : address + " (" + driver + ")";
        }
    }

    /**
     * A block device.
     *
     * @param uses for people: where it or a partition is mounted, and what else holds it; empty if that is nobody
     */
    public record Namespace(String name, List<String> uses) {
        /** Copies the list. */
        public Namespace {
            uses = List.copyOf(uses);
        }
    }

    public boolean isOurs() {
        return driver.equals(VFIO_DRIVER);
    }

    /** What uses its namespaces, for people; empty if nothing that can be seen does. */
    public String uses() {
        return namespaces.stream()
                .flatMap(namespace -> namespace.uses.stream())
                .distinct()
                .collect(Collectors.joining(", "));
    }

    /** Why a driver of ours cannot have it, and what to do, in one line; empty if it can, as far as sysfs tells. */
    public String refusal() {
        if (!uses().isEmpty()) {
            return address + " is in use: " + uses() + "; end that first, or take another drive";
        }
        if (iommuGroup < 0) {
            return address + " is in no IOMMU group: turn on the IOMMU in the firmware (VT-d, AMD-Vi) and, on Intel,"
                    + " by the kernel argument intel_iommu=on";
        }
        if (driver.isEmpty()) {
            return address + " has no driver: bind it to vfio-pci ('nvmf pcie list' says how)";
        }
        if (!isOurs()) {
            return address + " belongs to driver " + driver + ": bind it to vfio-pci ('nvmf pcie list' says how)";
        }
        return "";
    }

    /** The shell commands that bind it to vfio-pci; none if it is, or cannot or should not be. */
    public List<String> bindCommands() {
        if (isOurs() || iommuGroup < 0 || !uses().isEmpty()) {
            return List.of();
        }
        String folder = "/sys/bus/pci/devices/" + address;
        List<String> commands = new ArrayList<>();
        commands.add("modprobe -a vfio-pci vfio_iommu_type1");
        commands.add("echo " + VFIO_DRIVER + " > " + folder + "/driver_override");
        if (!driver.isEmpty()) {
            commands.add("echo " + address + " > " + folder + "/driver/unbind");
        }
        commands.add("echo " + address + " > /sys/bus/pci/drivers_probe");
        return commands;
    }
}
