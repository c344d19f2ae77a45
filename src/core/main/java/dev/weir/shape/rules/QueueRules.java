package dev.weir.shape.rules;

import dev.weir.event.Admission;
import dev.weir.event.Request;
import dev.weir.limit.Limit;
import dev.weir.policy.Policy;
import java.math.BigInteger;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;

/**
 * The rules of a queue. A queue with key fields has one leaky bucket for each combination of their values; then rate,
 * burst, capacity and the longest wait apply to each bucket.
 *
 * @param id identifies the queue: 1 to 128 letters, digits, and {@code . _ -}
 * @param version the version number, from 1
 * @param limit the tokens that leave per {@code perMs}, 1 or more
 * @param perMs 1 ms to 30 days
 * @param burst the tokens that can leave back to back, 1 or more
 * @param capacity the most waiting requests, 1 to {@value #MAX_CAPACITY}
 * @param maxWaitMs the longest wait, {@value #NO_MAX_WAIT} for no bound
 * @param lookAheadMs how far ahead of its time a release can be written, 0 to {@value #MAX_LOOK_AHEAD_MS} ms
 * @param tiers the share of each tier; a tier that is not named gets {@link TierShare#DEFAULT}
 * @param fairBy the field by whose values the requests of a tier share evenly
 * @param key the key fields; if empty, all requests wait in one bucket
 * @param total the bounds of all buckets together, null if there are none; only with key fields
 * @param inFlight how many released requests of a bucket may be processed at the same time; null if workers do not
 *     acknowledge releases. Only with it, a queue can have {@linkplain #hasRate no rate}, or a total can bound what is
 *     in flight; a bucket has at most as many slots as the total
 */
