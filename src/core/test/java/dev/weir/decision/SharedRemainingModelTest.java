package dev.weir.decision;

import static dev.weir.decision.Samples.keyed;
import static dev.weir.decision.Samples.log;
import static dev.weir.decision.Samples.policy;
import static dev.weir.decision.Samples.table;
import static dev.weir.decision.Samples.window;
import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.decision.state.PolicyLedger;
import dev.weir.decision.state.lease.LeaseContext;
import dev.weir.event.AwaitLease;
import dev.weir.event.Decision;
import dev.weir.event.DecisionResult;
import dev.weir.event.Outcome;
import dev.weir.event.Reason;
import dev.weir.event.Request;
import dev.weir.event.RequestKind;
import dev.weir.lease.LeaseRequest;
import dev.weir.lease.LeaseResponse;
import dev.weir.lease.LeaseTerms;
import dev.weir.lease.holder.LeaseBook;
import dev.weir.lease.holder.LeaseHolder;
import dev.weir.lease.holder.LeaseSession;
import dev.weir.lease.holder.WaitingLine;
import dev.weir.policy.Policy;
import dev.weir.policy.PolicyTable;
import dev.weir.testing.Effort;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.SplittableRandom;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Random traffic on a shared limit by several lease holders, whose messages to the ledger are delayed. What a decision
 * says is compared with what was used in truth, and with the ledger's responses.
 */
class SharedRemainingModelTest {

    private static final long START = 1_000_000_000L;
    private static final long HOUR_MS = 3_600_000;
    private static final long AHEAD_MS = 77; // of the broker's clock

    /** Tokens that were used. */
    private record Use(Holder by, long number, long cost) {}

    /** One run. */
    private static final class Model {

        final SplittableRandom random;
        final long limit;
        final Policy policy;
        final PolicyTable table;
        final List<Holder> holders = new ArrayList<>();
        PolicyLedger ledger;
        long nowMs = START % HOUR_MS; // no window ends during a run
        final List<Use> uses = new ArrayList<>();
        long used; // in truth, since the last reset
        long useNumber = 1;
        int peeks;
        int allowed;
        int resets;
        String context;

        Model(long seed) {
            random = new SplittableRandom(seed);
            limit = 1 + random.nextLong(random.nextBoolean() ? 20 : 2_000);
            policy = keyed(
                    List.of(),
                    random.nextBoolean()
                            ? policy("p", window(limit, HOUR_MS))
                            : policy("p", window(limit * 3, 24 * HOUR_MS), log(limit, HOUR_MS)));
            table = table(policy);
            ledger = PolicyLedger.open(policy, nowMs + AHEAD_MS);
            for (int i = 1 + random.nextInt(4); i > 0; i--) {
                holders.add(new Holder(this, "h" + i));
            }
            context = "seed %d: %d holders of %s".formatted(seed, holders.size(), policy.limits());
        }

        void use(Holder by, long cost) {
            uses.add(new Use(by, useNumber++, cost));
            used += cost;
        }

        /** Uses tokens when the ledger receives them, so that each later reset frees them. */
        void settle(Holder by, long cost) {
            uses.add(new Use(by, 0, cost));
            used += cost;
        }

        /** Frees what a holder used before it sent a reset, and others before the ledger receives it. */
        void reset(Holder by, long sentAt) {
            resets++;
            uses.removeIf(use -> use.by != by || use.number < sentAt || use.number == 0);
            used = uses.stream().mapToLong(Use::cost).sum();
        }

        void run(int steps) {
            for (int i = 0; i < steps; i++) {
                nowMs += random.nextInt(8) == 0 ? random.nextInt(3_000) : random.nextInt(40);
                for (Holder holder : holders) {
                    holder.deliver();
                    holder.work();
                }
                Holder one = holders.get(random.nextInt(holders.size()));
                int kind = random.nextInt(100);
                long cost = 1 + random.nextLong(Math.max(1, limit / 8));
                one.ask(
                        kind < 60
                                ? Samples.consume(cost, nowMs)
                                : kind < 96
                                        ? Samples.peek(1 + random.nextLong(limit + 2), nowMs)
                                        : kind < 98
                                                ? Samples.settle(cost, nowMs)
                                                : Samples.of(RequestKind.RESET, 0, nowMs));
                one.work();
            }
        }
    }

    /** A holder, its messages, and what it should know of the rest of the limit. */
    private static final class Holder extends OneKeyLeases<Request> {

        private record Sent(long atMs, LeaseRequest request, long useNumber) {}

        private record Answer(long atMs, LeaseResponse response, long leftInTruth, int resets) {}

        final Model model;
        final Deque<Sent> sent = new ArrayDeque<>();
        final Deque<Answer> answers = new ArrayDeque<>();
        Long left; // as of the last response, less what was used since; null if there was none
        long leftInTruth; // at the time of that response, less what was used since
        int resets; // at the time of that response

        Holder(Model model, String name) {
            this.model = model;
            session = new LeaseSession(name, 1, () -> 0);
            holder = LeaseHolder.empty(session, model.policy.leaseTerms(LeaseTerms.DEFAULTS));
        }

