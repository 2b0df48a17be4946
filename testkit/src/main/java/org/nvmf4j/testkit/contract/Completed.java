package org.nvmf4j.testkit.contract;

import org.jspecify.annotations.Nullable;
import org.nvmf4j.verbs.WorkCompletion;
import org.nvmf4j.verbs.WorkCompletionStatus;
import org.nvmf4j.verbs.WorkOpcode;

/** A copy of a work completion. */
record Completed(
        long id,
        WorkCompletionStatus status,
        WorkOpcode opcode,
        int lengthBytes,
        int queuePairNumber,
        int invalidatedRkey,
        @Nullable Object context) {
    static Completed of(WorkCompletion completion) {
        return new Completed(
                completion.id(),
                completion.status(),
                completion.opcode(),
                completion.lengthBytes(),
                completion.queuePairNumber(),
                completion.invalidatedRkey(),
                completion.context());
    }
}
