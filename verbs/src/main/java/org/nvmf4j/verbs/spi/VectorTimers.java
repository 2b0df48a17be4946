package org.nvmf4j.verbs.spi;

import java.util.ArrayList;
import java.util.List;

/** The timers of one vector; belongs to its lane, and allocates nothing once each was armed. */
public final class VectorTimers {
    private final List<Timer> timers = new ArrayList<>();
    private long earliestNanos;

    /** Runs what is due; gives how many. */
    public int run() {
        if (timers.isEmpty()) {
            return 0;
        }
        long nowNanos = System.nanoTime();
        if (nowNanos - earliestNanos < 0) {
            return 0;
        }
        int work = 0;
        for (int i = timers.size() - 1; i >= 0; i--) {
            if (i >= timers.size()) {
                continue; // an action shut the vector down
            }
            Timer timer = timers.get(i);
            if (!timer.armed || nowNanos - timer.dueNanos >= 0) {
                timers.remove(i);
                timer.listed = false;
            }
            if (timer.armed && nowNanos - timer.dueNanos >= 0) {
                work++;
                timer.armed = false;
                timer.action.run();
            }
        }
        for (int i = 0; i < timers.size(); i++) {
            noteDeadline(timers.get(i).dueNanos, i == 0);
        }
        return work;
    }

    private void noteDeadline(long dueNanos, boolean first) {
        if (first || dueNanos - earliestNanos < 0) {
            earliestNanos = dueNanos;
        }
    }

    /** How long nothing will be due, if that is less than {@code atMost}; not negative. */
    public long remainingNanos(long atMost) {
        return timers.isEmpty() ? atMost : Math.max(0, Math.min(atMost, earliestNanos - System.nanoTime()));
    }

    /** Forgets all of them. */
    public void clear() {
        timers.clear();
    }

    /** Runs something on the lane after a while. */
    public final class Timer {
        private final Runnable action;
        private long dueNanos;
        private boolean armed;
        private boolean listed;

        public Timer(Runnable action) {
            this.action = action;
        }

        public boolean isArmed() {
            return armed;
        }

        /** Has the action run once, so long from now; an earlier wish is forgotten. */
        public void arm(long delayNanos) {
            dueNanos = System.nanoTime() + delayNanos;
            armed = true;
            noteDeadline(dueNanos, timers.isEmpty());
            if (!listed) {
                listed = true;
                timers.add(this);
            }
        }

        public void cancel() {
            armed = false;
        }
    }
}