        /** Delivers messages in both directions after random delays. */
        void deliver() {
            while (!sent.isEmpty() && sent.peek().atMs <= model.nowMs) {
                Sent message = sent.remove();
                LeaseRequest request = message.request;
                long atMs = model.nowMs + AHEAD_MS;
                model.settle(this, request.settled()); // what leases do not cover
                PolicyLedger.Result result =
                        model.ledger.handle(request, model.policy, model.policy.leaseTerms(LeaseTerms.DEFAULTS), atMs);
                model.ledger = result.ledger();
                if (request.isReset()) {
                    model.reset(this, message.useNumber);
                }
                if (result.response() != null) {
                    answers.add(new Answer(
                            model.nowMs + model.random.nextInt(60),
                            result.response(),
                            Math.max(0, model.limit - model.used),
                            model.resets));
                }
            }
            while (!answers.isEmpty() && answers.peek().atMs <= model.nowMs) {
                Answer answer = answers.remove();
                boolean isExpected = holder.book().sentMs(answer.response).isPresent();
                holder.handleResponse(answer.response, model.nowMs);
                if (isExpected) {
                    left = Math.max(0, answer.response.free()) + unused();
                    leftInTruth = answer.leftInTruth;
                    resets = answer.resets;
                }
            }
        }

        long available() {
            LeaseBook book = holder.book();
            return book.available(model.nowMs, book.decisionTimeMs(model.nowMs));
        }

        /** Returns the unused tokens of all leases, also of those that have ended and are not returned yet. */
        long unused() {
            return holder.book().leases().stream()
                    .mapToLong(lease -> lease.amount() - lease.used())
                    .sum();
        }

        void work() {
            for (WaitingLine<Request> line = holder.readyLine(model.nowMs);
                    line != null;
                    line = holder.readyLine(model.nowMs)) {
                WaitingLine.Waiting<Request> first = line.first();
                DecisionResult result = decide(first.request(), false, model.nowMs < first.untilMs());
                if (result instanceof AwaitLease) {
                    return;
                }
                line.removeFirst();
                check(first.request(), (Decision) result, unused());
            }
            holder.nextMessage(model.nowMs)
                    .ifPresent(message ->
                            sent.add(new Sent(model.nowMs + model.random.nextInt(60), message, model.useNumber)));
        }

        void ask(Request request) {
            long heldBefore = unused();
            DecisionResult result = decide(request, true, true);
            if (result instanceof AwaitLease wait) {
                long untilMs = model.nowMs + wait.maxWaitMs();
                if (request.kind() == RequestKind.PEEK) {
                    holder.parkPeek(request, request.cost(), untilMs);
                } else {
                    holder.park(request, request.cost(), untilMs);
                }
            } else {
                check(request, (Decision) result, heldBefore);
            }
            if (request.kind() == RequestKind.PEEK) {
                assertThat(unused()).as(model.context).isEqualTo(heldBefore);
            }
        }

        DecisionResult decide(Request request, boolean isFirst, boolean mayWait) {
            Decider decider = new Decider(new MapStates(), new LeaseContext(this, model.nowMs, isFirst, mayWait));
            return decider.decide(request, model.table);
        }

        void check(Request request, Decision decision, long heldBefore) {
            String what = model.context + ", " + request.kind() + " " + request.cost() + " at " + model.nowMs + ": "
                    + decision.reason();
            boolean isAllowed = decision.outcome() == Outcome.ALLOWED;
            boolean isCharged =
                    isAllowed && (request.kind() == RequestKind.CONSUME || request.kind() == RequestKind.SETTLE);
            if (request.kind() == RequestKind.RESET) {
                assertThat(decision.reason()).as(what).isEqualTo(Reason.USAGE_RESET);
                assertThat(decision.remaining()).as(what).isNull();
                left = null;
                return;
            }
            if (isCharged) {
                long taken = request.kind() == RequestKind.SETTLE ? heldBefore - unused() : request.cost();
                model.use(this, taken);
                left = left == null ? null : (Long) Math.max(0, left - request.cost());
                leftInTruth = Math.max(0, leftInTruth - request.cost());
                model.allowed++;
            }
            if (decision.remaining() != null) {
                assertThat(left).as(what).isNotNull();
                assertThat(decision.remaining())
                        .as(what + ": as the ledger said, less what was used here since")
                        .isLessThanOrEqualTo(left);
                if (resets == model.resets) {
                    assertThat(decision.remaining())
                            .as(what + ": no more than was left in truth, less what was used here since")
                            .isLessThanOrEqualTo(Math.max(leftInTruth, available())); // a SETTLE can exceed the limit
                }
            }
            if (request.kind() == RequestKind.PEEK) {
                model.peeks++;
                if (isAllowed && decision.remaining() == null) { // by leases from before a reset
                    assertThat(request.cost()).as(what).isLessThanOrEqualTo(unused());
                } else if (isAllowed) {
                    assertThat(request.cost()).as(what).isLessThanOrEqualTo(decision.remaining());
                } else if (decision.reason() == Reason.LIMIT_EXCEEDED) {
                    assertThat(request.cost()).as(what).isGreaterThan(decision.remaining());
                } else if (decision.reason() == Reason.COST_NEVER_FITS) {
                    assertThat(request.cost()).as(what).isGreaterThan(model.limit);
                } else {
                    assertThat(decision.reason()).as(what).isEqualTo(Reason.QUOTA_NOT_AT_HAND);
                    assertThat(model.holders).as(what + ": others have it").hasSizeGreaterThan(1);
                }
            }
        }

        @Override
        public long leaseWaitMs() {
            return 30_000; // so that the ledger's response arrives in time
        }
    }

    @ParameterizedTest
    @ValueSource(longs = {1, 2, 3, 4})
    void what_remains_is_what_the_ledger_said_less_what_was_used_since(long seed) {
        int peeks = 0;
        int allowed = 0;
        for (int i = 0; i < Effort.times(60); i++) {
            Model model = new Model(1_000 * seed + i);
            model.run(250);
            peeks += model.peeks;
            allowed += model.allowed;
        }
        assertThat(peeks).isGreaterThan(Effort.times(1_000));
        assertThat(allowed).isGreaterThan(Effort.times(1_000));
    }
}
