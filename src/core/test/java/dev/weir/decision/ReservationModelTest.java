package dev.weir.decision;

import static dev.weir.decision.Samples.idempotent;
import static dev.weir.decision.Samples.inLayer;
import static dev.weir.decision.Samples.onExceed;
import static dev.weir.decision.Samples.policy;
import static dev.weir.decision.Samples.table;
import static dev.weir.decision.Samples.window;
import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.decision.state.PolicyState;
import dev.weir.event.Decision;
import dev.weir.event.Outcome;
import dev.weir.event.Reason;
import dev.weir.event.Request;
import dev.weir.event.RequestKind;
import dev.weir.limit.Concurrency;
import dev.weir.policy.OnExceed;
import dev.weir.policy.Policy;
import dev.weir.policy.PolicyTable;
import dev.weir.testing.Effort;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

/**
 * Random schedules of reservations of two clients, compared with plain lists: of the slots with their start, end and cost,
 * of the tokens of each minute, and of all reservations that ever were. It shares no code with the decider.
 */
class ReservationModelTest {

    private static final long MINUTE_MS = 60_000;

    /** A request that passed. */
    private static final class Held {
        final long cost;
        final long startMs;
        final long durationMs;
        long endMs;
        long slotsUntilMs; // less than the end if it was ended before
        String ending = "";
        long charged;

        Held(long cost, long startMs, long durationMs) {
            this.cost = cost;
            this.startMs = startMs;
            this.durationMs = durationMs;
            this.charged = cost;
            this.endMs = startMs + durationMs;
            this.slotsUntilMs = endMs;
        }
    }

    /** All that one client ever reserved or consumed. */
    private static final class Model {
        final List<Held> all = new ArrayList<>();
        final Map<String, Held> byId = new HashMap<>();
        final Set<Held> freed = new HashSet<>(); // by a RESET
        final Map<String, Decision> answers = new HashMap<>();
        final Map<String, String> contents = new HashMap<>();

        long slots(long atMs) {
            long slots = 0;
            for (Held one : all) {
                slots += !freed.contains(one) && one.slotsUntilMs > atMs ? one.cost : 0;
            }
            return slots;
        }

        long freeAtMs(long most, long atMs) {
            long soonest = atMs;
            while (slots(soonest) > most) {
                long next = Long.MAX_VALUE;
                for (Held one : all) {
                    boolean counts = !freed.contains(one) && one.slotsUntilMs > soonest;
                    next = counts ? Math.min(next, one.slotsUntilMs) : next;
                }
                soonest = next;
            }
            return soonest;
        }

        long tokens(long atMs) {
            long tokens = 0;
            for (Held one : all) {
                boolean counts = !freed.contains(one) && one.startMs / MINUTE_MS == atMs / MINUTE_MS;
                tokens += counts ? one.charged : 0;
            }
            return tokens;
        }

        Held open(String id, long atMs) {
            Held one = byId.get(id);
            return one == null || one.endMs <= atMs ? null : one;
        }
    }

    private record Terms(long slots, long ttlMs, long tokens, boolean isIdempotent) {

        Policy slotsPolicy() {
            Policy policy = policy("slots", new Concurrency(slots, ttlMs));
            return isIdempotent ? idempotent(Policy.MAX_IDEMPOTENCY_MS, policy) : policy;
        }

        PolicyTable policies() {
            return table(slotsPolicy(), ratePolicy());
        }

        PolicyTable observedBy(Terms observer) {
            return table(slotsPolicy(), ratePolicy(), observer.observing());
        }

        private Policy ratePolicy() {
            return inLayer("rate", policy("rate", window(tokens, MINUTE_MS)));
        }

        Policy observing() {
            return inLayer(
                    "seen",
                    onExceed(OnExceed.OBSERVE, policy("seen", new Concurrency(slots, ttlMs), window(3, 5_000))));
        }
    }

    @Test
    void any_schedule_is_decided_as_plain_lists_say() {
        Map<Reason, Integer> reasons = new EnumMap<>(Reason.class);
        for (int seed = 0; seed < Effort.times(60); seed++) {
            run(seed, reasons);
        }
        assertThat(reasons)
                .containsKeys(
                        Reason.WITHIN_LIMITS,
                        Reason.LIMIT_EXCEEDED,
                        Reason.SETTLED,
                        Reason.RELEASED,
                        Reason.CANCELLED,
                        Reason.RENEWED,
                        Reason.NOTHING_RESERVED,
                        Reason.ALREADY_ENDED,
                        Reason.RESERVATION_ENDED,
                        Reason.IDEMPOTENCY_MISMATCH,
                        Reason.USAGE_RESET);
    }

