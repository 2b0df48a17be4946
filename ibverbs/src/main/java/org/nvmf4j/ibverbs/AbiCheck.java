package org.nvmf4j.ibverbs;

import org.nvmf4j.verbs.VerbsException;

/**
 * Compares what the libraries wrote into their structs with what must be there, before anything is written at an offset of {@link Abi}:
 * pointers back to what an object was made of, and numbers that were given.
 */
final class AbiCheck {
    /** {@code __VERBS_ABI_IS_EXTENDED}. */
    private static final long EXTENDED = -1;

    private static final int RDMA_PS_TCP = 0x106;

    private AbiCheck() {}

    static void context(long context) throws VerbsException {
        long name = RdmaCore.longAt(context + Abi.IbvContext.DEVICE) + Abi.IbvDevice.NAME;
        check("ibv_context", RdmaCore.longAt(context + Abi.IbvContext.ABI_COMPAT) == EXTENDED);
        check("ibv_context", RdmaCore.intAt(context + Abi.IbvContext.NUM_COMP_VECTORS) > 0);
        check("ibv_context", RdmaCore.intAt(context + Abi.IbvContext.CMD_FD) > 0);
        check("ibv_context", RdmaCore.intAt(context + Abi.IbvContext.ASYNC_FD) > 0);
        for (int function : new int[] {
            Abi.IbvContext.OPS__POLL_CQ,
            Abi.IbvContext.OPS__REQ_NOTIFY_CQ,
            Abi.IbvContext.OPS__POST_SEND,
            Abi.IbvContext.OPS__POST_RECV
        }) {
            check("ibv_context_ops", RdmaCore.longAt(context + function) != 0);
        }
        check("ibv_device", !RdmaCore.stringAt(name, Abi.IbvDevice.NAME_BYTES).isEmpty());
    }

    static void id(long id, long channel) throws VerbsException {
        check("rdma_cm_id", RdmaCore.longAt(id + Abi.RdmaCmId.CHANNEL) == channel);
        check("rdma_cm_id", RdmaCore.intAt(id + Abi.RdmaCmId.PS) == RDMA_PS_TCP);
    }

    static void domain(long domain, long context) throws VerbsException {
        check("ibv_pd", RdmaCore.longAt(domain + Abi.IbvPd.CONTEXT) == context);
    }

    static void region(long region, long context, long domain, long address, long length) throws VerbsException {
        check("ibv_mr", RdmaCore.longAt(region + Abi.IbvMr.CONTEXT) == context);
        check("ibv_mr", RdmaCore.longAt(region + Abi.IbvMr.PD) == domain);
        check("ibv_mr", RdmaCore.longAt(region + Abi.IbvMr.ADDR) == address);
        check("ibv_mr", RdmaCore.longAt(region + Abi.IbvMr.LENGTH) == length);
    }

    static void completionQueue(long queue, long context, long channel, int capacity) throws VerbsException {
        check("ibv_cq", RdmaCore.longAt(queue + Abi.IbvCq.CONTEXT) == context);
        check("ibv_cq", RdmaCore.longAt(queue + Abi.IbvCq.CHANNEL) == channel);
        check("ibv_cq", RdmaCore.intAt(queue + Abi.IbvCq.CQE) >= capacity);
    }

    static void sharedReceives(long queue, long context, long domain) throws VerbsException {
        check("ibv_srq", RdmaCore.longAt(queue + Abi.IbvSrq.CONTEXT) == context);
        check("ibv_srq", RdmaCore.longAt(queue + Abi.IbvSrq.PD) == domain);
        check("ibv_context_ops", RdmaCore.longAt(context + Abi.IbvContext.OPS__POST_SRQ_RECV) != 0);
    }

    static void queuePair(long pair, long context, long domain, long sends, long receives) throws VerbsException {
        check("ibv_qp", RdmaCore.longAt(pair + Abi.IbvQp.CONTEXT) == context);
        check("ibv_qp", RdmaCore.longAt(pair + Abi.IbvQp.PD) == domain);
        check("ibv_qp", RdmaCore.longAt(pair + Abi.IbvQp.SEND_CQ) == sends);
        check("ibv_qp", RdmaCore.longAt(pair + Abi.IbvQp.RECV_CQ) == receives);
        check("ibv_qp", RdmaCore.intAt(pair + Abi.IbvQp.QP_NUM) >>> 24 == 0);
    }

    private static void check(String struct, boolean holds) throws VerbsException {
        if (!holds) {
            throw new VerbsException("this libibverbs or librdmacm has another struct " + struct
                    + " than is known here: use provider softroce, and tell the version (dpkg -s libibverbs1)");
        }
    }
}
