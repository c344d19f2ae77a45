package dev.weir.rules;

import dev.weir.definition.PolicyFile;
import dev.weir.fault.FaultsException;
import dev.weir.policy.OnExceed;
import dev.weir.policy.Policy;
import dev.weir.policy.PolicyTable;
import dev.weir.policy.ThrottleConflict;
import dev.weir.rules.PolicyTopic.Change;
import dev.weir.rules.PolicyTopic.Effect;
import dev.weir.rules.PolicyTopic.Expected;
import dev.weir.rules.PolicyTopic.Options;
import dev.weir.wire.ChangeAuthor;
import dev.weir.wire.PolicyAvro;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** The contents of the policies topic, and the records to be written to it, in order. */
final class PolicyChangeSet {

    private static final int MAX_NAMED = 5;

    private final Map<String, PolicyAvro.Applied> onTopic;
    private final Map<String, PolicyAvro.Applied> written = new HashMap<>(); // replaces those on the topic
    private final PastVersions history;
    private final long nowMs;
    private final ChangeAuthor changedBy;
    private final List<PolicyAvro.Applied> records = new ArrayList<>();
    private List<Change> changes = new ArrayList<>();
    private final List<Policy> applied = new ArrayList<>();
    private Map<String, Long> past;

    /**
     * Creates a set without changes.
     *
     * @param onTopic the records on the topic by key, including deletions; not copied
     * @param history called only if a definition is not on the topic, or if only newer ones are applied
     * @param changedBy recorded with each change
     */
    PolicyChangeSet(Map<String, PolicyAvro.Applied> onTopic, PastVersions history, long nowMs, ChangeAuthor changedBy) {
        this.onTopic = onTopic;
        this.history = history;
        this.nowMs = nowMs;
        this.changedBy = changedBy;
    }

    /** Returns the records to write. Each comes after the records that it depends on. */
    List<PolicyAvro.Applied> records() {
        return records;
    }

    List<Change> changes() {
        return changes;
    }

    /** @throws ConflictException if the version of a policy or queue is not the expected one */
    void apply(PolicyFile.Contents contents, Options options) {
        List<PolicyFile.Definition> definitions = new ArrayList<>(contents.queues());
        definitions.addAll(contents.policies());
        Set<String> kept = options.onlyNewer() ? kept(definitions) : Set.of();
        Set<String> named = new HashSet<>();
        for (PolicyFile.Definition definition : definitions) {
            String key = PolicyAvro.key(definition.kind(), definition.id());
            named.add(key);
            require(options.expected(), new PolicyAvro.Key(definition.kind(), definition.id()));
            if (kept.contains(key)) {
                PolicyAvro.Applied old = get(key);
                changes.add(unchanged(old, Effect.KEPT));
            } else {
                put(definition);
            }
        }
        for (PolicyFile.Definition.PolicyDefinition definition : contents.policies()) {
            if (!kept.contains(PolicyAvro.key(definition.kind(), definition.id()))) {
                applied.add(definition.policy());
            }
        }
        if (options.prune()) {
            Set<String> others = new TreeSet<>(onTopic.keySet());
            others.removeAll(named);
            others.forEach(this::delete); // policies sort before queues
        }
    }

    /**
     * Returns the keys of the definitions that are older than those on the topic: a user has made the last change, or
     * the definition is that of an earlier version.
     */
    private Set<String> kept(List<PolicyFile.Definition> definitions) {
        Set<String> kept = new HashSet<>();
        Map<String, String> replacing = new HashMap<>();
        for (PolicyFile.Definition definition : definitions) {
            String key = PolicyAvro.key(definition.kind(), definition.id());
            PolicyAvro.Applied old = get(key);
            if (old == null || definition.json().equals(old.definition())) {
                continue;
            }
            if (PolicyTopic.isOfRunFile(old.changedBy())) {
                replacing.put(key, definition.json());
            } else {
                kept.add(key);
            }
        }
        if (!replacing.isEmpty()) {
            kept.addAll(history.containing(replacing).keySet());
        }
        return kept;
    }

    private static Change unchanged(PolicyAvro.Applied old, Effect effect) {
        return new Change(old.kind(), old.id(), effect, old.version(), old.definition(), old.definition());
    }

    /** @throws ConflictException if the version of a policy or queue is not the expected one */
    void delete(PolicyAvro.Kind kind, Collection<String> ids, Options options) {
        for (String id : ids) {
            require(options.expected(), new PolicyAvro.Key(kind, id));
            delete(PolicyAvro.key(kind, id));
        }
    }

