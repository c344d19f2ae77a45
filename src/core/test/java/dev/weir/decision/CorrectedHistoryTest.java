package dev.weir.decision;

import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.decision.CorrectedHistory.Held;
import dev.weir.decision.CorrectedHistory.Rule;
import dev.weir.event.Decision;
import dev.weir.event.Outcome;
import dev.weir.event.Reason;
import dev.weir.event.Request;
import dev.weir.event.RequestKind;
import dev.weir.limit.CalendarPeriod;
import dev.weir.limit.CalendarWindow;
import dev.weir.limit.Concurrency;
import dev.weir.limit.IntervalBucket;
import dev.weir.limit.Limit;
import dev.weir.limit.OpenCharges;
import dev.weir.limit.SettlementOracle;
import dev.weir.limit.SlidingWindowCounter;
import dev.weir.policy.PolicyTable;
import dev.weir.testing.Effort;
import java.time.ZoneId;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

/**
 * Random schedules of reservations under several layers of all algorithms are decided as {@link CorrectedHistory} says,
 * and leave what it says available.
 */
class CorrectedHistoryTest {

    private static final int STEPS = 150;
    private static final long DAY_MS = 86_400_000;

    /** What the schedules contain. All of it must occur. */
    private enum Case {
        SETTLED_BELOW,
        SETTLED_EXACTLY,
        SETTLED_ABOVE,
        SETTLED_WHILE_OTHERS_ARE_OPEN,
        SETTLED_AFTER_A_RESET,
        SETTLED_AFTER_LIMITS_CHANGED,
        SETTLED_AFTER_THE_ALGORITHM_CHANGED,
        SETTLED_AFTER_THE_KEY_CHANGED,
        SETTLED_AFTER_A_WINDOW,
        RELEASED,
        CANCELLED,
        RENEWED,
        TWICE,
        ENDED_OTHERWISE_BEFORE,
        AFTER_ITS_END,
        UNKNOWN,
        BEFORE_ITS_CONSUME,
        OF_A_DENIED_REQUEST,
        OF_ANOTHER_CLIENT,
        CONSUME_REPEATED,
        CONSUME_REPEATED_THAT_NO_LONGER_RESERVES,
        CONSUME_WITH_OTHER_CONTENT,
        ALLOWED,
        DENIED,
        CORRECTED,
        RESET,
        RESET_OF_ONE_POLICY
    }

    private static final List<String> CLIENTS = List.of("a", "b");
    private static final List<String> MODELS = List.of("x", "y");

    /** A CONSUME, and what became of it. */
    private static final class Sent {
        final Request request;
        final Decision answer;
        final Held held;
        final int changes;
        boolean isReset;
        boolean hasOtherAlgorithm;
        boolean hasOtherKey;

        Sent(Request request, Decision answer, Held held, int changes) {
            this.request = request;
            this.answer = answer;
            this.held = held;
            this.changes = changes;
        }
    }

    private static final class Run {
        final SplittableRandom random;
        final Map<Case, Integer> counts;
        final long scaleMs;
        final Decider decider = Decider.local(new MapStates());
        final CorrectedHistory model;
        final Map<String, Sent> reserved = new HashMap<>(); // by client and id
        final List<Sent> sent = new ArrayList<>();
        final List<String> early = new ArrayList<>(); // ids that were ended before they were used
        final List<String> trace = new ArrayList<>();
        PolicyTable policies;
        long nowMs;
        int changes;
        int settledWhileOthersAreOpen;
        int ids;

        Run(int seed, Map<Case, Integer> counts) {
            this.random = new SplittableRandom(seed);
            this.counts = counts;
            this.scaleMs = random.nextInt(6) == 0 ? DAY_MS : 10 + random.nextLong(5_000);
            this.nowMs = 1_700_000_000_000L + random.nextLong(1_000);
            List<Rule> rules = new ArrayList<>();
            int layers = 2 + random.nextInt(3);
            for (int i = 0; i < layers; i++) {
                rules.add(new Rule("p" + i, random.nextInt(3) == 0, limits()));
            }
            this.model = new CorrectedHistory(rules);
            apply();
        }

