package dev.weir.storage.snapshot;

import dev.weir.decision.state.BoundedReservations;
import dev.weir.decision.state.BoundedReservations.ExpiryEntry;
import dev.weir.decision.state.IdempotencyCache;
import dev.weir.decision.state.KeyValueTable;
import dev.weir.decision.state.NextPlace;
import dev.weir.decision.state.PolicyState;
import dev.weir.decision.state.PolicyStates;
import dev.weir.decision.state.ReservationRecord;
import dev.weir.decision.state.ReservationSummary;
import dev.weir.event.RequestKind;
import dev.weir.event.StateKey;
import dev.weir.policy.RequestKey;
import dev.weir.storage.StoredExpiryQueues;
import dev.weir.storage.codec.IdempotentAnswerCodec;
import dev.weir.storage.codec.ReservationCodec;
import dev.weir.storage.codec.ReservationEntry.Bounds;
import dev.weir.storage.codec.ReservationEntry.Expiries;
import dev.weir.storage.codec.ReservationEntry.Reserved;
import dev.weir.storage.codec.StateCodec;
import dev.weir.wire.KeyCodec;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;
import org.apache.kafka.common.serialization.BytesSerializer;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.state.KeyValueIterator;
import org.apache.kafka.streams.state.ReadOnlyKeyValueStore;

/**
 * Runs dry runs on the stores of a running task. Each dry run reads a consistent snapshot, and its writes
 * are discarded.
 */
// The states are in two stores, and the task writes to both during a dry run. A dry run is valid only if each state
// that it read is unchanged at its end. Then the segments belonged to the states, and all states existed at the
// same time.
public final class SnapshotStates {

    private static final int ATTEMPTS = 10;

    private final IdempotentAnswerCodec codec = new IdempotentAnswerCodec();
    private final ReservationCodec reservationCodec = new ReservationCodec();

    private final ReadOnlyKeyValueStore<Bytes, byte[]> states;
    private final ReadOnlyKeyValueStore<Bytes, byte[]> segments;
    private final ReadOnlyKeyValueStore<Bytes, byte[]> answers;
    private final ReadOnlyKeyValueStore<Bytes, byte[]> reservations;
    private final int maxReservations;

    /**
     * Opens the stores of a task.
     *
     * @param states the states of policies
     * @param segments the full segments of sliding-window logs
     * @param answers the idempotency cache
     * @param reservations the reservations
     * @param maxReservations the most reservations
     */
    public SnapshotStates(
            ReadOnlyKeyValueStore<Bytes, byte[]> states,
            ReadOnlyKeyValueStore<Bytes, byte[]> segments,
            ReadOnlyKeyValueStore<Bytes, byte[]> answers,
            ReadOnlyKeyValueStore<Bytes, byte[]> reservations,
            int maxReservations) {
        this.states = states;
        this.segments = segments;
        this.answers = answers;
        this.reservations = reservations;
        this.maxReservations = maxReservations;
    }

    /**
     * Applies a function to a consistent snapshot.
     *
     * @return empty if the states changed during each of {@value #ATTEMPTS} attempts
     */
    public <T> Optional<T> attempt(Function<PolicyStates, T> what) {
        for (int i = 0; i < ATTEMPTS; i++) {
            Attempt trial = new Attempt();
            T outcome;
            try {
                outcome = what.apply(trial);
            } catch (SnapshotSegments.GoneException e) {
                continue;
            }
            if (trial.isConsistent()) {
                return Optional.of(outcome);
            }
        }
        return Optional.empty();
    }

    /** Returns the keys of a client's states in ascending order, at most {@code most} of them. */
    public List<StateKey> keys(String client, int most) {
        List<StateKey> keys = new ArrayList<>();
        Bytes prefix = Bytes.wrap(KeyCodec.prefix(client));
        try (KeyValueIterator<Bytes, byte[]> iterator = states.prefixScan(prefix, new BytesSerializer())) {
            while (keys.size() < most && iterator.hasNext()) {
                StateKey key = KeyCodec.decode(iterator.next().key.get());
                if (!key.client().equals(client)) {
                    break;
                }
                keys.add(key);
            }
        }
        return keys;
    }

    /** Receives the reservations of a client. Returns whether to go on. */
    public interface ReservationVisitor {
        boolean visit(String requestId, ReservationRecord reservation);
    }

