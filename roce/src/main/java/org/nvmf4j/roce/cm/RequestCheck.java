package org.nvmf4j.roce.cm;

import java.net.InetAddress;
import org.jspecify.annotations.Nullable;
import org.nvmf4j.roce.wire.CmMessage;
import org.nvmf4j.roce.wire.IpCmHeader;
import org.nvmf4j.roce.wire.PathMtu;
import org.nvmf4j.verbs.RejectReason;

/** Whether a REQ makes sense to a device, by itself. */
final class RequestCheck {
    private static final int RELIABLE_CONNECTION = 0;

    private RequestCheck() {}

    /**
     * The reason to refuse, or 0.
     *
     * @param header what was read from the front of the private data
     */
    static int reason(CmMessage.Req req, @Nullable IpCmHeader header, InetAddress source, CmOptions options) {
        if (req.transportType() != RELIABLE_CONNECTION) {
            return RejectReason.INVALID_TRANSPORT_TYPE;
        }
        if (!isUsableQpn(req.qpn())) {
            return RejectReason.UNSUPPORTED_REQUEST;
        }
        CmMessage.Path path = req.path();
        if (!path.localGid().equals(source) || !path.remoteGid().equals(options.localAddress())) {
            return RejectReason.INVALID_GID;
        }
        // A larger path MTU would be a connection that loses every large packet.
        if (!PathMtu.isValidCode(req.pathMtuCode()) || PathMtu.bytes(req.pathMtuCode()) > options.pathMtuBytes()) {
            return RejectReason.INVALID_MTU;
        }
        // As Linux refuses it, without a word for the peer's user.
        boolean own = header != null
                && header.source().equals(source)
                && header.destination().equals(options.localAddress());
        return own ? 0 : RejectReason.CONSUMER_DEFINED;
    }

    /** Whether a queue pair may have this number: 0, 1 and the multicast number may not. */
    static boolean isUsableQpn(int qpn) {
        return qpn > 1 && qpn < 0xFF_FFFF;
    }
}
