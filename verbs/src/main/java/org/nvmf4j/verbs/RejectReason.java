package org.nvmf4j.verbs;

/** IBTA reject reasons (table 111) and their words. */
public final class RejectReason {
    public static final int NO_QP = 1;
    public static final int NO_RESOURCES = 3;
    public static final int TIMEOUT = 4;
    public static final int UNSUPPORTED_REQUEST = 5;
    public static final int INVALID_COMM_ID = 6;
    /** Nobody listens on the port. */
    public static final int INVALID_SERVICE_ID = 8;

    public static final int INVALID_TRANSPORT_TYPE = 9;
    /** The peer still holds a connection with this queue pair number. */
    public static final int STALE_CONNECTION = 10;

    public static final int INVALID_GID = 12;
    public static final int INVALID_MTU = 26;
    public static final int INSUFFICIENT_RESPONDER_RESOURCES = 27;
    /** The peer's user refused, and says why in the private data. */
    public static final int CONSUMER_DEFINED = 28;

    public static final int DUPLICATE_LOCAL_COMM_ID = 30;

    private RejectReason() {}

    /** The reason in words, for messages. */
    public static String words(int reason) {
        return switch (reason) {
            case NO_QP -> "no queue pair";
            case NO_RESOURCES -> "no resources";
            case TIMEOUT -> "timeout";
            case UNSUPPORTED_REQUEST -> "unsupported request";
            case INVALID_COMM_ID -> "invalid communication ID";
            case INVALID_SERVICE_ID -> "invalid service ID: nobody listens on that port";
            case INVALID_TRANSPORT_TYPE -> "invalid transport service type";
            case STALE_CONNECTION -> "stale connection";
            case INVALID_GID -> "invalid GID";
            case INVALID_MTU -> "invalid path MTU: the peer carries less, ask for a smaller path MTU";
            case INSUFFICIENT_RESPONDER_RESOURCES -> "insufficient responder resources";
            case CONSUMER_DEFINED -> "consumer defined";
            case DUPLICATE_LOCAL_COMM_ID -> "duplicate local communication ID";
            default -> "reason " + reason;
        };
    }
}
