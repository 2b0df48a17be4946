package org.nvmf4j.linux;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/**
 * A {@link SteeringRule} as a classic BPF program. The kernel runs it with the UDP payload at offset 0 and takes its
 * result as the socket's index, in the order of binding; a load beyond the payload ends the program with result 0.
 */
final class SteeringProgram {
    private static final int LOAD_WORD = 0x20; // BPF_LD | BPF_W | BPF_ABS
    private static final int AND = 0x54; // BPF_ALU | BPF_AND | BPF_K
    private static final int JUMP_IF_EQUAL = 0x15; // BPF_JMP | BPF_JEQ | BPF_K
    private static final int RETURN_ACCUMULATOR = 0x16; // BPF_RET | BPF_A
    private static final int RETURN_CONSTANT = 0x06; // BPF_RET | BPF_K
    private static final int INSTRUCTIONS = 6;
    private static final long INSTRUCTION_BYTES = 8;

    private SteeringProgram() {}

    /** A {@code sock_fprog} that points to the instructions. */
    static MemorySegment assemble(Arena arena, SteeringRule rule, int sockets) {
        MemorySegment code = arena.allocate(INSTRUCTIONS * INSTRUCTION_BYTES, 8);
        put(code, 0, LOAD_WORD, 0, rule.payloadOffset());
        put(code, 1, AND, 0, rule.valueMask());
        put(code, 2, JUMP_IF_EQUAL, 2, rule.pinnedValue());
        put(code, 3, AND, 0, sockets - 1);
        put(code, 4, RETURN_ACCUMULATOR, 0, 0);
        put(code, 5, RETURN_CONSTANT, 0, 0);
        MemorySegment program = arena.allocate(16, 8);
        program.set(ValueLayout.JAVA_SHORT, 0, (short) INSTRUCTIONS);
        program.set(ValueLayout.JAVA_LONG, 8, code.address());
        return program;
    }

    private static void put(MemorySegment code, int index, int operation, int skipIfTrue, int constant) {
        long at = index * INSTRUCTION_BYTES;
        code.set(ValueLayout.JAVA_SHORT, at, (short) operation);
        code.set(ValueLayout.JAVA_BYTE, at + 2, (byte) skipIfTrue);
        code.set(ValueLayout.JAVA_INT, at + 4, constant);
    }
}
