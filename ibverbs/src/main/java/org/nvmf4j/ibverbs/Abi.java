package org.nvmf4j.ibverbs;

/**
 * Where rdma-core's structs have their fields on 64-bit Linux: one class a struct, one constant a field, named as in C in upper case and
 * with two underscores for a dot. {@code AbiTest} compares all of them with the headers of the machine that it runs on. What can be
 * checked at run time is, in {@link AbiCheck}.
 */
final class Abi {
    private Abi() {}

    /** {@code struct ibv_device}. */
    static final class IbvDevice {
        static final int SIZE = 664;
        static final int NAME = 24;
        static final int NAME_BYTES = 64;

        private IbvDevice() {}
    }

    /** {@code struct ibv_context}; the functions behind the inline verbs are in it. */
    static final class IbvContext {
        static final int SIZE = 328;
        static final int DEVICE = 0;
        static final int OPS__POLL_CQ = 96;
        static final int OPS__REQ_NOTIFY_CQ = 104;
        static final int OPS__POST_SRQ_RECV = 168;
        static final int OPS__POST_SEND = 208;
        static final int OPS__POST_RECV = 216;
        static final int CMD_FD = 264;
        static final int ASYNC_FD = 268;
        static final int NUM_COMP_VECTORS = 272;
        static final int ABI_COMPAT = 320;

        private IbvContext() {}
    }

    /** {@code struct ibv_device_attr}. */
    static final class IbvDeviceAttr {
        static final int SIZE = 232;
        static final int MAX_QP_WR = 112;
        static final int MAX_SGE = 120;
        static final int MAX_SGE_RD = 124;
        static final int MAX_CQE = 132;
        static final int MAX_QP_RD_ATOM = 144;
        static final int MAX_QP_INIT_RD_ATOM = 156;
        static final int PHYS_PORT_CNT = 227;

        private IbvDeviceAttr() {}
    }

    /** {@code struct ibv_port_attr}. */
    static final class IbvPortAttr {
        static final int SIZE = 52;
        static final int STATE = 0;
        static final int MAX_MTU = 4;
        static final int ACTIVE_MTU = 8;
        static final int GID_TBL_LEN = 12;
        static final int LINK_LAYER = 46;

        private IbvPortAttr() {}
    }

    /** {@code struct ibv_comp_channel}. */
    static final class IbvCompChannel {
        static final int CONTEXT = 0;
        static final int FD = 8;

        private IbvCompChannel() {}
    }

    /** {@code struct ibv_pd}. */
    static final class IbvPd {
        static final int CONTEXT = 0;

        private IbvPd() {}
    }

    /** {@code struct ibv_mr}. */
    static final class IbvMr {
        static final int SIZE = 48;
        static final int CONTEXT = 0;
        static final int PD = 8;
        static final int ADDR = 16;
        static final int LENGTH = 24;
        static final int LKEY = 36;
        static final int RKEY = 40;

        private IbvMr() {}
    }

    /** {@code struct ibv_cq}. */
    static final class IbvCq {
        static final int SIZE = 128;
        static final int CONTEXT = 0;
        static final int CHANNEL = 8;
        static final int CQE = 28;

        private IbvCq() {}
    }

    /** {@code struct ibv_srq}. */
    static final class IbvSrq {
        static final int CONTEXT = 0;
        static final int PD = 16;

        private IbvSrq() {}
    }

    /** {@code struct ibv_srq_init_attr}. */
    static final class IbvSrqInitAttr {
        static final int SIZE = 24;
        static final int ATTR__MAX_WR = 8;
        static final int ATTR__MAX_SGE = 12;

        private IbvSrqInitAttr() {}
    }

    /** {@code struct ibv_qp}. */
    static final class IbvQp {
        static final int SIZE = 160;
        static final int CONTEXT = 0;
        static final int PD = 16;
        static final int SEND_CQ = 24;
        static final int RECV_CQ = 32;
        static final int QP_NUM = 52;

        private IbvQp() {}
    }

    /** {@code struct ibv_qp_init_attr}. */
    static final class IbvQpInitAttr {
        static final int SIZE = 64;
        static final int SEND_CQ = 8;
        static final int RECV_CQ = 16;
        static final int SRQ = 24;
        static final int CAP__MAX_SEND_WR = 32;
        static final int CAP__MAX_RECV_WR = 36;
        static final int CAP__MAX_SEND_SGE = 40;
        static final int CAP__MAX_RECV_SGE = 44;
        static final int CAP__MAX_INLINE_DATA = 48;
        static final int QP_TYPE = 52;
        static final int SQ_SIG_ALL = 56;