public record QueueRules(
        String id,
        long version,
        long limit,
        long perMs,
        long burst,
        long capacity,
        long maxWaitMs,
        long lookAheadMs,
        Map<String, TierShare> tiers,
        String fairBy,
        List<String> key,
        QueueTotal total,
        InFlightRules inFlight) {

    /** The tokens per millisecond, and the burst, of a queue without a rate: more than any request costs. */
    public static final long NO_RATE = Limit.MAX_LEVEL;

    public static final String DEFAULT_FAIR_BY = "client";
    public static final long DEFAULT_CAPACITY = 10_000;
    public static final long MAX_CAPACITY = 100_000_000;
    public static final long NO_MAX_WAIT = Long.MAX_VALUE;
    public static final long DEFAULT_LOOK_AHEAD_MS = 100;
    public static final long MAX_LOOK_AHEAD_MS = 10_000;
    public static final int MAX_TIERS = 1_000;
    public static final long MIN_COST_BOUND = 1_000;

    /** The most service that is counted for one request. */
    public static final long MAX_SERVICE = 1L << 61;

    private static final long HOUR_MS = 3_600_000;

    /** @throws IllegalArgumentException if a part is out of its range; the message starts with the part's name */
    public QueueRules {
        tiers = Map.copyOf(tiers);
        requireRange("capacity", capacity, 1, MAX_CAPACITY);
        requireRange("max-wait", maxWaitMs, 1, NO_MAX_WAIT);
        requireRange("look-ahead", lookAheadMs, 0, MAX_LOOK_AHEAD_MS);
        requireRange("tiers", tiers.size(), 0, MAX_TIERS);
        if (fairBy.isEmpty()) {
            throw new IllegalArgumentException("fair-by must be the name of a field, is ''");
        }
        key = List.copyOf(key);
        if (key.size() > Policy.MAX_KEY_FIELDS || key.stream().distinct().count() < key.size()) {
            throw new IllegalArgumentException("key must be at most " + Policy.MAX_KEY_FIELDS + " different fields");
        }
        if (total != null && key.isEmpty()) {
            throw new IllegalArgumentException(
                    "total requires key; without it, the bounds of the queue apply to all of it already");
        }
        int minPercent = tiers.values().stream().mapToInt(TierShare::minPercent).sum();
        if (minPercent > TierShare.MAX_PERCENT) {
            throw new IllegalArgumentException(
                    "tiers must have a min-share of at most 100% together, have " + minPercent + "%");
        }
        if (total != null && minPercent > 0) {
            throw new IllegalArgumentException("tiers cannot have a min-share with total");
        }
        if (total != null && total.inFlight().isPresent()) {
            if (inFlight == null) {
                throw new IllegalArgumentException("total.max-in-flight requires the slots of each bucket");
            }
            inFlight = inFlight.withAtMost(total.inFlight().getAsLong());
        }
        if (inFlight != null && inFlight.caps().ofClient().isPresent() && !fairBy.equals(DEFAULT_FAIR_BY)) {
            // requests with one value of another field leave in order, so those of a client could not be held back
            throw new IllegalArgumentException("max-in-flight-per-client requires fair-by: " + DEFAULT_FAIR_BY);
        }
        Pacing.of(limit, perMs, burst);
    }

    /**
     * Returns a builder of version 1 of rules with the defaults of {@code queues.yaml}: bursts of one token, the default
     * capacity and look-ahead, no longest wait, tiers that share evenly by client, and no key fields.
     *
     * @param limit the tokens that leave per {@code perMs}
     */
    public static Builder builder(String id, long limit, long perMs) {
        return new Builder(id, limit, perMs);
    }

    /** Returns a builder of rules without a rate: requests leave as soon as there is a slot for them. */
    public static Builder builder(String id, InFlightRules inFlight) {
        return builder(id, NO_RATE, 1).burst(NO_RATE).inFlight(inFlight);
    }

    /** Returns whether the queue has a rate. Otherwise, only its slots delay requests. */
    public boolean hasRate() {
        return inFlight == null || limit < NO_RATE || perMs > 1;
    }

    /** Returns a builder that starts with these rules. */
    public Builder toBuilder() {
        return new Builder(this);
    }

    /** Returns whether the queue has key fields, and so one bucket for each combination of their values. */
    public boolean isKeyed() {
        return !key.isEmpty();
    }

    /** Returns whether both rules divide requests into the same buckets. The order of the fields does not matter. */
    public boolean hasSameKeyAs(QueueRules other) {
        return key.equals(other.key) || Set.copyOf(key).equals(Set.copyOf(other.key));
    }

    /**
     * Returns the request's values of the key fields, by name, without those that it lacks; empty if the queue has no
     * key fields.
     */
    public Map<String, String> keyOf(Request request) {
        if (key.isEmpty()) {
            return Map.of();
        }
        if (key.size() == 1) {
            String value = request.field(key.get(0));
            return value == null ? Map.of() : Map.of(key.get(0), value);
        }
        Map<String, String> values = new TreeMap<>();
        for (String field : key) {
            String value = request.field(field);
            if (value != null) {
                values.put(field, value);
            }
        }
        return values;
    }

    /** Returns whether the key of an admission has values of the key fields, and of no others. */
    public boolean hasKeyFieldsOf(Admission admission) {
        return admission.key().size() == key.size() && admission.key().keySet().containsAll(key);
    }

    /** Returns the flow of a request that arrives now. */
    public Flow flowOf(Request request) {
        String value = request.field(fairBy);
        return new Flow(request.tier() == null ? "" : request.tier(), value == null ? "" : value);
    }

    /** Returns the pacing of each bucket. */
    public Pacing pacing() {
        return Pacing.of(limit, perMs, burst);
    }

    /**
     * Returns the largest cost that is admitted: what leaves in an hour, by the total if that is less, but at least the
     * burst and {@value #MIN_COST_BOUND}; and not more than there are slots. A larger request would block all others.
     */
    public long maxCost() {
        return inFlight == null ? maxPacedCost() : Math.min(inFlight.most(), maxPacedCost());
    }

    /** Returns {@link #maxCost} by the rates. Requests that were admitted before there were so few slots can cost more. */
    public long maxPacedCost() {
        long ofBucket = maxCost(limit, perMs, burst);
        return total == null || total.rate().isEmpty()
                ? ofBucket
                : Math.min(
                        ofBucket,
                        maxCost(total.rate().get().limit(), total.rate().get().perMs(), burst));
    }

    private static long maxCost(long limit, long perMs, long burst) {
        return Math.max(Math.max(anHours(limit, perMs), burst), MIN_COST_BOUND);
    }

    /** Returns the whole tokens that leave in an hour, at most {@link Long#MAX_VALUE}. */
    private static long anHours(long limit, long perMs) {
        if (limit <= Long.MAX_VALUE / HOUR_MS) {
            return limit * HOUR_MS / perMs;
        }
        BigInteger exact =
                BigInteger.valueOf(limit).multiply(BigInteger.valueOf(HOUR_MS)).divide(BigInteger.valueOf(perMs));
        return exact.min(BigInteger.valueOf(Long.MAX_VALUE)).longValueExact();
    }

    /**
     * Returns the service by which flows and tiers share that a request takes: its cost, or with slots their time. If the
     * queue also has a rate and the request takes a larger part of that than of the slots, it is the time in which the rate
     * could have used all slots (A. Ghodsi et al.: <i>Multi-resource fair queueing for packet processing</i>, SIGCOMM
     * 2012).
     *
     * @param durationMs how long it occupies slots
     * @return at most {@link #MAX_SERVICE}, if the duration is that of an attempt
     */
    public long service(long cost, long durationMs) {
        if (inFlight == null) {
            return cost;
        }
        long each = -Math.floorDiv(-inFlight.most() * perMs, limit);
        long tokens = Math.min(cost, inFlight.most());
        long ofRate = tokens > MAX_SERVICE / each ? MAX_SERVICE : tokens * each;
        return Math.max(inFlight.slots(cost) * durationMs, ofRate);
    }

    /** Returns these rules with another rate and burst. */
    public QueueRules withPace(long newLimit, long newPerMs, long newBurst) {
        return toBuilder().limit(newLimit).perMs(newPerMs).burst(newBurst).build();
    }

    /**
     * Returns whether the same is due in each bucket at the same times under both rules. The rate of a total does not
     * matter: a bucket contends by its own pace.
     */
    public boolean hasSameDueTimesAs(QueueRules other) {
        return limit == other.limit
                && perMs == other.perMs
                && burst == other.burst
                && lookAheadMs == other.lookAheadMs
                && tiers.equals(other.tiers)
                && (total == null) == (other.total == null)
                && Objects.equals(inFlight, other.inFlight);
    }

    /**
     * Returns whether these rules name a tier. Requests can have any other tier, so the number of those is unbounded.
     */
    public boolean namesTier(String tier) {
        return tiers.containsKey(tier);
    }

    /** Returns whether a tier gets a part of the service even while higher priorities wait. */
    public boolean hasMinShares() {
        return tiers.values().stream().anyMatch(share -> share.minPercent() > 0);
    }

    /** Returns the share of a tier. */
    public TierShare share(String tier) {
        return tiers.getOrDefault(tier, TierShare.DEFAULT);
    }

    /**
     * Returns the admission with the key of its bucket. The answer of a worker has it already.
     *
     * @param rules the rules of its queue, null if there is none
     */
    public static Admission withKey(Admission admission, QueueRules rules) {
        return rules == null || admission.request().kind().isAcknowledgement()
                ? admission
                : admission.withKey(rules.keyOf(admission.request()));
    }

    private static void requireRange(String part, long value, long min, long max) {
        if (value < min || value > max) {
            throw new IllegalArgumentException(part + " must be " + min + " to " + max + ", is " + value);
        }
    }

    /** Builds {@link QueueRules}. Not thread-safe. */
    public static final class Builder {

        private String id;
        private long version = 1;
        private long limit;
        private long perMs;
        private long burst = 1;
        private long capacity = DEFAULT_CAPACITY;
        private long maxWaitMs = NO_MAX_WAIT;
        private long lookAheadMs = DEFAULT_LOOK_AHEAD_MS;
        private Map<String, TierShare> tiers = Map.of();
        private String fairBy = DEFAULT_FAIR_BY;
        private List<String> key = List.of();
        private QueueTotal total;
        private InFlightRules inFlight;

        private Builder(String id, long limit, long perMs) {
            this.id = id;
            this.limit = limit;
            this.perMs = perMs;
        }

        private Builder(QueueRules rules) {
            this(rules.id, rules.limit, rules.perMs);
            version = rules.version;
            burst = rules.burst;
            capacity = rules.capacity;
            maxWaitMs = rules.maxWaitMs;
            lookAheadMs = rules.lookAheadMs;
            tiers = rules.tiers;
            fairBy = rules.fairBy;
            key = rules.key;
            total = rules.total;
            inFlight = rules.inFlight;
        }

        /** Sets the id. */
        public Builder id(String value) {
            id = value;
            return this;
        }

        /** Sets the version number. */
        public Builder version(long value) {
            version = value;
            return this;
        }

        /** Sets the tokens that leave per {@code perMs}. */
        public Builder limit(long value) {
            limit = value;
            return this;
        }

        /** Sets the time in which {@code limit} tokens leave. */
        public Builder perMs(long value) {
            perMs = value;
            return this;
        }

        /** Sets the tokens that can leave back to back. */
        public Builder burst(long value) {
            burst = value;
            return this;
        }

        /** Sets the most waiting requests. */
        public Builder capacity(long value) {
            capacity = value;
            return this;
        }

        /** Sets the longest wait. */
        public Builder maxWaitMs(long value) {
            maxWaitMs = value;
            return this;
        }

        /** Sets how far ahead of its time a release can be written. */
        public Builder lookAheadMs(long value) {
            lookAheadMs = value;
            return this;
        }

        /** Sets the share of each tier. */
        public Builder tiers(Map<String, TierShare> value) {
            tiers = value;
            return this;
        }

        /** Sets the field by whose values the requests of a tier share. */
        public Builder fairBy(String value) {
            fairBy = value;
            return this;
        }

        /** Sets the key fields. */
        public Builder key(List<String> value) {
            key = value;
            return this;
        }

        /** Sets the bounds of all buckets together; null for none. */
        public Builder total(QueueTotal value) {
            total = value;
            return this;
        }

        /** Sets how many requests may be processed at the same time; null for no bound and no acknowledgements. */
        public Builder inFlight(InFlightRules value) {
            inFlight = value;
            return this;
        }

        /**
         * Returns the rules.
         *
         * @throws IllegalArgumentException if a part is out of its range; the message starts with the part's name
         */
        public QueueRules build() {
            return new QueueRules(
                    id,
                    version,
                    limit,
                    perMs,
                    burst,
                    capacity,
                    maxWaitMs,
                    lookAheadMs,
                    tiers,
                    fairBy,
                    key,
                    total,
                    inFlight);
        }
    }
}
