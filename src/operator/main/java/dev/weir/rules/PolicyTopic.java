package dev.weir.rules;

import dev.weir.config.WeirConfig;
import dev.weir.definition.PolicyFile;
import dev.weir.kafka.Topics;
import dev.weir.kafka.UnreachableException;
import dev.weir.policy.ThrottleConflict;
import dev.weir.wire.ChangeAuthor;
import dev.weir.wire.PolicyAvro;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeSet;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.stream.Collectors;

/**
 * Reads and changes the definitions on the policies topic.
 *
 * <p>No policy in force refers to a queue that is not in force. Records are written in the order queues, policies,
 * deleted policies, deleted queues. A change that would leave a policy without its queue is rejected before anything is
 * written.
 *
 * <p>Changes of all writers are serialized. Each is computed from the result of the previous one.
 */
public final class PolicyTopic implements AutoCloseable {

    /** How often a change is retried after another writer fenced this one. */
    private static final int MAX_ATTEMPTS = 20;

    /** The reason of changes by {@code weir run --policies}. */
    public static final String RUN_FILE = "run --policies";

    private static final int FIRST_PAUSE_MS = 20;
    private static final int MAX_PAUSE_MS = 1_000;

    private final WeirConfig config;
    private final Topics topics;
    private final Optional<PolicyLog> log; // empty to read the topic for each call
    private final ReentrantLock lock = new ReentrantLock(); // guards the log

    /** The effect of applying a definition. */
    public enum Effect {
        ADDED,
        CHANGED,
        UNCHANGED,
        DELETED,

        /** The definition on the topic stays in force, although the one to apply differs. */
        KEPT
    }

    /**
     * A change of a policy or queue.
     *
     * @param version the version in force after the change; a deletion is a version too
     * @param before the definition that was replaced, as JSON; null if there was none
     * @param after the new definition, as JSON; null if it was deleted
     * @param warnings what is probably a mistake, although the definition is valid
     */
    public record Change(
            PolicyAvro.Kind kind,
            String id,
            Effect effect,
            long version,
            String before,
            String after,
            List<String> warnings) {

        public Change {
            warnings = List.copyOf(warnings);
        }

        /** Creates a change without warnings. */
        public Change(PolicyAvro.Kind kind, String id, Effect effect, long version, String before, String after) {
            this(kind, id, effect, version, before, after, List.of());
        }

        Change withWarnings(List<String> others) {
            return new Change(kind, id, effect, version, before, after, others);
        }
    }

    /** The version that must be in force of each policy or queue that is changed. */
    public sealed interface Expected {

        /** Any version, or none. */
        record Any() implements Expected {}

        /** Any version, but not none. */
        record Present() implements Expected {}

        /** One that there cannot be, so that the change is refused. */
        record Never() implements Expected {}

        /** This version. */
        record Version(long version) implements Expected {}

        /** None. */
        record Absent() implements Expected {}
    }

    /**
     * How a change is made.
     *
     * @param prune whether policies and queues that are not in the file are deleted; ignored by deletions
     * @param dryRun whether only to return what would change
     * @param onlyNewer whether to keep the definitions on the topic that are newer than those to apply. A definition is
     *     newer if its last change had another reason than {@value #RUN_FILE}, or if the definition to apply equals one of
     *     the last versions in the history. Ignored by deletions
     * @param warn whether changes of policies have warnings, for which all policies are parsed
     * @param changedBy recorded with each change
     */
    public record Options(
            boolean prune, boolean dryRun, boolean onlyNewer, Expected expected, boolean warn, ChangeAuthor changedBy) {

        /** Changes only what is named, whatever version is in force. */
        public static final Options DEFAULTS =
                new Options(false, false, false, new Expected.Any(), true, ChangeAuthor.UNKNOWN);

        public Options withPrune(boolean value) {
            return new Options(value, dryRun, onlyNewer, expected, warn, changedBy);
        }

        public Options withDryRun(boolean value) {
            return new Options(prune, value, onlyNewer, expected, warn, changedBy);
        }

        public Options withOnlyNewer(boolean value) {
            return new Options(prune, dryRun, value, expected, warn, changedBy);
        }

        public Options withExpected(Expected value) {
            return new Options(prune, dryRun, onlyNewer, value, warn, changedBy);
        }

        public Options withChangedBy(ChangeAuthor value) {
            return new Options(prune, dryRun, onlyNewer, expected, warn, value);
        }

        public Options withoutWarnings() {
            return new Options(prune, dryRun, onlyNewer, expected, false, changedBy);
        }
    }

