package org.nvmf4j.verbs;

import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.LongAdder;
import org.nvmf4j.verbs.spi.ProviderDevice;
import org.nvmf4j.verbs.spi.ProviderQueuePair;

/**
 * The core's half of the inline decision, one per device: asks the provider for the room that a user's usual message takes, lives
 * with what is granted, and counts where that is less. {@link QueuePair#postSend} is the other half. Thread-safe.
 *
 * <p>No verb tells what a device can do: some refuse more than that, some grant less with success, some grant more than asked, and
 * some refuse at post what they granted.
 */
final class InlinePolicy {
    private static final System.Logger LOG = System.getLogger(InlinePolicy.class.getName());

    /** What libibverbs providers answer where the room asked for is too much. */
    private static final Set<Integer> ERRNOS_OF_TOO_MUCH = Set.of(VerbsException.EINVAL, VerbsException.ENOMEM);

    private final InlineUse use;
    private final Set<QueuePair> open = ConcurrentHashMap.newKeySet();
    private final LongAdder inlinePosts = new LongAdder();
    private final LongAdder referencePosts = new LongAdder();
    private final LongAdder refusedAtCreation = new LongAdder();
    private final LongAdder grantedLess = new LongAdder();
    private final LongAdder refusedAtPost = new LongAdder();

    InlinePolicy(InlineUse use) {
        this.use = use;
    }

    QueuePair create(ProviderDevice device, ProtectionDomain domain, QueuePairOptions options) throws VerbsException {
        int wanted = use == InlineUse.NOT_ASKED ? 0 : options.usualSendBytes();
        ProviderQueuePair created = createAsking(device, domain, options, wanted);
        int granted = created.inlineBytes();
        LOG.log(
                System.Logger.Level.DEBUG,
                () -> "queue pair " + created.number() + ": " + wanted + " bytes inline wanted, " + granted + " granted"
                        + (use == InlineUse.ASKED_NOT_USED ? ", not used" : ""));
        QueuePair queuePair = new QueuePair(created, use == InlineUse.WHERE_IT_FITS ? granted : 0, this);
        open.add(queuePair);
        return queuePair;
    }

    private ProviderQueuePair createAsking(
            ProviderDevice device, ProtectionDomain domain, QueuePairOptions options, int wanted)
            throws VerbsException {
        ProviderQueuePair created;
        try {
            created = device.createQueuePair(domain, options, wanted);
        } catch (VerbsException refusal) {
            if (wanted == 0 || !ERRNOS_OF_TOO_MUCH.contains(refusal.errno())) {
                throw refusal;
            }
            created = createWithout(device, domain, options, refusal);
            refusedAtCreation.increment();
            LOG.log(
                    System.Logger.Level.DEBUG,
                    () -> "the device refuses " + wanted + " bytes inline (" + refusal.getMessage()
                            + "): done without");
            return created;
        }
        if (created.inlineBytes() < wanted) {
            grantedLess.increment();
        }
        return created;
    }

    private static ProviderQueuePair createWithout(
            ProviderDevice device, ProtectionDomain domain, QueuePairOptions options, VerbsException refusal)
            throws VerbsException {
        try {
            return device.createQueuePair(domain, options, 0);
        } catch (VerbsException e) {
            e.addSuppressed(refusal);
            throw e;
        }
    }

    void onRefusedAtPost(QueuePair queuePair, long lengthBytes) {
        refusedAtPost.increment();
        LOG.log(
                System.Logger.Level.DEBUG,
                () -> "queue pair " + queuePair.number() + ": the device refuses to take " + lengthBytes
                        + " bytes inline that it granted: by reference from now on");
    }

    synchronized void onClose(QueuePair queuePair) {
        if (open.remove(queuePair)) {
            inlinePosts.add(queuePair.inlinePosts());
            referencePosts.add(queuePair.referencePosts());
        }
    }

    /** Adds what was counted, by name. */
    synchronized void addCountersTo(Map<String, Long> counters) {
        long inline = inlinePosts.sum();
        long reference = referencePosts.sum();
        for (QueuePair queuePair : open) {
            inline += queuePair.inlinePosts();
            reference += queuePair.referencePosts();
        }
        counters.put("inline_posts", inline);
        counters.put("by_reference_posts", reference);
        counters.put("inline_refused_at_creation", refusedAtCreation.sum());
        counters.put("inline_granted_less", grantedLess.sum());
        counters.put("inline_refused_at_post", refusedAtPost.sum());
    }
}
