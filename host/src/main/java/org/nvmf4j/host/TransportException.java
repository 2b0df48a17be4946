package org.nvmf4j.host;

/**
 * A queue that lost its connection, or a command without an answer: the operation, the work-completion status, the queue and the
 * command in one line. It ends every request of the controller; whether the target executed one of them is unknown.
 */
public class TransportException extends HostException {
    private static final long serialVersionUID = 1L;

    public TransportException(String message) {
        super(message);
    }

    public TransportException(String message, Throwable cause) {
        super(message, cause);
    }
}
