package org.nvmf4j.nvme;

import java.util.Locale;

/** What an Identify command asks for: values of CNS (NVMe Base 2.0). Every answer has {@link #DATA_BYTES}. */
public final class Cns {
    public static final int DATA_BYTES = 4096;

    /** {@link IdentifyNamespace}. */
    public static final int NAMESPACE = 0x00;
    /** {@link IdentifyController}. */
    public static final int CONTROLLER = 0x01;
    /** {@link NamespaceList} of active namespaces above the command's NSID. */
    public static final int ACTIVE_NAMESPACE_LIST = 0x02;
    /** {@link NamespaceIdentification}. */
    public static final int NAMESPACE_IDENTIFICATION_DESCRIPTORS = 0x03;
    /** {@link IdentifyNamespaceNvm} if the command's CSI is the NVM command set. */
    public static final int COMMAND_SET_NAMESPACE = 0x05;
    /** {@link IdentifyControllerNvm} if the command's CSI is the NVM command set. */
    public static final int COMMAND_SET_CONTROLLER = 0x06;
    /** {@link NamespaceList} of active namespaces of one I/O command set. */
    public static final int COMMAND_SET_ACTIVE_NAMESPACE_LIST = 0x07;
    /** {@link IdentifyNamespaceIndependent}. */
    public static final int COMMAND_SET_INDEPENDENT_NAMESPACE = 0x08;

    public static final int ALLOCATED_NAMESPACE_LIST = 0x10;
    public static final int ALLOCATED_NAMESPACE = 0x11;
    public static final int NAMESPACE_ATTACHED_CONTROLLER_LIST = 0x12;
    public static final int CONTROLLER_LIST = 0x13;
    public static final int COMMAND_SETS = 0x1c;

    /** CSI: the NVM command set. */
    public static final int CSI_NVM = 0;

    private Cns() {}

    /** In words, or the number in hexadecimal. */
    public static String name(int cns) {
        return switch (cns) {
            case NAMESPACE -> "namespace";
            case CONTROLLER -> "controller";
            case ACTIVE_NAMESPACE_LIST -> "active namespace list";
            case NAMESPACE_IDENTIFICATION_DESCRIPTORS -> "namespace identification descriptors";
            case COMMAND_SET_NAMESPACE -> "I/O command set specific namespace";
            case COMMAND_SET_CONTROLLER -> "I/O command set specific controller";
            case COMMAND_SET_ACTIVE_NAMESPACE_LIST -> "I/O command set specific active namespace list";
            case COMMAND_SET_INDEPENDENT_NAMESPACE -> "I/O command set independent namespace";
            case ALLOCATED_NAMESPACE_LIST -> "allocated namespace list";
            case ALLOCATED_NAMESPACE -> "allocated namespace";
            case NAMESPACE_ATTACHED_CONTROLLER_LIST -> "namespace attached controller list";
            case CONTROLLER_LIST -> "controller list";
            case COMMAND_SETS -> "I/O command sets";
            default -> String.format(Locale.ROOT, "CNS 0x%02x", cns);
        };
    }
}