        private List<Limit<?>> limits() {
            List<Limit<?>> limits = new ArrayList<>();
            for (int i = 1 + random.nextInt(2); i > 0; i--) {
                Limit<?> next = limit();
                if (limits.stream().noneMatch(one -> one.getClass() == next.getClass())) {
                    limits.add(next);
                }
            }
            return List.copyOf(limits);
        }

        private Limit<?> limit() {
            long tokens = 3 + random.nextLong(20);
            long perMs = scaleMs / 2 + random.nextLong(scaleMs);
            long burst = random.nextBoolean() ? tokens : 2 * tokens + 1;
            return switch (random.nextInt(10)) {
                case 0 -> Samples.window(tokens, perMs);
                case 1 -> Samples.counter(tokens, perMs);
                case 2 -> new SlidingWindowCounter(tokens, perMs, true, false);
                case 3 -> Samples.log(tokens, perMs);
                case 4 -> Samples.tokens(tokens, perMs, burst);
                case 5 -> Samples.leaky(tokens, perMs, burst);
                case 6 -> Samples.gcra(tokens, perMs, burst);
                case 7 ->
                    scaleMs < DAY_MS ? Samples.steps(tokens, perMs, burst) : limit(); // their times expire in a day
                case 8 -> new CalendarWindow(tokens, CalendarPeriod.DAY, ZoneId.of("Etc/GMT-5"), false);
                default -> new Concurrency(tokens, 1 + random.nextLong(2 * scaleMs));
            };
        }

        private void apply() {
            policies = PolicyTable.of(model.rules().stream().map(Rule::policy).toList());
        }

        private void count(Case one) {
            counts.merge(one, 1, Integer::sum);
        }

        private <T> T any(List<T> all) {
            return all.get(random.nextInt(all.size()));
        }

        private Request.Builder of(RequestKind kind, String id, String client) {
            return Request.builder(id, client).kind(kind).timestampMs(nowMs).source(0, ids++);
        }

        private Decision decide(Request request) {
            Decision decision = (Decision) decider.decide(request, policies);
            if (request.kind() != RequestKind.PEEK) {
                trace.add(nowMs + " " + request.client() + " " + request.kind() + " " + request.reservationId() + " "
                        + request.attributes() + " cost " + request.cost() + ", for " + request.reserveMs() + ": "
                        + decision.reason());
            }
            return decision;
        }

        void step() {
            nowMs += switch (random.nextInt(8)) {
                case 0, 1, 2 -> 0;
                case 3, 4 -> 1 + random.nextLong(scaleMs / 16 + 1);
                case 5, 6 -> random.nextLong(scaleMs / 2 + 1);
                default -> random.nextLong(2 * scaleMs);
            };
            int kind = random.nextInt(40);
            if (kind < 14) {
                consume();
            } else if (kind < 33) {
                end();
            } else if (kind == 33) {
                correct();
            } else if (kind == 34) {
                reset(random.nextBoolean() ? null : any(model.rules()).id());
            } else if (kind == 35) {
                change();
            } else {
                again();
            }
            CLIENTS.forEach(this::check);
        }

        /** Checks what is available, by a PEEK. */
        private void check(String client) {
            String name = any(MODELS);
            Decision peeked = decide(of(RequestKind.PEEK, "peek", client)
                    .attributes(Map.of("model", name))
                    .cost(0)
                    .build());
            List<Long> available = model.available(client, name, nowMs).stream()
                    .map(each -> Math.max(0, each))
                    .toList();
            assertThat(peeked.explanation().limits().stream()
                            .map(limit -> limit.remaining())
                            .toList())
                    .as("available to %s with %s", client, name)
                    .isEqualTo(available);
        }

