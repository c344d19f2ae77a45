package dev.weir.client.throttle;

import dev.weir.client.decision.ClientDecision;
import dev.weir.client.decision.NoDecisionException;
import dev.weir.client.decision.NoDecisionReason;
import dev.weir.event.Decision;
import dev.weir.event.Outcome;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.function.LongSupplier;
import org.apache.kafka.clients.consumer.ConsumerRecord;

/**
 * The records of one partition that were received and not delivered, and their decisions. Belongs to the thread of the
 * consumer.
 */
// Records are delivered in their order, so a record that is denied delays those behind it. Requests are sent ahead:
//
//   not congested   for each of the first records, up to a maximum. One that is denied makes the partition congested
//   congested       only for the first record that is not allowed, when its retry time has passed. If it is allowed,
//                   the partition is no longer congested
//
// So while a limit permits all records, the round trips to Weir overlap. While it does not, a partition asks for one
// record at a time. Records behind a denied one that were allowed keep their permission.
final class ThrottledPartition<K, V> {

    private static final long MS = 1_000_000;
    private static final long MIN_BACK_OFF_MS = 100;
    private static final int MAX_BACK_OFF_DOUBLINGS = 6;

    private final Deque<HeldRecord<K, V>> records = new ArrayDeque<>();
    private final ThrottledSource<K, V> source;
    private final LongSupplier nanoTime;
    private boolean isCongested;

    /** Where decisions come from and counts go to, and what happens to records that cannot be allowed. */
    interface ThrottledSource<K, V> {

        /**
         * Requests a decision.
         *
         * @param attempt the number of the attempt, from 1
         * @throws RuntimeException if the record cannot be made a request
         */
        CompletableFuture<ClientDecision> decide(ConsumerRecord<K, V> record, int attempt);

        /** Called for each decision that denies a record which can pass later. */
        void denied();

        /** Called for each request without a decision. */
        void undecided();

        /**
         * Returns what happens to a record that no later attempt can pass. Called again if it throws.
         *
         * @return not null
         */
        NeverAllowed onNeverAllowed(ConsumerRecord<K, V> record, Decision decision);

        /**
         * Returns what happens to a record without a valid request. Called again if it throws.
         *
         * @return not null
         */
        NeverAllowed onInvalid(ConsumerRecord<K, V> record, IllegalArgumentException failure);
    }

    /** The state of a record. */
    private sealed interface RecordState {}

    private record NotRequested() implements RecordState {}

    private record Requested(CompletableFuture<Arrival> arrival) implements RecordState {}

    /** It is asked for again at that time. */
    private record Denied(long untilNanos) implements RecordState {}

    /** It can be delivered from that time on. */
    private record Allowed(long fromNanos) implements RecordState {}

    private record Never(Decision decision) implements RecordState {}

    private record Skipped() implements RecordState {}

    private record Failed(RuntimeException failure) implements RecordState {}

    private record Arrival(ClientDecision answer, Throwable failure, long atNanos) {}

    private static final class HeldRecord<K, V> {
        private final ConsumerRecord<K, V> record;
        private RecordState state = new NotRequested();
        private boolean isUnresolved; // the source has thrown instead of returning what happens to the record
        private int attempt = 1;
        private int backOffs;

        HeldRecord(ConsumerRecord<K, V> record) {
            this.record = record;
        }
    }

    ThrottledPartition(ThrottledSource<K, V> source, LongSupplier nanoTime) {
        this.source = source;
        this.nanoTime = nanoTime;
    }

    /** Names a record for messages. */
    static String place(ConsumerRecord<?, ?> record) {
        return "topic %s, partition %d, offset %d".formatted(record.topic(), record.partition(), record.offset());
    }

    void add(ConsumerRecord<K, V> record) {
        records.addLast(new HeldRecord<>(record));
    }

    int size() {
        return records.size();
    }

    /** Reads the decisions that have arrived, and sends requests for up to {@code ahead} records. */
    void advance(int ahead) {
        int index = 0;
        for (HeldRecord<K, V> each : records) {
            if (index++ == ahead) {
                break;
            }
            settle(each);
        }
        index = 0;
        for (HeldRecord<K, V> each : records) {
            if (index++ == ahead || !request(each)) {
                break;
            }
        }
    }

    /** Sends the request for a record if it is time. Returns whether the next record can be asked for, too. */
    private boolean request(HeldRecord<K, V> held) {
        if (held.state instanceof Allowed || held.state instanceof Skipped) {
            return true;
        }
        if (held.state instanceof NotRequested
                || held.state instanceof Denied denied && denied.untilNanos - nanoTime.getAsLong() <= 0) {
            try {
                held.state = new Requested(source.decide(held.record, held.attempt)
                        .handle((answer, failure) -> new Arrival(answer, failure, nanoTime.getAsLong())));
            } catch (RuntimeException e) {
                held.state = new Failed(failure(held, e));
            }
            settle(held);
        }
        return held.state instanceof Allowed || held.state instanceof Requested && !isCongested;
    }

