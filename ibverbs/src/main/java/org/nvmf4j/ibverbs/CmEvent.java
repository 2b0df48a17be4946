package org.nvmf4j.ibverbs;

import org.nvmf4j.linux.SystemErrors;
import org.nvmf4j.verbs.ConnectionParameters;

/**
 * A copy of an {@code rdma_cm_event}.
 *
 * @param id the id that it is about: a new one if it is a connection request
 * @param status a reject reason, or a negative error number
 * @param said what the peer says of itself: the event has both READ limits as seen from here
 */
record CmEvent(Type type, long id, int status, ConnectionParameters said) {
    /** {@code enum rdma_cm_event_type}. */
    enum Type {
        ADDR_RESOLVED,
        ADDR_ERROR,
        ROUTE_RESOLVED,
        ROUTE_ERROR,
        CONNECT_REQUEST,
        CONNECT_RESPONSE,
        CONNECT_ERROR,
        UNREACHABLE,
        REJECTED,
        ESTABLISHED,
        DISCONNECTED,
        DEVICE_REMOVAL,
        MULTICAST_JOIN,
        MULTICAST_ERROR,
        ADDR_CHANGE,
        TIMEWAIT_EXIT,
        /** What later libraries know. */
        OTHER;

        private static final Type[] ALL = values();
    }

    static CmEvent copyOf(long event) {
        Type type = Type.ALL[Math.clamp(RdmaCore.intAt(event + Abi.RdmaCmEvent.EVENT), 0, Type.ALL.length - 1)];
        long data = RdmaCore.longAt(event + Abi.RdmaCmEvent.PARAM__CONN__PRIVATE_DATA);
        int length = RdmaCore.byteAt(event + Abi.RdmaCmEvent.PARAM__CONN__PRIVATE_DATA_LEN);
        ConnectionParameters said = new ConnectionParameters(
                data == 0 ? new byte[0] : RdmaCore.bytesAt(data, length),
                RdmaCore.byteAt(event + Abi.RdmaCmEvent.PARAM__CONN__INITIATOR_DEPTH),
                RdmaCore.byteAt(event + Abi.RdmaCmEvent.PARAM__CONN__RESPONDER_RESOURCES),
                RdmaCore.byteAt(event + Abi.RdmaCmEvent.PARAM__CONN__RETRY_COUNT) & 7,
                RdmaCore.byteAt(event + Abi.RdmaCmEvent.PARAM__CONN__RNR_RETRY_COUNT) & 7);
        return new CmEvent(
                type,
                RdmaCore.longAt(event + Abi.RdmaCmEvent.ID),
                RdmaCore.intAt(event + Abi.RdmaCmEvent.STATUS),
                said);
    }

    /** The error, in words. */
    String reason() {
        return status < 0 ? SystemErrors.describe(-status) : "status " + status;
    }
}
