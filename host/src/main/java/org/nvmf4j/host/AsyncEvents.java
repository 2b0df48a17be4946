package org.nvmf4j.host;

import java.io.IOException;
import java.util.function.IntConsumer;
import org.nvmf4j.nvme.AsyncEvent;
import org.nvmf4j.nvme.Feature;
import org.nvmf4j.nvme.LogPage;
import org.nvmf4j.nvme.NvmeStatus;
import org.nvmf4j.nvme.SubmissionQueueEntry;

/**
 * Takes asynchronous events of a controller, one request outstanding at a time. A controller masks an event after it fired until its
 * log page is read, so that is done before the next request.
 */
final class AsyncEvents {
    private static final System.Logger LOG = System.getLogger(AsyncEvents.class.getName());
    private static final int WANTED = AsyncEvent.NOTICE_NAMESPACE_ATTRIBUTE
            | AsyncEvent.NOTICE_FIRMWARE_ACTIVATION
            | AsyncEvent.NOTICE_ANA
            | AsyncEvent.NOTICE_DISCOVERY_LOG;

    private final AdminQueue queue;
    private final HostLane lane;
    private IntConsumer onEvent = event -> {};

    AsyncEvents(AdminQueue queue, HostLane lane) {
        this.queue = queue;
        this.lane = lane;
    }

    /**
     * Configures the notices and sends the first request.
     *
     * @param offered OAES of the controller
     * @param listener takes events, see {@link AsyncEvent}, on the lane
     */
    void start(AdminClient admin, int offered, IntConsumer listener) throws IOException {
        int notices = offered & WANTED;
        if (notices != 0) {
            admin.setFeature(Feature.ASYNCHRONOUS_EVENT_CONFIGURATION, notices);
        }
        lane.execute(() -> {
            onEvent = listener;
            request();
        });
    }

    private void request() {
        var _ = queue.asyncEventRequest().thenAccept(this::onCompletion);
    }

    private void onCompletion(AdminCompletion completion) {
        if (!NvmeStatus.isSuccess(completion.status())) {
            LOG.log(
                    System.Logger.Level.INFO,
                    "no more asynchronous events: " + NvmeStatus.describe(completion.status()));
            return;
        }
        int event = completion.dword0();
        int lid = AsyncEvent.logPage(event);
        AdminCommand read = AdminClient.logPageCommand(lid, SubmissionQueueEntry.NSID_ALL, false, 0, logPageBytes(lid));
        var _ = queue.submit(read).whenComplete((page, failure) -> {
            onEvent.accept(event);
            if (failure == null) {
                request();
            }
        });
    }

    /** Enough of a log page for the read to count. */
    private static int logPageBytes(int lid) {
        return switch (lid) {
            case LogPage.ERROR_INFORMATION -> 64;
            case LogPage.CHANGED_NAMESPACE_LIST, LogPage.ASYMMETRIC_NAMESPACE_ACCESS -> 4096;
            case LogPage.DISCOVERY -> 1024;
            default -> 512;
        };
    }
}