    /** Creates an instance that reads the topic from its beginning for each call. */
    public PolicyTopic(WeirConfig config) {
        this.config = config;
        topics = Topics.of(config);
        log = Optional.empty();
    }

    private PolicyTopic(WeirConfig config, PolicyLog log) {
        this.config = config;
        topics = Topics.of(config);
        this.log = Optional.of(log);
    }

    /**
     * Creates an instance that keeps the contents of the topic on the heap, and two connections to the cluster. A call
     * reads only what was written since the one before. Changes are made one after the other. Must be closed.
     */
    public static PolicyTopic keepingContents(WeirConfig config) {
        return new PolicyTopic(config, new PolicyLog(config, Topics.of(config).policies()));
    }

    private <T> T withLog(Function<PolicyLog, T> action) {
        if (log.isPresent()) {
            lock.lock();
            try {
                return action.apply(log.get());
            } finally {
                lock.unlock();
            }
        }
        try (PolicyLog once = new PolicyLog(config, topics.policies())) {
            return action.apply(once);
        }
    }

    /**
     * Closes the connections, unless a call is in progress, which a stop must not wait for. A call after this opens
     * them again.
     */
    @Override
    public void close() {
        if (lock.tryLock()) {
            try {
                log.ifPresent(PolicyLog::close);
            } finally {
                lock.unlock();
            }
        }
    }

    /**
     * Returns the applied definitions: policies, then queues, each sorted by id.
     *
     * @throws UnreachableException if the topic cannot be read
     */
    public List<PolicyAvro.Applied> read() {
        return survey().applied();
    }

    /**
     * The contents of the topic.
     *
     * @param applied the same as {@link #read}
     * @param broken for each key whose last record is invalid, the reason; the definition before it stays in force
     */
    public record Survey(List<PolicyAvro.Applied> applied, SortedMap<String, String> broken) {}

    /**
     * Returns the same as {@link #read}, and the invalid records.
     *
     * @throws UnreachableException if the topic cannot be read
     */
    public Survey survey() {
        return withLog(policyLog -> {
            policyLog.readAll(record -> {});
            return new Survey(policyLog.onTopic().inForce(), policyLog.broken());
        });
    }

    /**
     * Returns the same as {@link #read}, but with each version of a policy that is in force at or after a time,
     * oldest first.
     *
     * @throws UnreachableException if the topic cannot be read
     */
    public List<PolicyAvro.Applied> readInForceFrom(long nowMs) {
        List<PolicyAvro.Applied> versions = new ArrayList<>();
        Set<String> earlier = new HashSet<>(); // a record has the author of its newest version only
        for (PolicyAvro.Applied applied : read()) {
            List<PolicyAvro.Applied> inForce = applied.kind() == PolicyAvro.Kind.QUEUE
                    ? List.of(applied)
                    : PolicyVersions.inForceFrom(applied, nowMs);
            versions.addAll(inForce);
            inForce.stream()
                    .filter(version -> version.version() != applied.version())
                    .forEach(version -> earlier.add(PolicyHistory.key(version)));
        }
        if (earlier.isEmpty()) {
            return versions;
        }
        try (PolicyHistory history = new PolicyHistory(config, topics.policyHistory())) {
            Map<String, PolicyAvro.Applied> found = history.versions(earlier);
            return versions.stream()
                    .map(version -> {
                        PolicyAvro.Applied past = found.get(PolicyHistory.key(version));
                        return past == null ? version : version.withChangedBy(past.changedBy());
                    })
                    .toList();
        }
    }

    /**
     * Returns the ids of the applied queues.
     *
     * @throws UnreachableException if the topic cannot be read
     */
    public Set<String> queues() {
        return withLog(policyLog -> {
            policyLog.readAll(record -> {});
            return policyLog.onTopic().inForce(PolicyAvro.Kind.QUEUE).stream()
                    .map(PolicyAvro.Applied::id)
                    .collect(Collectors.toCollection(TreeSet::new));
        });
    }

