package dev.weir.api;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.weir.query.InstanceQueries.Result;
import dev.weir.server.http.ProblemDetails;
import dev.weir.shape.command.OrdersView;
import dev.weir.shape.command.QueueCommand;
import dev.weir.shape.rules.InFlightRules;
import dev.weir.shape.rules.QueueRules;
import dev.weir.shape.rules.TierShare;
import dev.weir.shape.view.QueueView;
import dev.weir.wire.json.Json;
import java.math.BigDecimal;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Semaphore;
import java.util.function.BinaryOperator;
import java.util.function.Function;

/**
 * Adds up a queue whose buckets are spread over several instances. It requests the parts of the other instances, a few
 * at a time, and names those that do not respond in time.
 */
final class QueueAggregator {

    private static final int MAX_AT_ONCE = 8;
    private static final int MAX_GATHERED = 16;
    private static final Duration ANSWER_TIMEOUT = Duration.ofSeconds(3);
    private static final Duration TOTAL_TIMEOUT = Duration.ofSeconds(6);
    private static final BigDecimal NANOS_PER_MS = BigDecimal.valueOf(1_000_000);

    private final PeerInstances peers;
    private final Semaphore gatherPermits = new Semaphore(MAX_GATHERED);

    /**
     * A queue, added up over the instances that responded.
     *
     * @param view null if none of them has a bucket of the queue
     * @param missing the addresses of the instances that did not respond
     */
    record MergedQueue(QueueView view, Set<String> missing) {}

    /**
     * The deleted queues in which requests wait, and the queues with commands of operators, by id, added up over the
     * instances that responded.
     *
     * @param missing the addresses of the instances that did not respond
     */
    record UnusualQueues(SortedMap<String, QueueView> views, Set<String> missing) {}

    QueueAggregator(PeerInstances peers) {
        this.peers = peers;
    }

    /**
     * Requests the parts of the other instances and adds them up.
     *
     * @param own the part of this instance
     * @throws ProblemDetails.ProblemException with 503 if too many queues are being added up
     */
    CompletableFuture<MergedQueue> gather(String id, Result.Partial<QueueView> own) {
        String target = "/v1/queues/" + URLEncoder.encode(id, StandardCharsets.UTF_8);
        Gathering<QueueView> gathering = new Gathering<>(target, own, QueueAggregator::read, QueueView::mergedWith);
        return run(gathering).thenApply(all -> new MergedQueue(all.sum(), all.missing()));
    }

    /**
     * Requests the unusual queues of the other instances, and adds them to those of this instance.
     *
     * @throws ProblemDetails.ProblemException with 503 if too many queues are being added up
     */
    CompletableFuture<UnusualQueues> gatherUnusual(Result.Partial<SortedMap<String, QueueView>> own) {
        Gathering<SortedMap<String, QueueView>> gathering =
                new Gathering<>("/v1/queues", own, QueueAggregator::readAll, QueueAggregator::merged);
        return run(gathering).thenApply(all -> new UnusualQueues(all.sum(), all.missing()));
    }

    private static SortedMap<String, QueueView> merged(
            SortedMap<String, QueueView> one, SortedMap<String, QueueView> other) {
        SortedMap<String, QueueView> all = new TreeMap<>(one);
        other.forEach((id, view) -> all.merge(id, view, QueueView::mergedWith));
        return all;
    }

    private <T> CompletableFuture<Gathering<T>> run(Gathering<T> gathering) {
        if (!gatherPermits.tryAcquire()) {
            throw ProblemDetails.unavailable("too many queues are being added up over all instances")
                    .exception();
        }
        List<CompletableFuture<Void>> lanes = new ArrayList<>();
        for (int lane = 0; lane < MAX_AT_ONCE; lane++) {
            lanes.add(gathering.askNext());
        }
        return CompletableFuture.allOf(lanes.toArray(CompletableFuture[]::new))
                .whenComplete((all, failure) -> gatherPermits.release())
                .thenApply(all -> gathering);
    }

