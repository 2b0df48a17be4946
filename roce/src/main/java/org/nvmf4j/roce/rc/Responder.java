package org.nvmf4j.roce.rc;

import java.lang.foreign.MemorySegment;
import org.nvmf4j.roce.wire.AethSyndrome;
import org.nvmf4j.roce.wire.Bth;
import org.nvmf4j.roce.wire.Ieth;
import org.nvmf4j.roce.wire.Opcode;
import org.nvmf4j.roce.wire.Reth;
import org.nvmf4j.verbs.MemoryRegion;
import org.nvmf4j.verbs.WorkCompletionStatus;

/**
 * The half of a queue pair that takes requests, strictly in the order of their PSNs, and executes each once. What it has to say in
 * return is kept by {@link Acknowledgements} and {@link ReadResponses}.
 */
final class Responder {
    /** Opcode flags of a message in progress that is none. */
    private static final int NO_MESSAGE = 0;

    private final RcContext context;
    private final ReceiveQueue receives;
    private final ReadResponses reads;
    private final Acknowledgements acknowledgements;

    private long firstPsn;
    private long expected;
    private int msn;

    /** {@link Opcode#SEND}, {@link Opcode#WRITE} or {@link #NO_MESSAGE}. */
    private int message = NO_MESSAGE;
    /** SEND: bytes of the message placed. */
    private long placed;
    /** WRITE: where the next byte goes, under which key, and how many are still to come. */
    private long writeAddress;

    private int writeRkey;
    private long writeLeft;

    Responder(RcContext context, ReceiveQueue receives) {
        this.context = context;
        this.receives = receives;
        reads = new ReadResponses(context);
        acknowledgements = new Acknowledgements(context, reads);
    }

    void connect(RcParameters parameters) {
        firstPsn = parameters.receivePsn();
        expected = firstPsn;
        reads.connect(parameters.responderResources());
        acknowledgements.connect(parameters);
    }

    Acknowledgements acknowledgements() {
        return acknowledgements;
    }

    /** Takes a request packet whose lengths have been checked against each other. */
    void onRequest(MemorySegment packet, long offset, int opcode, int payloadBytes, long nowNanos) {
        long psn = RcContext.unwrap(Bth.psn(packet, offset), expected);
        if (psn == expected) {
            execute(packet, offset, opcode, payloadBytes, nowNanos);
        } else if (psn > expected) {
            context.statistics.outOfSequenceRequests++;
            acknowledgements.onGap(psn);
        } else if (psn >= firstPsn) {
            onDuplicate(packet, offset, opcode, psn);
        } else {
            context.statistics.badPackets++;
        }
    }

    private void onDuplicate(MemorySegment packet, long offset, int opcode, long psn) {
        context.statistics.duplicateRequests++;
        int flags = Opcode.flags(opcode);
        if ((flags & (Opcode.SEND | Opcode.WRITE)) != 0) {
            acknowledgements.onDuplicate(reads.lastPsnBeforeRead(psn, expected - 1));
        } else if ((flags & Opcode.READ_REQUEST) != 0) {
            long reth = offset + Bth.LENGTH;
            long address = Reth.virtualAddress(packet, reth);
            if (reads.repeat(psn, address, Reth.rKey(packet, reth), Reth.dmaLengthBytes(packet, reth), msn)) {
                acknowledgements.onRead(psn, msn);
            }
        }
    }

    private void execute(MemorySegment packet, long offset, int opcode, int payloadBytes, long nowNanos) {
        int flags = Opcode.flags(opcode);
        if (!isInSequence(flags) || !isLengthRight(flags, payloadBytes)) {
            nak(AethSyndrome.NAK_INVALID_REQUEST);
            return;
        }
        if ((flags & Opcode.READ_REQUEST) != 0) {
            executeRead(packet, offset + Bth.LENGTH);
            return;
        }
        boolean executed = (flags & Opcode.SEND) != 0
                ? executeSend(packet, offset, opcode, flags, payloadBytes)
                : executeWrite(packet, offset, opcode, flags, payloadBytes);
        if (executed) {
            expected++;
            boolean ends = (flags & Opcode.ENDS_MESSAGE) != 0;
            if (ends) {
                msn++;
                message = NO_MESSAGE;
            }
            acknowledgements.onExecuted(Bth.ackRequest(packet, offset), ends, expected, msn, nowNanos);
        }
    }

    /** Whether the opcode is one that is served, and may follow the one before. */
    private boolean isInSequence(int flags) {
        if ((flags & (Opcode.ATOMIC | Opcode.HAS_IMMDT)) != 0) {
            return false;
        }
        return (flags & Opcode.STARTS_MESSAGE) != 0 ? message == NO_MESSAGE : (flags & message) != 0;
    }

    private boolean isLengthRight(int flags, int payloadBytes) {
        if ((flags & (Opcode.FIRST | Opcode.MIDDLE)) != 0) {
            return payloadBytes == context.mtuBytes;
        }
        return payloadBytes <= context.mtuBytes && (payloadBytes > 0 || (flags & Opcode.LAST) == 0);
    }