    /**
     * Returns the last {@value PolicyWriter#MAX_HISTORY} versions of a policy or queue, newest first,
     * including deletions.
     *
     * @throws UnreachableException if the topic cannot be read
     */
    public List<PolicyAvro.Applied> history(PolicyAvro.Kind kind, String id) {
        try (PolicyHistory history = new PolicyHistory(config, topics.policyHistory())) {
            return history.of(PolicyAvro.key(kind, id));
        }
    }

    /**
     * Applies policies and queues, each with the next version. A definition that is identical to the one on the topic
     * is not written.
     *
     * @return the changes, in the order in which they were made
     * @throws ConflictException if a version is not the expected one; nothing is written
     * @throws RefusedChangeException if the definitions would conflict; nothing is written
     * @throws UnreachableException if the topics cannot be read or written
     */
    public List<Change> apply(PolicyFile.Contents contents, Options options, long nowMs) {
        return change(options, nowMs, update -> {
            update.apply(contents, options);
            if (options.warn()) {
                update.addWarnings();
            }
        });
    }

    /**
     * Deletes policies, or queues. Ids that do not exist are ignored.
     *
     * @return the changes
     * @throws ConflictException if a version is not the expected one; nothing is written
     * @throws RefusedChangeException if a policy would be left without its queue; nothing is written
     * @throws UnreachableException if the topics cannot be read or written
     */
    public List<Change> delete(PolicyAvro.Kind kind, Collection<String> ids, Options options, long nowMs) {
        return change(options, nowMs, update -> update.delete(kind, ids, options));
    }

    private List<Change> change(Options options, long nowMs, Consumer<PolicyChangeSet> edit) {
        return withLog(policyLog -> change(policyLog, options, nowMs, edit));
    }

    private List<Change> change(PolicyLog policyLog, Options options, long nowMs, Consumer<PolicyChangeSet> edit) {
        try (PolicyHistory history = new PolicyHistory(config, topics.policyHistory())) {
            Supplier<PolicyChangeSet> next = () ->
                    update(new PolicyChangeSet(policyLog.onTopic().byKey(), history, nowMs, options.changedBy()), edit);
            if (options.dryRun()) {
                policyLog.readAll(record -> {});
                return next.get().changes();
            }
            Set<PolicyAvro.Applied> unread = new HashSet<>();
            PolicyChangeSet tried = null;
            policyLog.readSeen(); // reads most records before other writers are fenced
            for (int attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
                try (PolicyWriter writer = new PolicyWriter(config, topics)) {
                    if (writer.begin()) {
                        // The attempt has succeeded if its records are read, even if another writer has changed the
                        // same keys since.
                        policyLog.readAll(unread::remove);
                        if (tried != null && unread.isEmpty()) {
                            return tried.changes(); // written, but the commit was not acknowledged
                        }
                        tried = next.get();
                        unread.clear();
                        unread.addAll(tried.records());
                        if (tried.records().isEmpty() || writer.write(tried.records())) {
                            return tried.changes();
                        }
                    }
                }
                pause(attempt);
            }
        }
        throw new UnreachableException(
                "nothing was changed: other writers keep changing the definitions; try again", null);
    }

    /** Returns whether {@code weir run --policies} has made a change. */
    static boolean isOfRunFile(ChangeAuthor changedBy) {
        return changedBy.reason().equals(Optional.of(RUN_FILE));
    }

    /** Returns the versions of applied policies that are in force at or after a time. */
    public static List<ThrottleConflict.InForce> policiesFrom(Collection<PolicyAvro.Applied> applied, long nowMs) {
        List<ThrottleConflict.InForce> policies = new ArrayList<>();
        for (PolicyAvro.Applied one : applied) {
            if (one.kind() == PolicyAvro.Kind.POLICY && !one.isDeleted()) {
                PolicyVersions.of(one).stream()
                        .filter(version -> version.untilMs() > nowMs)
                        .forEach(version ->
                                policies.add(new ThrottleConflict.InForce(version.policy(), version.untilMs())));
            }
        }
        return policies;
    }

    private static PolicyChangeSet update(PolicyChangeSet update, Consumer<PolicyChangeSet> edit) {
        edit.accept(update);
        update.requireConsistent();
        return update;
    }

    /** Sleeps for a random time that grows with each attempt. Otherwise writers could fence each other repeatedly. */
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
