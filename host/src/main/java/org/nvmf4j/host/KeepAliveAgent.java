package org.nvmf4j.host;

import java.net.InetSocketAddress;
import java.util.function.Consumer;
import org.nvmf4j.nvme.NvmeStatus;
import org.nvmf4j.verbs.Agent;

/** Runs a {@link KeepAlive} on the admin queue's lane. */
final class KeepAliveAgent implements Agent {
    private final KeepAlive timer;
    private final AdminQueue queue;
    private final Consumer<HostException> onLost;
    private final int timeoutMillis;
    private final InetSocketAddress target;

    KeepAliveAgent(
            KeepAlive timer,
            AdminQueue queue,
            Consumer<HostException> onLost,
            int timeoutMillis,
            InetSocketAddress target) {
        this.timer = timer;
        this.queue = queue;
        this.onLost = onLost;
        this.timeoutMillis = timeoutMillis;
        this.target = target;
    }

    @Override
    public int doWork(long nowNanos) {
        if (nowNanos - timer.nextDeadlineNanos() < 0) {
            return 0;
        }
        queue.doWork(nowNanos); // the answer may be there already, if the lane did not run for a while
        switch (timer.onTime(nowNanos)) {
            case NONE -> {
                return 0;
            }
            case SEND -> {
                var _ = queue.keepAlive().thenAccept(this::onAnswer);
            }
            case EXPIRED -> {
                queue.removeFromLane(this);
                onLost.accept(new TransportException(
                        QueueLabel.address(target) + " did not answer Keep Alive within " + timeoutMillis + " ms"));
            }
        }
        return 1;
    }

    private void onAnswer(AdminCompletion completion) {
        if (!timer.onAnswer(completion.status(), System.nanoTime())) {
            onLost.accept(new TransportException(QueueLabel.address(target) + " answered Keep Alive with "
                    + NvmeStatus.describe(completion.status())));
        }
    }

    @Override
    public long nextDeadlineNanos() {
        return timer.nextDeadlineNanos();
    }
}