    private void settle(HeldRecord<K, V> held) {
        if (!(held.state instanceof Requested requested) || !requested.arrival.isDone()) {
            return;
        }
        Arrival arrival = requested.arrival.join();
        Throwable failure = arrival.failure instanceof CompletionException && arrival.failure.getCause() != null
                ? arrival.failure.getCause()
                : arrival.failure;
        if (failure instanceof NoDecisionException none && none.reason() != NoDecisionReason.CLOSED) {
            backOff(held, arrival);
        } else if (failure != null) {
            held.state = new Failed(failure(held, failure));
        } else if (arrival.answer.allowed()) {
            long delayMs =
                    arrival.answer.decision().map(ThrottledPartition::delayMs).orElse(0L);
            held.state = new Allowed(arrival.atNanos + delayMs * MS);
            isCongested = false;
        } else if (arrival.answer.decision().isEmpty()) {
            backOff(held, arrival);
        } else {
            deny(held, arrival.answer.decision().get(), arrival);
        }
    }

    private static long delayMs(Decision decision) {
        return decision.delayMs() == null ? 0 : decision.delayMs();
    }

    /**
     * A denial under an idempotency key is the decision on the key for as long as it is stored. So the next attempt has
     * another key, and a denial that is repeated, after a restart, does not delay it.
     */
    private void deny(HeldRecord<K, V> held, Decision decision, Arrival arrival) {
        held.attempt++;
        if (decision.outcome() != Outcome.DENIED || decision.retryAfterMs() == null) {
            held.state = new Never(decision);
        } else if (decision.repeated()) {
            held.state = new NotRequested();
        } else {
            isCongested = true;
            held.backOffs = 0;
            held.state = new Denied(arrival.atNanos + Math.max(1, decision.retryAfterMs()) * MS);
            source.denied();
        }
    }

    /** Without a decision, the request may have been charged. The next one has the same id. */
    private void backOff(HeldRecord<K, V> held, Arrival arrival) {
        isCongested = true;
        held.state = new Denied(
                arrival.atNanos + (MIN_BACK_OFF_MS << Math.min(held.backOffs++, MAX_BACK_OFF_DOUBLINGS)) * MS);
        source.undecided();
    }

    private static RuntimeException failure(HeldRecord<?, ?> held, Throwable failure) {
        return failure instanceof NoDecisionException closed
                ? closed
                : new IllegalArgumentException(place(held.record) + ": " + failure.getMessage(), failure);
    }

    /**
     * Removes the first record if it can be delivered, and adds it to {@code delivered}, or if it is skipped.
     *
     * @return the record that was removed; empty if the first one waits
     * @throws RuntimeException if the source does not return what happens to the first record. Nothing is removed
     */
    Optional<ConsumerRecord<K, V>> take(List<ConsumerRecord<K, V>> delivered) {
        HeldRecord<K, V> first = records.peekFirst();
        if (first == null) {
            return Optional.empty();
        }
        resolve(first);
        if (first.state instanceof Skipped) {
            return Optional.of(records.removeFirst().record);
        }
        if (first.state instanceof Allowed allowed && allowed.fromNanos - nanoTime.getAsLong() <= 0) {
            delivered.add(first.record);
            return Optional.of(records.removeFirst().record);
        }
        return Optional.empty();
    }

    /** Asks the source what happens to a record that cannot be allowed. */
    private void resolve(HeldRecord<K, V> held) {
        try {
            if (held.state instanceof Never never) {
                apply(source.onNeverAllowed(held.record, never.decision), held);
            } else if (held.state instanceof Failed failed
                    && failed.failure instanceof IllegalArgumentException invalid) {
                apply(source.onInvalid(held.record, invalid), held);
            }
            held.isUnresolved = false;
        } catch (RuntimeException | Error e) {
            held.isUnresolved = true;
            throw e;
        }
    }

    private void apply(NeverAllowed what, HeldRecord<K, V> to) {
        switch (what) {
            case SKIP -> to.state = new Skipped();
            case DELIVER -> to.state = new Allowed(nanoTime.getAsLong());
            case THROW -> {} // by throwFailure()
        }
    }

    /**
     * Throws what prevents the first record from being delivered, if something does. If the source has thrown, asks it
     * again first.
     */
    void throwFailure() {
        HeldRecord<K, V> first = records.peekFirst();
        if (first == null) {
            return;
        }
        if (first.isUnresolved) {
            try {
                resolve(first);
            } catch (RuntimeException | Error e) {
                first.isUnresolved = false;
                first.state = new NotRequested(); // like other failures, so that other partitions are not stopped
                throw e;
            }
        }
        if (first.state instanceof Failed failed) {
            first.state = new NotRequested();
            throw failed.failure;
        }
        if (first.state instanceof Never never) {
            first.state = new NotRequested();
            throw new RecordDeniedException(first.record, never.decision);
        }
    }

    /** Returns whether a decision is expected. */
    boolean isWaitingForDecision() {
        return records.stream().anyMatch(each -> each.state instanceof Requested);
    }

    /** Returns in how long a record can be delivered or asked for again; empty if that depends on decisions. */
    OptionalLong nextNanos() {
        OptionalLong next = OptionalLong.empty();
        for (HeldRecord<K, V> each : records) {
            if (each.state instanceof Allowed allowed) {
                if (each == records.peekFirst()) {
                    next = OptionalLong.of(allowed.fromNanos - nanoTime.getAsLong());
                }
            } else if (each.state instanceof Denied denied) {
                long untilNanos = denied.untilNanos - nanoTime.getAsLong();
                return OptionalLong.of(next.isPresent() ? Math.min(next.getAsLong(), untilNanos) : untilNanos);
            } else {
                return next;
            }
        }
        return next;
    }
}