    /**
     * Throws an exception unless all definitions can be in force together.
     *
     * @throws RefusedChangeException if a policy would have no queue or would throttle requests that another one
     *     shapes, or if the key fields of a queue would change
     */
    void requireConsistent() {
        requireQueues();
        requireSameKeys();
        requireNoConflicts();
    }

    private void requireQueues() {
        Set<String> deleted = new TreeSet<>();
        for (Change change : changes) {
            if (change.kind() == PolicyAvro.Kind.QUEUE && change.effect() == Effect.DELETED) {
                deleted.add(change.id());
            }
        }
        for (Policy policy : applied) {
            if (policy.shapes()
                    && inForce(PolicyAvro.key(PolicyAvro.Kind.QUEUE, policy.queue())) == null
                    && !deleted.contains(policy.queue())) {
                throw refusal(List.of(policy.id()), policy.queue(), "does not exist");
            }
        }
        Map<String, List<String>> senders = deleted.isEmpty() ? Map.of() : senders();
        for (String queue : deleted) {
            if (senders.containsKey(queue)) {
                throw refusal(senders.get(queue), queue, "would be deleted");
            }
        }
    }

    /**
     * Rejects changes of key fields. They would interrupt the queue: it admits no requests by the new key before those
     * that wait in its old buckets have left. A queue that was deleted may get other key fields.
     */
    private void requireSameKeys() {
        for (Change change : changes) {
            if (change.kind() != PolicyAvro.Kind.QUEUE || change.before() == null || change.after() == null) {
                continue;
            }
            List<String> before = keyFields(change.id(), change.before());
            List<String> after = keyFields(change.id(), change.after());
            if (before != null && !Set.copyOf(before).equals(Set.copyOf(after))) {
                throw new RefusedChangeException(
                        "nothing was changed: the key of queue " + change.id() + " is " + before + " and would be "
                                + after + "; give the new queue another id, or delete this one first: requests are then"
                                + " denied (NO_QUEUE) until those that wait have left");
            }
        }
    }

    /** Returns null if the definition is invalid, and therefore not in force. */
    private static List<String> keyFields(String id, String definition) {
        try {
            return PolicyFile.parseQueue(id, definition, 1).key();
        } catch (FaultsException e) {
            return null;
        }
    }

    /**
     * Checks the policies that are being applied. Conflicts between policies that are already in force are
     * not reported.
     */
    private void requireNoConflicts() {
        Set<String> ids = new TreeSet<>();
        for (Policy policy : applied) {
            if (policy.shapes() || policy.onExceed() instanceof OnExceed.Throttle) {
                ids.add(policy.id());
            }
        }
        if (ids.isEmpty()) {
            return;
        }
        List<ThrottleConflict.InForce> inForce = new ArrayList<>();
        for (PolicyAvro.Applied record : all()) {
            if (record.kind() == PolicyAvro.Kind.POLICY && !record.isDeleted() && mayThrottleOrShape(record)) {
                PolicyVersions.of(record).stream()
                        .filter(version -> version.untilMs() > nowMs)
                        .forEach(version ->
                                inForce.add(new ThrottleConflict.InForce(version.policy(), version.untilMs())));
            }
        }
        for (ThrottleConflict conflict : ThrottleConflict.of(inForce)) {
            if (ids.contains(conflict.throttling().id())
                    || ids.contains(conflict.shaping().id())) {
                throw new RefusedChangeException("nothing was changed: " + conflict.message());
            }
        }
    }

    /** Adds the warnings about applied policies to their changes. Parses all policies. */
    void addWarnings() {
        if (!applied.isEmpty()) {
            List<ThrottleConflict.InForce> inForce = PolicyTopic.policiesFrom(all(), nowMs);
            PolicyTable table = PolicyTable.of(
                    inForce.stream().map(ThrottleConflict.InForce::policy).toList());
            changes = PolicyWarnings.addTo(changes, inForce, table, nowMs);
        }
    }

    /** Searches the text only. Most policies do neither, and parsing one costs far more. */
    private static boolean mayThrottleOrShape(PolicyAvro.Applied record) {
        return Stream.concat(
                        Stream.of(record.definition()), record.before().stream().map(PolicyAvro.Earlier::definition))
                .anyMatch(text -> text.contains("throttle") || text.contains("queue"));
    }