        private void consume() {
            String client = any(CLIENTS);
            String name = any(MODELS);
            while (model.mostUnended(client, name) >= OpenCharges.MOST_EXACT) {
                reset(client, name, null);
            }
            long cost = random.nextInt(4) == 0 ? random.nextLong(20) : random.nextLong(5);
            Long reserveMs = random.nextInt(4) == 0 ? null : (Long) (1 + random.nextLong(3 * scaleMs));
            boolean wasMisplaced = early.size() > 0 && random.nextInt(4) == 0;
            String id = wasMisplaced ? early.remove(early.size() - 1) : "r" + ids;
            countIf(wasMisplaced, Case.BEFORE_ITS_CONSUME);
            Request request = of(RequestKind.CONSUME, id, client)
                    .attributes(Map.of("model", name))
                    .cost(cost)
                    .reserveMs(reserveMs)
                    .build();
            boolean permits = model.permits(client, name, cost, nowMs);
            Decision decision = decide(request);
            assertThat(decision.outcome()).isEqualTo(permits ? Outcome.ALLOWED : Outcome.DENIED);
            count(permits ? Case.ALLOWED : Case.DENIED);
            Held held = permits ? model.consume(client, name, cost, reserveMs, nowMs) : null;
            assertThat(decision.reservedUntilMs()).isEqualTo(held == null ? null : (Long) held.endMs);
            Sent one = new Sent(request, decision, held, changes);
            sent.add(one);
            reserved.put(client + request.requestId(), one);
        }

        /** Sends a CONSUME with an earlier id. It is compared with the first, whether or not it still asks to reserve. */
        private void again() {
            boolean hasSlots = model.rules().stream().anyMatch(Rule::hasSlots);
            List<Sent> open = sent.stream()
                    .filter(one -> one.held != null && one.held.endMs > nowMs)
                    .toList();
            if (open.isEmpty()) {
                return;
            }
            Sent one = any(open);
            boolean isSame = random.nextBoolean();
            Request request = one.request.toBuilder()
                    .timestampMs(nowMs)
                    .source(0, ids++)
                    .cost(one.request.cost() + (isSame ? 0 : 1))
                    .build();
            Decision decision = decide(request);
            countIf(!hasSlots && request.reserveMs() == null, Case.CONSUME_REPEATED_THAT_NO_LONGER_RESERVES);
            count(isSame ? Case.CONSUME_REPEATED : Case.CONSUME_WITH_OTHER_CONTENT);
            if (isSame) {
                Long endMs = one.held.ending.isEmpty() ? (Long) one.held.endMs : null;
                assertThat(decision)
                        .isEqualTo(one.answer.asRepeated(request.source()).withReservedUntilMs(endMs));
            } else {
                assertThat(decision.reason()).isEqualTo(Reason.IDEMPOTENCY_MISMATCH);
            }
        }

        /** Sends a request about a reservation: mostly an open one. */
        private void end() {
            List<Sent> open = sent.stream()
                    .filter(one -> one.held != null && one.held.ending.isEmpty() && one.held.endMs > nowMs)
                    .toList();
            String client = any(CLIENTS);
            String id = "r" + random.nextInt(ids + 2);
            if (!open.isEmpty() && random.nextInt(5) > 0) {
                Sent one = any(open);
                client = random.nextInt(20) == 0 ? any(CLIENTS) : one.request.client();
                id = one.request.requestId();
            } else if (!sent.isEmpty() && random.nextInt(4) > 0) {
                Sent one = any(sent);
                client = one.request.client();
                id = one.request.requestId();
            } else if (random.nextBoolean()) {
                id = "e" + ids;
                early.add(id);
            }
            RequestKind kind =
                    switch (random.nextInt(10)) {
                        case 0, 1 -> RequestKind.RELEASE;
                        case 2 -> RequestKind.CANCEL;
                        case 3, 4 -> RequestKind.RENEW;
                        default -> RequestKind.SETTLE;
                    };
            end(kind, client, id);
        }

