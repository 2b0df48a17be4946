package org.nvmf4j.verbs;

/** Takes completions out of a {@link CompletionQueue#poll}. */
@FunctionalInterface
public interface CompletionHandler {
    /** Called in order of completion; may post work requests and close queue pairs, must not poll the same queue. */
    void onCompletion(WorkCompletion completion);
}