    private static void run(int seed, Map<Reason, Integer> reasons) {
        SplittableRandom random = new SplittableRandom(seed);
        MapStates states = new MapStates();
        Decider decider = Decider.local(states);
        Terms terms = terms(random, random.nextInt(3) == 0);
        Terms observed = terms(random, false);
        PolicyTable policies = terms.policies();
        MapStates observedStates = new MapStates();
        Decider observedDecider = Decider.local(observedStates);
        Map<String, Model> models = Map.of("a", new Model(), "b", new Model());
        long stepMs = 1 + random.nextLong(terms.ttlMs);
        long nowMs = random.nextLong(1L << 40);
        int ids = 3 + random.nextInt(60);
        for (int i = 0; i < 400; i++) {
            if (random.nextInt(120) == 0) {
                terms = new Terms(1 + random.nextLong(20), terms.ttlMs, 1 + random.nextLong(60), terms.isIdempotent);
                policies = terms.policies();
            }
            nowMs += random.nextInt(20) == 0 ? random.nextLong(90_000) : random.nextLong(stepMs);
            String client = random.nextInt(4) == 0 ? "b" : "a";
            Request request = request(client, "r" + random.nextInt(ids), terms, random)
                    .timestampMs(nowMs - (random.nextInt(10) == 0 ? random.nextLong(500) : 0))
                    .source(0, i)
                    .build();
            long atMs = timeMs(request, states);
            Decision decision = (Decision) decider.decide(request, policies);
            Decision seen = (Decision) observedDecider.decide(request, terms.observedBy(observed));
            assertThat(seen.withObservedBy(List.of())).isEqualTo(decision);
            reasons.merge(decision.reason(), 1, Integer::sum);
            try {
                check(request, decision, terms, models.get(client), atMs);
            } catch (AssertionError e) {
                throw new AssertionError("seed " + seed + ": " + request + " → " + decision, e);
            }
        }
    }

    /** Whatever observes, the answers are the same, and what it counts is what it would have counted if it enforced. */
    @Test
    void no_answer_depends_on_observing_limits() {
        int observedRequests = 0;
        for (int seed = 0; seed < Effort.times(60); seed++) {
            SplittableRandom random = new SplittableRandom(seed);
            Terms terms = terms(random, false);
            Policy rate = inLayer("rate", policy("rate", window(1 + random.nextLong(50), MINUTE_MS)));
            PolicyTable plain = table(rate);
            PolicyTable observed = table(terms.observing(), rate);
            Decider decider = Decider.local(new MapStates());
            MapStates states = MapStates.withReservations(1 + random.nextInt(40), 0);
            Decider observing = Decider.local(states);
            long nowMs = 0;
            for (int i = 0; i < 300; i++) {
                nowMs += random.nextLong(terms.ttlMs);
                Request request = request("a", "r" + random.nextInt(20), terms, random)
                        .timestampMs(nowMs)
                        .reserveMs(null)
                        .build();
                Decision seen = (Decision) observing.decide(request, observed);
                observedRequests += seen.observed() ? 1 : 0;
                assertThat(seen.withObservedBy(List.of())).isEqualTo(decider.decide(request, plain));
                PolicyState state = states.of("a", "seen");
                assertThat(state == null ? 0 : state.accounts().get(0).used(nowMs))
                        .isBetween(0L, terms.slots);
            }
        }
        assertThat(observedRequests).isPositive();
    }

    private static Terms terms(SplittableRandom random, boolean isIdempotent) {
        long ttlMs = 1 + random.nextLong(1L << random.nextInt(4, 18));
        return new Terms(1 + random.nextLong(12), ttlMs, 1 + random.nextLong(100), isIdempotent);
    }

    private static Request.Builder request(String client, String id, Terms terms, SplittableRandom random) {
        RequestKind kind =
                switch (random.nextInt(20)) {
                    case 0, 1, 2 -> RequestKind.SETTLE;
                    case 3, 4 -> RequestKind.RELEASE;
                    case 5 -> RequestKind.CANCEL;
                    case 6, 7, 8 -> RequestKind.RENEW;
                    case 9, 10 -> RequestKind.PEEK;
                    case 11 -> random.nextInt(8) == 0 ? RequestKind.RESET : RequestKind.CONSUME;
                    default -> RequestKind.CONSUME;
                };
        Request.Builder request = Request.builder(
                        kind == RequestKind.SETTLE || kind == RequestKind.RESET ? "s" + random.nextLong() : id, client)
                .kind(kind)
                .cost(random.nextInt(3) == 0 ? random.nextLong(4) : 1);
        if (kind == RequestKind.SETTLE) {
            request.settles(id);
        } else if (kind == RequestKind.CONSUME && random.nextInt(3) == 0) {
            request.reserveMs(1 + random.nextLong(2 * terms.ttlMs));
        }
        return request;
    }

    /** Returns the time of the request: its own, or that of the last request which changed one of the client's keys. */
    private static long timeMs(Request request, MapStates states) {
        long atMs = request.timestampMs();
        for (String policy : List.of("slots", "rate")) {
            PolicyState state = states.of(request.client(), policy);
            atMs = state == null ? atMs : Math.max(atMs, state.lastRequestMs());
        }
        return atMs;
    }

    private static void check(Request request, Decision decision, Terms terms, Model model, long atMs) {
        switch (request.kind()) {
            case CONSUME -> checkConsume(request, decision, terms, model, atMs);
            case PEEK -> checkPermitted(request, decision, terms, model, atMs);
            case RESET -> {
                assertThat(decision.reason()).isEqualTo(Reason.USAGE_RESET);
                model.freed.addAll(model.all);
            }
            default -> checkEnd(request, decision, terms, model, atMs);
        }
    }