        private void end(RequestKind kind, String client, String id) {
            Sent one = reserved.get(client + id);
            long estimate = one == null ? 1 : one.request.cost();
            long cost = kind != RequestKind.SETTLE
                    ? random.nextLong(3)
                    : switch (random.nextInt(5)) {
                        case 0, 1 -> 0;
                        case 2 -> estimate;
                        case 3 -> random.nextLong(estimate + 1);
                        default -> estimate + random.nextLong(30);
                    };
            boolean settles = kind == RequestKind.SETTLE;
            Request request = of(kind, settles ? "s" + ids : id, client)
                    .settles(settles ? id : null)
                    .cost(cost)
                    .build();
            Decision decision = decide(request);
            Held held = one == null ? null : one.held;
            String ending = kind + (settles ? " " + cost : "");
            if (held == null || held.endMs <= nowMs) {
                count(nothingReserved(one, client, id));
                assertThat(decision.reason())
                        .isEqualTo(kind == RequestKind.RENEW ? Reason.RESERVATION_ENDED : Reason.NOTHING_RESERVED);
            } else if (kind == RequestKind.RENEW) {
                boolean isOpen = held.ending.isEmpty();
                assertThat(decision.reason()).isEqualTo(isOpen ? Reason.RENEWED : Reason.RESERVATION_ENDED);
                if (isOpen) {
                    count(Case.RENEWED);
                    model.renew(held, nowMs);
                    assertThat(decision.reservedUntilMs()).isEqualTo(held.endMs);
                }
            } else if (!held.ending.isEmpty()) {
                boolean isSame = held.ending.equals(ending);
                count(isSame ? Case.TWICE : Case.ENDED_OTHERWISE_BEFORE);
                assertThat(decision.repeated()).isEqualTo(isSame);
                assertThat(decision.reason() == Reason.ALREADY_ENDED).isEqualTo(!isSame);
            } else {
                assertThat(decision.reason()).isIn(Reason.SETTLED, Reason.RELEASED, Reason.CANCELLED);
                countEnding(kind, one, cost);
                boolean keeps = kind == RequestKind.RELEASE;
                model.end(held, keeps ? null : (Long) (settles ? cost : 0), ending, nowMs);
            }
        }

        private Case nothingReserved(Sent one, String client, String id) {
            String other = client.equals("a") ? "b" : "a";
            if (one == null) {
                return reserved.containsKey(other + id) ? Case.OF_ANOTHER_CLIENT : Case.UNKNOWN;
            }
            return one.held == null
                    ? one.answer.outcome() == Outcome.DENIED ? Case.OF_A_DENIED_REQUEST : Case.UNKNOWN
                    : Case.AFTER_ITS_END;
        }

        private void countEnding(RequestKind kind, Sent one, long cost) {
            if (kind != RequestKind.SETTLE) {
                count(kind == RequestKind.RELEASE ? Case.RELEASED : Case.CANCELLED);
                return;
            }
            int compared = Long.compare(cost, one.request.cost());
            count(compared < 0 ? Case.SETTLED_BELOW : compared > 0 ? Case.SETTLED_ABOVE : Case.SETTLED_EXACTLY);
            boolean overlaps = sent.stream()
                    .anyMatch(other -> other != one
                            && other.held != null
                            && other.held.ending.isEmpty()
                            && other.held.endMs > nowMs
                            && other.request.client().equals(one.request.client()));
            settledWhileOthersAreOpen += overlaps ? 1 : 0;
            countIf(overlaps, Case.SETTLED_WHILE_OTHERS_ARE_OPEN);
            countIf(one.isReset, Case.SETTLED_AFTER_A_RESET);
            countIf(one.changes < changes, Case.SETTLED_AFTER_LIMITS_CHANGED);
            countIf(one.hasOtherAlgorithm, Case.SETTLED_AFTER_THE_ALGORITHM_CHANGED);
            countIf(one.hasOtherKey, Case.SETTLED_AFTER_THE_KEY_CHANGED);
            countIf(
                    model.rules().stream()
                            .flatMap(rule -> rule.limits().stream())
                            .anyMatch(limit -> limit.windowMs(nowMs) > 0
                                    && limit.windowMs(nowMs) < nowMs - one.request.timestampMs()),
                    Case.SETTLED_AFTER_A_WINDOW);
        }

        private void countIf(boolean condition, Case one) {
            if (condition) {
                count(one);
            }
        }

