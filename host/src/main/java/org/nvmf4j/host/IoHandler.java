package org.nvmf4j.host;

/** Takes completed requests out of {@link IoQueue#poll}. */
@FunctionalInterface
public interface IoHandler {
    /**
     * A request has ended and its memory is the caller's again. May submit to the same queue, must not poll or close it.
     *
     * @param tag the caller's own number, given at submission
     * @param status 0 for success, else the 15-bit status field that {@link org.nvmf4j.nvme.NvmeStatus} reads; {@link
     *     org.nvmf4j.nvme.NvmeStatus#ABORTED_BY_HOST} where the queue ended first, and then the next poll says why
     */
    void onCompletion(long tag, int status);
}