        private IbvQpInitAttr() {}
    }

    /** {@code struct ibv_qp_attr}. */
    static final class IbvQpAttr {
        static final int SIZE = 144;
        static final int QP_STATE = 0;
        static final int QP_ACCESS_FLAGS = 32;
        static final int PKEY_INDEX = 120;
        static final int MAX_RD_ATOMIC = 126;
        static final int MAX_DEST_RD_ATOMIC = 127;
        static final int MIN_RNR_TIMER = 128;
        static final int PORT_NUM = 129;

        private IbvQpAttr() {}
    }

    /** {@code struct ibv_sge}. */
    static final class IbvSge {
        static final int SIZE = 16;
        static final int ADDR = 0;
        static final int LENGTH = 8;
        static final int LKEY = 12;

        private IbvSge() {}
    }

    /** {@code struct ibv_send_wr}. */
    static final class IbvSendWr {
        static final int SIZE = 128;
        static final int WR_ID = 0;
        static final int NEXT = 8;
        static final int SG_LIST = 16;
        static final int NUM_SGE = 24;
        static final int OPCODE = 28;
        static final int SEND_FLAGS = 32;
        static final int INVALIDATE_RKEY = 36;
        static final int WR__RDMA__REMOTE_ADDR = 40;
        static final int WR__RDMA__RKEY = 48;

        private IbvSendWr() {}
    }

    /** {@code struct ibv_recv_wr}. */
    static final class IbvRecvWr {
        static final int SIZE = 32;
        static final int WR_ID = 0;
        static final int NEXT = 8;
        static final int SG_LIST = 16;
        static final int NUM_SGE = 24;

        private IbvRecvWr() {}
    }

    /** {@code struct ibv_wc}. */
    static final class IbvWc {
        static final int SIZE = 48;
        static final int WR_ID = 0;
        static final int STATUS = 8;
        static final int VENDOR_ERR = 16;
        static final int BYTE_LEN = 20;
        static final int INVALIDATED_RKEY = 24;
        static final int QP_NUM = 28;
        static final int WC_FLAGS = 36;

        private IbvWc() {}
    }

    /** {@code struct ibv_async_event}. */
    static final class IbvAsyncEvent {
        static final int SIZE = 16;
        static final int ELEMENT = 0;
        static final int EVENT_TYPE = 8;

        private IbvAsyncEvent() {}
    }

    /** {@code struct rdma_event_channel}. */
    static final class RdmaEventChannel {
        static final int FD = 0;

        private RdmaEventChannel() {}
    }

    /** {@code struct rdma_cm_id}. */
    static final class RdmaCmId {
        static final int SIZE = 416;
        static final int VERBS = 0;
        static final int CHANNEL = 8;
        static final int ROUTE__ADDR__SRC_ADDR = 32;
        static final int ROUTE__ADDR__DST_ADDR = 160;
        static final int PS = 344;
        static final int PORT_NUM = 348;

        private RdmaCmId() {}
    }

    /** {@code struct rdma_cm_event}. */
    static final class RdmaCmEvent {
        static final int SIZE = 80;
        static final int ID = 0;
        static final int LISTEN_ID = 8;
        static final int EVENT = 16;
        static final int STATUS = 20;
        static final int PARAM__CONN__PRIVATE_DATA = 24;
        static final int PARAM__CONN__PRIVATE_DATA_LEN = 32;
        static final int PARAM__CONN__RESPONDER_RESOURCES = 33;
        static final int PARAM__CONN__INITIATOR_DEPTH = 34;
        static final int PARAM__CONN__RETRY_COUNT = 36;
        static final int PARAM__CONN__RNR_RETRY_COUNT = 37;

        private RdmaCmEvent() {}
    }

    /** {@code struct rdma_conn_param}. */
    static final class RdmaConnParam {
        static final int SIZE = 24;
        static final int PRIVATE_DATA = 0;
        static final int PRIVATE_DATA_LEN = 8;
        static final int RESPONDER_RESOURCES = 9;
        static final int INITIATOR_DEPTH = 10;
        static final int FLOW_CONTROL = 11;
        static final int RETRY_COUNT = 12;
        static final int RNR_RETRY_COUNT = 13;
        static final int QP_NUM = 16;

        private RdmaConnParam() {}
    }
}