        private void correct() {
            String client = any(CLIENTS);
            String name = any(MODELS);
            long cost = random.nextLong(40);
            Request request = of(RequestKind.SETTLE, "c" + ids, client)
                    .attributes(Map.of("model", name))
                    .cost(cost)
                    .build();
            assertThat(decide(request).reason()).isEqualTo(Reason.SETTLED);
            model.correct(client, name, cost, nowMs);
            count(Case.CORRECTED);
        }

        private void reset(String policyId) {
            reset(any(CLIENTS), any(MODELS), policyId);
        }

        private void reset(String client, String name, String policyId) {
            Request request = of(RequestKind.RESET, "reset", client)
                    .attributes(Map.of("model", name))
                    .policyId(policyId)
                    .build();
            assertThat(decide(request).reason()).isEqualTo(Reason.USAGE_RESET);
            model.reset(client, name, policyId, nowMs);
            sent.forEach(one -> one.isReset |= one.request.client().equals(client));
            count(policyId == null ? Case.RESET : Case.RESET_OF_ONE_POLICY);
        }

        /** Changes a policy: mostly its numbers, sometimes an algorithm or its key. */
        private void change() {
            Rule rule = any(model.rules());
            List<Limit<?>> limits = new ArrayList<>(rule.limits());
            boolean isByModel = rule.isByModel();
            boolean startsSteps = false;
            int how = random.nextInt(8);
            if (how == 0 && !isByModel) {
                isByModel = true;
                sent.forEach(one -> one.hasOtherKey = true);
            } else if (how <= 3) {
                Limit<?> next = limit();
                if (limits.stream().anyMatch(one -> isAlike(one, next))) {
                    return;
                }
                limits.set(random.nextInt(limits.size()), next);
                startsSteps = next instanceof IntervalBucket;
                sent.forEach(one -> one.hasOtherAlgorithm = true);
            } else {
                limits.replaceAll(one -> SettlementOracle.withCapacity(one, 1 + random.nextLong(one.capacity() + 3)));
            }
            Rule next = new Rule(rule.id(), isByModel, List.copyOf(limits));
            trace.add(nowMs + " " + rule + " becomes " + next);
            model.change(next, nowMs);
            apply();
            changes++;
            for (String client : CLIENTS) {
                for (String name : MODELS) {
                    convert(client, name, startsSteps ? 1 : 0);
                }
            }
        }

        private static boolean isAlike(Limit<?> one, Limit<?> other) {
            return one.isCompatibleWith(other)
                    || one.getClass() == other.getClass()
                    || other.isCompatibleWith(one)
                    || one.getClass().getSimpleName().endsWith("Window")
                            && other.getClass().getSimpleName().endsWith("Window");
        }

        /** Stores the states under the changed policy, by a request. Steps start with one that is charged. */
        private void convert(String client, String name, long cost) {
            if (model.mostUnended(client, name) >= OpenCharges.MOST_EXACT
                    || !model.permits(client, name, cost, nowMs)) {
                reset(client, name, null);
            }
            Request request = of(RequestKind.CONSUME, "z" + ids, client)
                    .attributes(Map.of("model", name))
                    .cost(cost)
                    .build();
            assertThat(decide(request).outcome()).isEqualTo(Outcome.ALLOWED);
            model.consume(client, name, cost, null, nowMs);
        }

        @Override
        public String toString() {
            return "at " + nowMs + " under " + model.rules() + ", after\n" + String.join("\n", trace);
        }
    }

    @Test
    void any_schedule_is_decided_by_the_corrected_history() {
        Map<Case, Integer> counts = new EnumMap<>(Case.class);
        int schedules = Effort.times(100);
        for (int seed = 0; seed < schedules; seed++) {
            Run run = new Run(seed, counts);
            for (int step = 0; step < STEPS || (run.settledWhileOthersAreOpen < 2 && step < 20 * STEPS); step++) {
                try {
                    run.step();
                } catch (AssertionError | RuntimeException e) {
                    throw new AssertionError("seed " + seed + ", step " + step + " " + run, e);
                }
            }
            assertThat(run.settledWhileOthersAreOpen).isGreaterThanOrEqualTo(2);
        }
        System.out.println(schedules + " schedules: " + counts);
        assertThat(counts.keySet()).containsAll(Arrays.asList(Case.values()));
    }
}