    /** Adds up the parts of all instances. */
    private final class Gathering<T> {
        final String target;
        final Function<String, T> reader;
        final BinaryOperator<T> plus;
        final Iterator<String> addresses;
        final long endNanos = System.nanoTime() + TOTAL_TIMEOUT.toNanos();
        final Set<String> missing = new TreeSet<>();
        T sum;

        /** @param target the path at which each instance returns its part */
        Gathering(String target, Result.Partial<T> own, Function<String, T> reader, BinaryOperator<T> plus) {
            this.target = target;
            this.reader = reader;
            this.plus = plus;
            addresses = own.others().iterator();
            sum = own.value();
        }

        /** Requests the part of the next instance, then of the one after it, until none is left. */
        CompletableFuture<Void> askNext() {
            String address = next();
            if (address == null) {
                return CompletableFuture.completedFuture(null);
            }
            return peers.get(address, target, remainingTime())
                    .thenApply(reader)
                    .handle((part, failure) -> {
                        add(address, part, failure);
                        return null;
                    })
                    .thenCompose(done -> askNext());
        }

        private Duration remainingTime() {
            long leftNanos = Math.max(1_000_000, endNanos - System.nanoTime());
            return Duration.ofNanos(Math.min(leftNanos, ANSWER_TIMEOUT.toNanos()));
        }

        private synchronized String next() {
            return addresses.hasNext() ? addresses.next() : null;
        }

        /** @param part null if the instance has none */
        private synchronized void add(String address, T part, Throwable failure) {
            if (failure != null) {
                missing.add(address);
            } else if (part != null) {
                sum = sum == null ? part : plus.apply(sum, part);
            }
        }

        synchronized T sum() {
            return sum;
        }

        synchronized Set<String> missing() {
            return missing;
        }
    }

    /** Returns the response to another instance: its part of the queue, which may be null. */
    static ObjectNode json(QueueView part) {
        ObjectNode json = JsonViews.object();
        json.put("id", part == null ? null : part.rules().id());
        json.put("version", part == null ? null : (Long) part.rules().version());
        json.set("state", part == null ? null : JsonViews.queueState(part));
        return json;
    }

    /** Returns the response to another instance: its parts of the unusual queues. */
    static ObjectNode json(SortedMap<String, QueueView> unusual) {
        ObjectNode json = JsonViews.object();
        ArrayNode parts = json.putArray("unusual");
        unusual.values().forEach(view -> parts.add(json(view)));
        return json;
    }

    private static SortedMap<String, QueueView> readAll(String json) {
        SortedMap<String, QueueView> views = new TreeMap<>();
        for (JsonNode part : tree(json).required("unusual")) {
            QueueView view = view(part, part.required("state"));
            views.put(view.rules().id(), view);
        }
        return views;
    }

    /** Reads a part that another instance has sent. Settings that a view does not show are at their defaults. */
    static QueueView read(String json) {
        JsonNode part = tree(json);
        JsonNode state = part.get("state");
        return state.isNull() ? null : view(part, state);
    }

    private static JsonNode tree(String json) {
        try {
            return Json.MAPPER
                    .reader()
                    .with(DeserializationFeature.USE_BIG_DECIMAL_FOR_FLOATS)
                    .readTree(json);
        } catch (JsonProcessingException e) {
            throw new IllegalArgumentException(Json.message(e), e);
        }
    }

