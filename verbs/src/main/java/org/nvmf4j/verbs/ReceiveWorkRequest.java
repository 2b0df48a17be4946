package org.nvmf4j.verbs;

import org.jspecify.annotations.Nullable;

/** A buffer for one message from the peer, as {@code struct ibv_recv_wr}. Its memory needs {@link AccessFlag#LOCAL_WRITE}. */
public final class ReceiveWorkRequest extends WorkRequest {
    private @Nullable ReceiveWorkRequest next;

    /** A receive that takes up to {@code maxSge} elements. */
    public ReceiveWorkRequest(int maxSge) {
        super(maxSge);
    }

    /** What is posted right behind this request by the same call, or null. */
    public @Nullable ReceiveWorkRequest next() {
        return next;
    }

    public void next(@Nullable ReceiveWorkRequest next) {
        this.next = next;
    }
}
