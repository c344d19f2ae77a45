package dev.weir.definition;

import dev.weir.event.Rejection;
import dev.weir.fault.UnreadableException;
import dev.weir.wire.PolicyAvro;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.function.Function;

/**
 * The policies and queues in force after the records of the policies topic that were added so far. All readers of the
 * topic use {@link #step} to determine what a record does, so they agree on what is in force.
 *
 * <p>One thread adds records; other threads may read.
 *
 * @param <V> what is kept of a good record
 */
public final class PolicyFold<V> {

    private static final String AFTER_ALL_IDS = "\uFFFF";

    private final SortedMap<String, V> byKey = Collections.synchronizedSortedMap(new TreeMap<>());
    private final Function<DecodedPolicyRecord, V> kept;
    private final Function<V, PolicyAvro.Applied> record;

    /** What a record of the policies topic does. */
    public sealed interface Step {

        /**
         * Puts a version of a policy or queue in force, or its deletion.
         *
         * @param rules the policy or queue
         */
        record Put(DecodedPolicyRecord rules) implements Step {}

        /** Removes a policy or queue and its version number. The record has no value. */
        record Remove() implements Step {}

        /**
         * Changes nothing: the last good record of the key stays in force.
         *
         * @param fault what is wrong with the record
         */
        record Reject(UnreadableException fault) implements Step {}
    }

    private PolicyFold(Function<DecodedPolicyRecord, V> kept, Function<V, PolicyAvro.Applied> record) {
        this.kept = kept;
        this.record = record;
    }

    /**
     * Returns an empty table that keeps the parsed rules.
     *
     * @return a new table
     */
    public static PolicyFold<DecodedPolicyRecord> ofRules() {
        return new PolicyFold<>(Function.identity(), DecodedPolicyRecord::applied);
    }

    /**
     * Returns an empty table that keeps only the records, which take less heap than the parsed rules.
     *
     * @return a new table
     */
    public static PolicyFold<PolicyAvro.Applied> ofRecords() {
        return new PolicyFold<>(DecodedPolicyRecord::applied, Function.identity());
    }

    /**
     * Returns what a record does, without changing a table.
     *
     * @param key the key of the record, null if it has none
     * @param value the value of the record, null if it has none
     * @param lastVersion the version of the last good record of this key, 0 if there is none
     * @return what the record does
     */
    public static Step step(String key, byte[] value, long lastVersion) {
        if (key == null) {
            return new Step.Reject(new UnreadableException(Rejection.NO_KEY, "the record has no key"));
        }
        if (value == null) {
            return new Step.Remove();
        }
        try {
            return new Step.Put(DecodedPolicyRecord.read(key, value, lastVersion));
        } catch (UnreadableException e) {
            return new Step.Reject(e);
        }
    }

    /**
     * Adds the next record.
     *
     * @param key the key of the record, null if it has none
     * @param value the value of the record, null if it has none
     * @return what the record did
     */
    public Step add(String key, byte[] value) {
        Step step = step(key, value, key == null ? 0 : version(key));
        if (step instanceof Step.Put put) {
            byKey.put(key, kept.apply(put.rules()));
        } else if (step instanceof Step.Remove) {
            byKey.remove(key);
        }
        return step;
    }

    /**
     * Returns the last good record of a key, which may be a deletion.
     *
     * @param key the key
     * @return the record; empty if there is none
     */
    public Optional<V> get(String key) {
        return Optional.ofNullable(byKey.get(key));
    }

    /**
     * Returns the last good record of each key, including deletions. A result that contains a record also reflects all
     * earlier records.
     *
     * @return the records, policies before queues, each ordered by id
     */
    public List<V> all() {
        synchronized (byKey) {
            return List.copyOf(byKey.values());
        }
    }

    /**
     * Returns {@link #all} by key. Must not be iterated while another thread adds records.
     *
     * @return a view, which changes with this table, ordered by key
     */
    public SortedMap<String, V> byKey() {
        return Collections.unmodifiableSortedMap(byKey);
    }

    /**
     * Returns the records that are in force, without deletions.
     *
     * @return the records, policies before queues, each ordered by id
     */
    public List<PolicyAvro.Applied> inForce() {
        return all().stream()
                .map(record)
                .filter(applied -> !applied.isDeleted())
                .toList();
    }

    /**
     * Returns the policies, or the queues, that are in force.
     *
     * @param kind which of them
     * @return the records, ordered by id
     */
    public List<PolicyAvro.Applied> inForce(PolicyAvro.Kind kind) {
        List<V> ofKind;
        synchronized (byKey) {
            ofKind = List.copyOf(byKey.tailMap(PolicyAvro.key(kind, ""))
                    .headMap(PolicyAvro.key(kind, AFTER_ALL_IDS))
                    .values());
        }
        return ofKind.stream()
                .map(record)
                .filter(applied -> !applied.isDeleted())
                .toList();
    }

    /** Returns the version of the last good record of a key, including a deletion; 0 if there is none. */
    private long version(String key) {
        V last = byKey.get(key);
        return last == null ? 0 : record.apply(last).version();
    }
}