    private static QueueView view(JsonNode part, JsonNode state) {
        Map<String, TierShare> shares = new HashMap<>();
        List<QueueView.TierView> tiers = new ArrayList<>();
        for (JsonNode tier : state.get("tiers")) {
            String name = tier.get("tier").textValue();
            TierShare share = new TierShare(
                    tier.get("priority").intValue(), tier.get("weight").intValue());
            tiers.add(new QueueView.TierView(name, share, tier.get("waiting").longValue()));
            if (!share.equals(TierShare.DEFAULT)) {
                shares.put(name, share);
            }
        }
        JsonNode rate = state.get("rate");
        String id = part.get("id").textValue();
        QueueRules.Builder paced = rate.isNull()
                ? QueueRules.builder(id, InFlightRules.of(1)) // only its rate is shown
                : QueueRules.builder(
                                id,
                                rate.get("limit").longValue(),
                                rate.get("perMs").longValue())
                        .burst(rate.get("burst").longValue());
        QueueRules rules =
                paced.version(part.get("version").longValue()).tiers(shares).build();
        return new QueueView(
                rules,
                state.get("deleted").booleanValue(),
                new QueueView.BacklogView(
                        state.get("waiting").longValue(),
                        state.get("waitingTokens").longValue(),
                        tiers,
                        number(state.get("oldestWaitMs")),
                        state.get("drainMs").longValue()),
                new QueueView.ScheduledView(
                        state.get("scheduled").get("requests").longValue(),
                        number(state.get("scheduled").get("nextAt"))),
                inFlight(state.get("inFlight")),
                buckets(state),
                orders(state));
    }

    private static QueueView.InFlightView inFlight(JsonNode json) {
        Map<String, Long> slotsByTier = new HashMap<>();
        for (JsonNode tier : json.get("tiers")) {
            String name = tier.get("tier").isNull() ? "" : tier.get("tier").textValue();
            slotsByTier.put(name, tier.get("slots").longValue());
        }
        return new QueueView.InFlightView(
                json.get("requests").longValue(),
                json.get("slots").longValue(),
                slotsByTier,
                json.get("retries").longValue(),
                number(json.get("oldestMs")));
    }

    private static OrdersView orders(JsonNode state) {
        List<OrdersView.KeyOrders> keys = new ArrayList<>();
        for (JsonNode key : state.get("keyCommands")) {
            keys.add(new OrdersView.KeyOrders(
                    values(key.get("key")), origin(key.get("paused")), origin(key.get("draining"))));
        }
        return new OrdersView(
                origin(state.get("paused")),
                origin(state.get("draining")),
                state.get("purging").booleanValue(),
                state.get("commandedKeys").longValue(),
                keys);
    }

    private static Optional<QueueCommand.Origin> origin(JsonNode command) {
        return command.isNull()
                ? Optional.empty()
                : Optional.of(new QueueCommand.Origin(
                        Optional.ofNullable(command.get("author").textValue()),
                        command.get("reason").textValue(),
                        command.get("since").longValue()));
    }

    /** Reads what is shown of the buckets, without the number of those on the heap, which is not reported. */
    private static QueueView.Buckets buckets(JsonNode state) {
        if (state.get("keys").isNull()) {
            JsonNode nextReleaseAtMs = state.get("nextReleaseAt");
            Long nextReleaseAtNanos = nextReleaseAtMs.isNull()
                    ? null
                    : (Long) nextReleaseAtMs
                            .decimalValue()
                            .multiply(NANOS_PER_MS)
                            .longValueExact();
            return new QueueView.OneBucket(state.get("released").longValue(), nextReleaseAtNanos);
        }
        List<QueueView.KeyView> longest = new ArrayList<>();
        for (JsonNode key : state.get("longest")) {
            longest.add(key(key));
        }
        return new QueueView.SeveralBuckets(state.get("keys").longValue(), 0, longest);
    }

    private static QueueView.KeyView key(JsonNode key) {
        return new QueueView.KeyView(
                values(key.get("key")),
                key.get("waiting").longValue(),
                key.get("waitingTokens").longValue(),
                key.get("oldestWaitMs").longValue(),
                key.get("drainMs").longValue(),
                key.get("slots").longValue());
    }

    private static Map<String, String> values(JsonNode key) {
        Map<String, String> values = new TreeMap<>();
        key.fields()
                .forEachRemaining(
                        field -> values.put(field.getKey(), field.getValue().textValue()));
        return values;
    }

    private static Long number(JsonNode number) {
        return number.isNull() ? null : (Long) number.longValue();
    }
}