    /**
     * Visits the reservations of a client in the order of the bytes of their requestIds: those that are open, those that
     * were ended, and some that are over.
     *
     * @param after visits only those whose requestId sorts after this one
     * @param most the most reservations to visit
     * @return the last requestId that was visited, if there are more
     */
    public Optional<String> visitReservations(String client, String after, int most, ReservationVisitor visitor) {
        Bytes from = Bytes.wrap(ReservationCodec.key(new RequestKey(client, RequestKind.CONSUME, after)));
        String last = null;
        int left = most;
        try (KeyValueIterator<Bytes, byte[]> iterator = reservations.range(from, null)) {
            while (iterator.hasNext()) {
                KeyValue<Bytes, byte[]> entry = iterator.next();
                if (!ReservationCodec.isReservation(entry.key.get())) {
                    break;
                }
                RequestKey key = KeyCodec.decodeAnswer(entry.key.get());
                if (!key.client().equals(client)) {
                    break;
                }
                if (key.requestId().equals(after)) {
                    continue;
                }
                if (left == 0) {
                    return Optional.ofNullable(last);
                }
                last = key.requestId();
                left = visitor.visit(last, reservation(entry.key.get(), entry.value)) ? left - 1 : 0;
            }
        }
        return Optional.empty();
    }

    private ReservationRecord reservation(byte[] key, byte[] value) {
        return ((Reserved) reservationCodec.decode(key, value)).reservation();
    }

    private final class Attempt implements PolicyStates {
        private final Map<Bytes, byte[]> seen = new HashMap<>();

        @Override
        public PolicyState get(StateKey key) {
            Bytes keyBytes = Bytes.wrap(KeyCodec.encode(key));
            byte[] state = states.get(keyBytes);
            seen.put(keyBytes, state);
            return state == null
                    ? null
                    : StateCodec.decode(state, logId -> new SnapshotSegments(segments, keyBytes.get(), logId));
        }

        @Override
        public IdempotencyCache.Entry firstAnswer(RequestKey key) {
            byte[] entry = answers.get(Bytes.wrap(KeyCodec.encode(key)));
            return entry == null ? null : codec.decodeEntry(entry);
        }

        @Override
        public ReservationRecord reservation(RequestKey key) {
            byte[] keyBytes = ReservationCodec.key(key);
            byte[] value = reservations.get(Bytes.wrap(keyBytes));
            return value == null ? null : SnapshotStates.this.reservation(keyBytes, value);
        }

        @Override
        public boolean hasReservations() {
            return true;
        }

        @Override
        public NextPlace nextPlace() {
            byte[] bounds = reservations.get(Bytes.wrap(ReservationCodec.boundsKey()));
            if (bounds == null) {
                return NextPlace.FREE;
            }
            ReservationSummary summary =
                    ((Bounds) reservationCodec.decode(ReservationCodec.boundsKey(), bounds)).summary();
            BoundedReservations.Storage storage = new BoundedReservations.Storage(
                    new SnapshotTable<>(this::reservation), new SnapshotTable<>(this::expiryEntry), summary);
            return new BoundedReservations(storage, maxReservations, 0).nextPlace();
        }

        /** Returns an entry of an expiry queue, null if it has been deleted since the bounds were read. */
        private ExpiryEntry expiryEntry(long position) {
            byte[] key = ReservationCodec.expiriesKey(StoredExpiryQueues.blockAt(position));
            byte[] value = reservations.get(Bytes.wrap(key));
            int index = StoredExpiryQueues.indexOf(position);
            List<ExpiryEntry> entries =
                    value == null ? List.of() : ((Expiries) reservationCodec.decode(key, value)).entries();
            return index < entries.size() ? entries.get(index) : null;
        }

        boolean isConsistent() {
            return seen.entrySet().stream()
                    .allMatch(entry -> Arrays.equals(states.get(entry.getKey()), entry.getValue()));
        }
    }

    /** A table that is only read. */
    private record SnapshotTable<K, V>(Function<K, V> reader) implements KeyValueTable<K, V> {

        @Override
        public V get(K key) {
            return reader.apply(key);
        }

        @Override
        public void put(K key, V value) {
            throw new UnsupportedOperationException();
        }

        @Override
        public void delete(K key) {
            throw new UnsupportedOperationException();
        }
    }
}