    private boolean executeSend(MemorySegment packet, long offset, int opcode, int flags, int payloadBytes) {
        if ((flags & Opcode.STARTS_MESSAGE) != 0) {
            if (!receives.hasNext()) {
                acknowledgements.onReceiverNotReady();
                return false;
            }
            message = Opcode.SEND;
            placed = 0;
        }
        if (payloadBytes > receives.lengthBytes() - placed) {
            failReceive(AethSyndrome.NAK_INVALID_REQUEST, WorkCompletionStatus.LOCAL_LENGTH_ERROR);
            return false;
        }
        if (!receives.write(placed, packet, offset + Opcode.headerBytes(opcode), payloadBytes)) {
            failReceive(AethSyndrome.NAK_REMOTE_OPERATIONAL_ERROR, WorkCompletionStatus.LOCAL_PROTECTION_ERROR);
            return false;
        }
        placed += payloadBytes;
        return (flags & Opcode.ENDS_MESSAGE) == 0 || completeReceive(packet, offset, opcode, flags);
    }

    private boolean completeReceive(MemorySegment packet, long offset, int opcode, int flags) {
        int rkey = 0;
        if ((flags & Opcode.HAS_IETH) != 0) {
            rkey = Ieth.rKey(packet, offset + Opcode.secondExtensionOffset(opcode));
            if (!context.memory.invalidate(context.domain, rkey)) {
                context.fail(); // and no NAK: the message itself has arrived (IBTA's error class J)
                receives.complete(WorkCompletionStatus.REMOTE_INVALID_REQUEST, 0, 0);
                return false;
            }
        }
        receives.complete(WorkCompletionStatus.SUCCESS, (int) placed, rkey);
        return true;
    }

    private boolean executeWrite(MemorySegment packet, long offset, int opcode, int flags, int payloadBytes) {
        if ((flags & Opcode.STARTS_MESSAGE) != 0 && !beginWrite(packet, offset + Bth.LENGTH)) {
            return false;
        }
        boolean ends = (flags & Opcode.ENDS_MESSAGE) != 0;
        if (ends ? payloadBytes != writeLeft : payloadBytes >= writeLeft) {
            nak(AethSyndrome.NAK_INVALID_REQUEST);
            return false;
        }
        if (payloadBytes > 0) {
            MemoryRegion region = context.memory.remote(context.domain, writeRkey, writeAddress, payloadBytes, true);
            if (region == null) {
                nak(AethSyndrome.NAK_REMOTE_ACCESS_ERROR);
                return false;
            }
            long from = offset + Opcode.headerBytes(opcode);
            if (!RegionAccess.scatter(region, writeAddress, packet, from, payloadBytes)) {
                nak(AethSyndrome.NAK_REMOTE_OPERATIONAL_ERROR);
                return false;
            }
        }
        writeAddress += payloadBytes;
        writeLeft -= payloadBytes;
        return true;
    }

    private boolean beginWrite(MemorySegment packet, long reth) {
        writeAddress = Reth.virtualAddress(packet, reth);
        writeRkey = Reth.rKey(packet, reth);
        writeLeft = Reth.dmaLengthBytes(packet, reth);
        message = Opcode.WRITE;
        if (writeLeft > Reth.MAX_DMA_LENGTH_BYTES) {
            nak(AethSyndrome.NAK_INVALID_REQUEST);
            return false;
        }
        if (writeLeft > 0 && context.memory.remote(context.domain, writeRkey, writeAddress, writeLeft, true) == null) {
            nak(AethSyndrome.NAK_REMOTE_ACCESS_ERROR);
            return false;
        }
        return true;
    }

    private void executeRead(MemorySegment packet, long reth) {
        long address = Reth.virtualAddress(packet, reth);
        int rkey = Reth.rKey(packet, reth);
        long length = Reth.dmaLengthBytes(packet, reth);
        if (length > SendQueue.MAX_MESSAGE_BYTES || !reads.hasRoom()) {
            nak(AethSyndrome.NAK_INVALID_REQUEST);
            return;
        }
        if (length > 0 && context.memory.remote(context.domain, rkey, address, length, false) == null) {
            nak(AethSyndrome.NAK_REMOTE_ACCESS_ERROR);
            return;
        }
        int msnBefore = msn++;
        reads.add(expected, address, rkey, (int) length, msn);
        acknowledgements.onRead(expected, msnBefore);
        expected += context.packets(length);
        acknowledgements.onReadExecuted(expected, msn);
    }

    /** Ends the connection: the NAK leaves behind the responses that are due before it. */
    private void nak(int syndrome) {
        acknowledgements.onFatal(expected, syndrome);
        context.fail();
    }

    private void failReceive(int syndrome, WorkCompletionStatus status) {
        nak(syndrome);
        receives.complete(status, 0, 0);
    }
}
