package dev.weir.rules;

import dev.weir.config.WeirConfig;
import dev.weir.definition.PolicyFile;
import dev.weir.definition.PolicyFold;
import dev.weir.topics.TopicLog;
import dev.weir.topics.UnreachableException;
import dev.weir.topology.Topics;
import dev.weir.wire.ChangeAuthor;
import dev.weir.wire.PolicyAvro;
import java.util.Collection;
import java.util.List;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.Consumer;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * The policies topic, as operators see it: what is applied, and applying more.
 *
 * <p>No policy in force names a queue that is not: records are written in the order queues, policies, deleted policies,
 * deleted queues, and what would leave a policy without its queue is refused before anything is written.
 *
 * <p>Changes come one after the other, whoever makes them: each is computed from what the one before left.
 */
public final class PolicyTopic {

    /** How often a writer that another one stopped starts over. */
    private static final int MAX_ATTEMPTS = 20;

    private static final int FIRST_PAUSE_MS = 20;
    private static final int MAX_PAUSE_MS = 1_000;

    private final WeirConfig config;
    private final Topics topics;

    /** What applying a definition did. */
    public enum Effect {
        ADDED,
        CHANGED,
        UNCHANGED,
        DELETED
    }

    /**
     * A policy or queue and what was done with it.
     *
     * @param version the version that is in force now, or was last
     * @param before the definition that it takes over from as JSON, null if there was none
     * @param after the definition that was applied as JSON, null if it was deleted
     */
    public record Change(PolicyAvro.Kind kind, String id, Effect effect, long version, String before, String after) {}

    /** What must be in force of each policy or queue that is named. */
    public sealed interface Expected {

        /** Anything, or nothing. */
        record Any() implements Expected {}

        /** This version. */
        record Version(long version) implements Expected {}

        /** Nothing. */
        record Absent() implements Expected {}
    }

    /**
     * How a change is made.
     *
     * @param prune whether policies and queues that are not named are deleted; of no meaning to a deletion
     * @param dryRun whether it is only told what would change
     * @param changedBy is recorded with each change
     */
    public record Options(boolean prune, boolean dryRun, Expected expected, ChangeAuthor changedBy) {

        /** Only what is named changes, whatever it was. */
        public static final Options DEFAULTS = new Options(false, false, new Expected.Any(), ChangeAuthor.UNKNOWN);

        public Options withPrune(boolean value) {
            return new Options(value, dryRun, expected, changedBy);
        }

        public Options withDryRun(boolean value) {
            return new Options(prune, value, expected, changedBy);
        }

        public Options withExpected(Expected value) {
            return new Options(prune, dryRun, value, changedBy);
        }

        public Options withChangedBy(ChangeAuthor value) {
            return new Options(prune, dryRun, expected, value);
        }
    }

    public PolicyTopic(WeirConfig config) {
        this.config = config;
        this.topics = Topics.of(config);
    }

    /**
     * What is applied: policies, then queues, each by id.
     *
     * @throws UnreachableException if the topic cannot be read
     */
    public List<PolicyAvro.Applied> read() {
        return survey().applied();
    }

    /**
     * What the topic holds.
     *
     * @param applied as {@link #read}
     * @param broken why the last record of a key is not good: what was applied before it holds on
     */
    public record Survey(List<PolicyAvro.Applied> applied, SortedMap<String, String> broken) {}

    /**
     * As {@link #read}, with what is not good.
     *
     * @throws UnreachableException if the topic cannot be read
     */
    public Survey survey() {
        PolicyFold<PolicyAvro.Applied> onTopic = PolicyFold.ofRecords();
        SortedMap<String, String> broken = new TreeMap<>();
        try (TopicLog log = new TopicLog(config, topics.policies())) {
            log.readAll((key, value) -> {
                if (onTopic.add(key, value) instanceof PolicyFold.Step.Reject reject) {
                    broken.put(String.valueOf(key), reject.fault().getMessage());
                } else {
                    broken.remove(key);
                }
            });
        }
        return new Survey(onTopic.inForce(), broken);
    }