    private void put(PolicyFile.Definition definition) {
        PolicyAvro.Applied old = get(PolicyAvro.key(definition.kind(), definition.id()));
        if (old != null && definition.json().equals(old.definition())) {
            changes.add(unchanged(old, Effect.UNCHANGED));
            return;
        }
        long version = 1 + (old == null ? lastInHistory(definition) : old.version());
        PolicyAvro.Applied next = new PolicyAvro.Applied(
                        definition.kind(), definition.id(), version, definition.json(), nowMs)
                .withChangedBy(changedBy);
        write(definition.kind() == PolicyAvro.Kind.POLICY ? PolicyVersions.next(next, old, nowMs) : next);
        Effect effect = old == null || old.isDeleted() ? Effect.ADDED : Effect.CHANGED;
        changes.add(new Change(
                definition.kind(),
                definition.id(),
                effect,
                version,
                old == null || old.isDeleted() ? null : replaced(definition, old),
                definition.json()));
    }

    /**
     * Returns the last version in the history. The policies topic may have been lost, and instances that remember it
     * accept no lower version.
     */
    private long lastInHistory(PolicyFile.Definition definition) {
        past = past == null ? history.last() : past;
        return past.getOrDefault(PolicyAvro.key(definition.kind(), definition.id()), 0L);
    }

    /**
     * Returns the definition that is replaced when the new one takes effect. It differs from the last one applied if
     * that takes effect later.
     */
    private String replaced(PolicyFile.Definition definition, PolicyAvro.Applied old) {
        return definition instanceof PolicyFile.Definition.PolicyDefinition of
                ? PolicyVersions.inForceAt(old, Math.max(nowMs, of.policy().effectiveFromMs()))
                : old.definition();
    }

    private void delete(String key) {
        PolicyAvro.Applied old = get(key);
        if (old != null && !old.isDeleted()) {
            write(new PolicyAvro.Applied(old.kind(), old.id(), old.version() + 1, null, nowMs)
                    .withChangedBy(changedBy));
            changes.add(new Change(old.kind(), old.id(), Effect.DELETED, old.version() + 1, old.definition(), null));
        }
    }

    private void require(Expected expected, PolicyAvro.Key key) {
        PolicyAvro.Applied inForce = inForce(key.toString());
        if (!isMet(expected, inForce)) {
            throw new ConflictException(key, inForce);
        }
    }

    /** @param inForce null if there is none */
    private static boolean isMet(Expected expected, PolicyAvro.Applied inForce) {
        if (expected instanceof Expected.Version version) {
            return inForce != null && inForce.version() == version.version();
        }
        if (expected instanceof Expected.Present) {
            return inForce != null;
        }
        return expected instanceof Expected.Any || (expected instanceof Expected.Absent && inForce == null);
    }

    private void write(PolicyAvro.Applied record) {
        records.add(record);
        written.put(record.key(), record);
    }

    /** Returns the last record of a key, null if there is none. */
    private PolicyAvro.Applied get(String key) {
        PolicyAvro.Applied record = written.get(key);
        return record == null ? onTopic.get(key) : record;
    }

    /** Returns the last record of each key, in the order of the keys. */
    private Collection<PolicyAvro.Applied> all() {
        Map<String, PolicyAvro.Applied> all = new TreeMap<>(onTopic);
        all.putAll(written);
        return all.values();
    }

    /** Returns null if there is none. */
    private PolicyAvro.Applied inForce(String key) {
        PolicyAvro.Applied found = get(key);
        return found == null || found.isDeleted() ? null : found;
    }

    /** Returns the policies that send to each queue, now or at a later time, by queue. */
    private Map<String, List<String>> senders() {
        Map<String, List<String>> senders = new HashMap<>();
        for (PolicyAvro.Applied record : all()) {
            if (record.kind() == PolicyAvro.Kind.POLICY && !record.isDeleted()) {
                PolicyVersions.of(record).stream()
                        .filter(version -> version.untilMs() > nowMs)
                        .filter(version -> version.policy().shapes())
                        .map(version -> version.policy().queue())
                        .distinct()
                        .forEach(queue -> senders.computeIfAbsent(queue, none -> new ArrayList<>())
                                .add(record.id()));
            }
        }
        return senders;
    }

    private static RefusedChangeException refusal(List<String> senders, String queue, String why) {
        boolean one = senders.size() == 1;
        String named = senders.stream().limit(MAX_NAMED).collect(Collectors.joining(", "));
        String more = senders.size() > MAX_NAMED ? " and " + (senders.size() - MAX_NAMED) + " more" : "";
        return new RefusedChangeException("nothing was changed: " + (one ? "policy " : "policies ") + named + more
                + (one ? " sends" : " send") + " to queue " + queue + ", which " + why);
    }
}