    private static String content(Request request) {
        return request.cost() + "/" + request.reserveMs();
    }

    private static void checkConsume(Request request, Decision decision, Terms terms, Model model, long atMs) {
        Held open = model.open(request.requestId(), atMs);
        boolean isRepeat = terms.isIdempotent && model.answers.containsKey(request.requestId());
        if (isRepeat || open != null) {
            if (model.contents.get(request.requestId()).equals(content(request))) {
                Decision first = model.answers.get(request.requestId());
                Long endMs = open == null || !open.ending.isEmpty() ? null : (Long) open.endMs;
                assertThat(decision)
                        .isEqualTo(first.asRepeated(request.source()).withReservedUntilMs(endMs));
            } else {
                assertThat(decision.reason()).isEqualTo(Reason.IDEMPOTENCY_MISMATCH);
                assertThat(decision.outcome()).isEqualTo(Outcome.DENIED);
            }
            return;
        }
        checkPermitted(request, decision, terms, model, atMs);
        model.answers.put(request.requestId(), decision);
        model.contents.put(request.requestId(), content(request));
        if (decision.outcome() == Outcome.ALLOWED) {
            long durationMs = Math.min(terms.ttlMs, request.reserveMs() == null ? terms.ttlMs : request.reserveMs());
            Held held = new Held(request.cost(), atMs, durationMs);
            model.all.add(held);
            model.byId.put(request.requestId(), held);
            assertThat(decision.reservedUntilMs()).isEqualTo(held.endMs);
        }
    }

    private static void checkPermitted(Request request, Decision decision, Terms terms, Model model, long atMs) {
        long freeSlots = terms.slots - model.slots(atMs);
        long freeTokens = terms.tokens - model.tokens(atMs);
        boolean permits = request.cost() == 0 || (request.cost() <= freeSlots && request.cost() <= freeTokens);
        assertThat(decision.outcome()).isEqualTo(permits ? Outcome.ALLOWED : Outcome.DENIED);
        assertThat(decision.decidedAtMs()).isEqualTo(atMs);
        long taken = permits && request.kind() == RequestKind.CONSUME ? request.cost() : 0;
        decision.explanation().limits().forEach(limit -> {
            boolean isOfSlots = limit.policyId().equals("slots");
            long left = (isOfSlots ? freeSlots : freeTokens) - taken;
            assertThat(limit.remaining()).isEqualTo(Math.max(0, left));
            boolean never = request.cost() > (isOfSlots ? terms.slots : terms.tokens);
            if (isOfSlots && !never) {
                long retryMs = model.freeAtMs(terms.slots - request.cost(), atMs) - atMs;
                assertThat(limit.retryAfterMs()).isEqualTo(permits || request.cost() == 0 ? 0 : retryMs);
            }
            if (isOfSlots && taken == 0) {
                assertThat(limit.resetAfterMs()).isEqualTo(model.freeAtMs(0, atMs) - atMs);
            }
        });
    }

    private static void checkEnd(Request request, Decision decision, Terms terms, Model model, long atMs) {
        String id = request.kind() == RequestKind.SETTLE ? request.settles() : request.requestId();
        Held one = model.open(id, atMs);
        boolean isRenewal = request.kind() == RequestKind.RENEW;
        if (one == null || (isRenewal && !one.ending.isEmpty())) {
            assertThat(decision.reason()).isEqualTo(isRenewal ? Reason.RESERVATION_ENDED : Reason.NOTHING_RESERVED);
            assertThat(decision.httpStatus()).isEqualTo(isRenewal ? 410 : 200);
            return;
        }
        String ending = request.kind() + (request.kind() == RequestKind.SETTLE ? " " + request.cost() : "");
        if (!one.ending.isEmpty()) {
            boolean isSame = ending.equals(one.ending);
            assertThat(decision.repeated()).isEqualTo(isSame);
            assertThat(decision.reason() == Reason.ALREADY_ENDED).isEqualTo(!isSame);
            return;
        }
        assertThat(decision.reason()).isIn(Reason.SETTLED, Reason.RELEASED, Reason.CANCELLED, Reason.RENEWED);
        assertThat(decision.decidedAtMs()).isEqualTo(atMs);
        if (isRenewal) {
            one.endMs = atMs + one.durationMs;
            one.slotsUntilMs = one.endMs;
            assertThat(decision.reservedUntilMs()).isEqualTo(one.endMs);
            return;
        }
        one.ending = ending;
        one.slotsUntilMs = atMs;
        long actual = request.kind() == RequestKind.RELEASE
                ? one.charged
                : request.kind() == RequestKind.CANCEL ? 0 : request.cost();
        if (one.startMs / MINUTE_MS == atMs / MINUTE_MS && !model.freed.contains(one)) {
            long most = Math.max(2 * terms.tokens, model.tokens(atMs));
            long other = model.tokens(atMs) - one.charged;
            one.charged = Math.max(Math.min(actual, most - other), Math.min(actual, one.charged));
        }
    }
}