    /**
     * As {@link #read}, with every version of a policy that holds now or later, oldest first.
     *
     * @throws UnreachableException if the topic cannot be read
     */
    public List<PolicyAvro.Applied> readInForceFrom(long nowMs) {
        return read().stream()
                .flatMap(applied -> applied.kind() == PolicyAvro.Kind.QUEUE
                        ? Stream.of(applied)
                        : PolicyVersions.inForceFrom(applied, nowMs).stream())
                .toList();
    }

    /**
     * The ids of the queues that are applied.
     *
     * @throws UnreachableException if the topic cannot be read
     */
    public Set<String> queues() {
        return read().stream()
                .filter(applied -> applied.kind() == PolicyAvro.Kind.QUEUE)
                .map(PolicyAvro.Applied::id)
                .collect(Collectors.toCollection(TreeSet::new));
    }

    /**
     * The versions that a policy or queue had, deletions too, newest first: the last {@value PolicyWriter#MAX_HISTORY}.
     *
     * @throws UnreachableException if the topic cannot be read
     */
    public List<PolicyAvro.Applied> history(PolicyAvro.Kind kind, String id) {
        try (PolicyHistory history = new PolicyHistory(config, topics.policyHistory())) {
            return history.of(PolicyAvro.key(kind, id));
        }
    }

    /**
     * Puts policies and queues on the topic, each with the next version, unless it is there already word for word.
     *
     * @return what was done, in the order in which it was
     * @throws ConflictException if one of these is not as expected; nothing is written then
     * @throws RefusedChangeException if a policy would be left without its queue; nothing is written then
     * @throws UnreachableException if the topics cannot be read or written
     */
    public List<Change> apply(PolicyFile.Contents contents, Options options, long nowMs) {
        return change(options, nowMs, update -> update.apply(contents, options));
    }

    /**
     * Deletes policies, or queues; those that are not there are passed over.
     *
     * @return those that were there
     * @throws ConflictException if one of these is not as expected; nothing is written then
     * @throws RefusedChangeException if a policy would be left without its queue; nothing is written then
     * @throws UnreachableException if the topics cannot be read or written
     */
    public List<Change> delete(PolicyAvro.Kind kind, Collection<String> ids, Options options, long nowMs) {
        return change(options, nowMs, update -> update.delete(kind, ids, options));
    }

    private List<Change> change(Options options, long nowMs, Consumer<PolicyChangeSet> what) {
        PolicyFold<PolicyAvro.Applied> onTopic = PolicyFold.ofRecords();
        try (TopicLog log = new TopicLog(config, topics.policies());
                PolicyHistory history = new PolicyHistory(config, topics.policyHistory())) {
            Runnable read = () -> log.readAll(onTopic::add);
            Supplier<PolicyChangeSet> next =
                    () -> update(new PolicyChangeSet(onTopic.byKey(), history::last, nowMs, options.changedBy()), what);
            if (options.dryRun()) {
                read.run();
                return next.get().changes();
            }
            PolicyChangeSet tried = null;
            log.readSeen(onTopic::add); // little is left to read then while others are stopped
            for (int attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
                try (PolicyWriter writer = new PolicyWriter(config, topics)) {
                    if (writer.begin()) {
                        read.run();
                        if (tried != null && onTopic.all().containsAll(tried.records())) {
                            return tried.changes(); // it was written, although the broker did not say so
                        }
                        tried = next.get();
                        if (tried.records().isEmpty() || writer.write(tried.records())) {
                            return tried.changes();
                        }
                    }
                }
                pause(attempt);
            }
        }
        throw new UnreachableException("nothing was changed: others change the rules without a pause; try again", null);
    }

    private static PolicyChangeSet update(PolicyChangeSet update, Consumer<PolicyChangeSet> what) {
        what.accept(update);
        update.requireConsistent();
        return update;
    }

    /** At random, and longer each time: or those who stop each other would do so again and again. */
    private void pause(int attempt) {
        int mostMs = Math.min(MAX_PAUSE_MS, FIRST_PAUSE_MS << Math.min(attempt, 10));
        try {
            Thread.sleep(ThreadLocalRandom.current().nextInt(mostMs) + 1L);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new UnreachableException("interrupted while writing to the topic " + topics.policies(), e);
        }
    }
}
