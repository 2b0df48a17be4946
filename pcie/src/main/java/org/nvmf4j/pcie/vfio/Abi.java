package org.nvmf4j.pcie.vfio;

/**
 * The kernel's VFIO interface ({@code linux/vfio.h}) on 64-bit Linux: one class a struct, one constant a field, named as in C in upper
 * case, and {@link Constants}. {@code AbiTest} compares all of them with the headers of the machine that it runs on.
 */
final class Abi {
    private Abi() {}

    /** Requests, flags and indexes; their names in C begin with {@code VFIO_}. */
    static final class Constants {
        static final int API_VERSION = 0;
        static final int TYPE1v2_IOMMU = 3;

        static final int GET_API_VERSION = 0x3b64;
        static final int CHECK_EXTENSION = 0x3b65;
        static final int SET_IOMMU = 0x3b66;
        static final int GROUP_GET_STATUS = 0x3b67;
        static final int GROUP_SET_CONTAINER = 0x3b68;
        static final int GROUP_GET_DEVICE_FD = 0x3b6a;
        static final int DEVICE_GET_INFO = 0x3b6b;
        static final int DEVICE_GET_REGION_INFO = 0x3b6c;
        static final int DEVICE_GET_IRQ_INFO = 0x3b6d;
        static final int DEVICE_SET_IRQS = 0x3b6e;
        static final int DEVICE_RESET = 0x3b6f;
        static final int IOMMU_GET_INFO = 0x3b70;
        static final int IOMMU_MAP_DMA = 0x3b71;
        static final int IOMMU_UNMAP_DMA = 0x3b72;

        static final int GROUP_FLAGS_VIABLE = 1;
        static final int DEVICE_FLAGS_RESET = 1;
        static final int REGION_INFO_FLAG_MMAP = 1 << 2;
        static final int IRQ_SET_DATA_NONE = 1;
        static final int IRQ_SET_DATA_EVENTFD = 1 << 2;
        static final int IRQ_SET_ACTION_TRIGGER = 1 << 5;
        static final int IOMMU_INFO_CAPS = 1 << 1;
        static final int IOMMU_TYPE1_INFO_CAP_IOVA_RANGE = 1;
        static final int DMA_MAP_FLAG_READ = 1;
        static final int DMA_MAP_FLAG_WRITE = 1 << 1;

        static final int PCI_CONFIG_REGION_INDEX = 7;
        static final int PCI_MSIX_IRQ_INDEX = 2;
        static final int PCI_REQ_IRQ_INDEX = 4;

        private Constants() {}
    }

    /** {@code struct vfio_group_status}. */
    static final class VfioGroupStatus {
        static final int SIZE = 8;
        static final int ARGSZ = 0;
        static final int FLAGS = 4;

        private VfioGroupStatus() {}
    }

    /** {@code struct vfio_iommu_type1_info}, without what newer headers have added. */
    static final class VfioIommuType1Info {
        static final int ARGSZ = 0;
        static final int FLAGS = 4;
        static final int IOVA_PGSIZES = 8;
        static final int CAP_OFFSET = 16;

        private VfioIommuType1Info() {}
    }

    /** {@code struct vfio_info_cap_header}. */
    static final class VfioInfoCapHeader {
        static final int SIZE = 8;
        static final int ID = 0;
        static final int NEXT = 4;

        private VfioInfoCapHeader() {}
    }

    /** {@code struct vfio_iommu_type1_info_cap_iova_range}. */
    static final class VfioIommuType1InfoCapIovaRange {
        static final int NR_IOVAS = 8;
        static final int IOVA_RANGES = 16;

        private VfioIommuType1InfoCapIovaRange() {}
    }

    /** {@code struct vfio_iova_range}; its end is inclusive. */
    static final class VfioIovaRange {
        static final int SIZE = 16;
        static final int START = 0;
        static final int END = 8;

        private VfioIovaRange() {}
    }

    /** {@code struct vfio_iommu_type1_dma_map}. */
    static final class VfioIommuType1DmaMap {
        static final int SIZE = 32;
        static final int ARGSZ = 0;
        static final int FLAGS = 4;
        static final int VADDR = 8;
        static final int IOVA = 16;
        static final int LENGTH = 24;

        private VfioIommuType1DmaMap() {}
    }

    /** {@code struct vfio_iommu_type1_dma_unmap}. */
    static final class VfioIommuType1DmaUnmap {
        static final int SIZE = 24;
        static final int ARGSZ = 0;
        static final int IOVA = 8;
        static final int LENGTH = 16;

        private VfioIommuType1DmaUnmap() {}
    }

    /** {@code struct vfio_device_info}, without what newer headers have added. */
    static final class VfioDeviceInfo {
        static final int ARGSZ = 0;
        static final int FLAGS = 4;
        static final int NUM_REGIONS = 8;
        static final int NUM_IRQS = 12;

        private VfioDeviceInfo() {}
    }

    /** {@code struct vfio_region_info}. */
    static final class VfioRegionInfo {
        static final int SIZE = 32;
        static final int ARGSZ = 0;
        static final int FLAGS = 4;
        static final int INDEX = 8;
        static final int LENGTH = 16;
        static final int OFFSET = 24;

        private VfioRegionInfo() {}
    }

    /** {@code struct vfio_irq_info}. */
    static final class VfioIrqInfo {
        static final int SIZE = 16;
        static final int ARGSZ = 0;
        static final int INDEX = 8;
        static final int COUNT = 12;

        private VfioIrqInfo() {}
    }

    /** {@code struct vfio_irq_set}; its size is where its data begin. */
    static final class VfioIrqSet {
        static final int SIZE = 20;
        static final int ARGSZ = 0;
        static final int FLAGS = 4;
        static final int INDEX = 8;
        static final int START = 12;
        static final int COUNT = 16;

        private VfioIrqSet() {}
    }
}
