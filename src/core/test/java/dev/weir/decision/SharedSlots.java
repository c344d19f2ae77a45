package dev.weir.decision;

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
import dev.weir.lease.SlotUse;
import dev.weir.lease.holder.LeaseHolder;
import dev.weir.limit.Concurrency;
import dev.weir.limit.PeakOfUses;
import dev.weir.policy.Policy;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.UnaryOperator;

/**
 * Random traffic on a shared limit of concurrency by several holders, whose messages to the ledger are delayed, lost and
 * repeated. It records when slots were in use in truth, as the callers know it: from the decision until they free them, or
 * until the end that the decision says which took or prolonged them.
 */
final class SharedSlots extends SimulatedLedger<SharedSlots.Asked> {

    /** A fault that is put into messages. */
    enum Flaw {
        NONE,
        FREED_TWICE,
        ENDS_TOO_EARLY,
        LENT_TOO_MUCH,
        REPORTED_AS_UNUSED,
        ALWAYS_RENEWED;

        private LeaseRequest of(LeaseRequest message) {
            return switch (this) {
                case ENDS_TOO_EARLY ->
                    with(
                            message,
                            report -> new LeaseRequest.Report(
                                    report.leaseId(),
                                    report.used(),
                                    report.lastUsedMs(),
                                    report.held(),
                                    report.isReserved(),
                                    report.slots().stream()
                                            .map(slots -> new SlotUse(slots.endMs() - 200, slots.count()))
                                            .toList()));
                case REPORTED_AS_UNUSED ->
                    with(
                            message,
                            report -> new LeaseRequest.Report(
                                    report.leaseId(), 0, report.lastUsedMs(), 0, report.isReserved()));
                default -> message;
            };
        }

        private static LeaseRequest with(LeaseRequest message, UnaryOperator<LeaseRequest.Report> change) {
            return new LeaseRequest(
                    message.number(),
                    message.holder(),
                    message.wanted(),
                    new LeaseRequest.Usage(
                            message.reports().stream().map(change).toList(), 0, message.refunds()),
                    message.roundTripMs(),
                    message.isReset());
        }

        private LeaseResponse of(LeaseResponse response) {
            if (this == LENT_TOO_MUCH && response instanceof LeaseResponse.Granted lease) {
                return new LeaseResponse.Granted(
                        lease.number(),
                        lease.leaseId(),
                        lease.amount() + 1,
                        lease.appendedAtMs(),
                        lease.fromMs(),
                        lease.untilMs(),
                        lease.free());
            }
            return this == ALWAYS_RENEWED && response instanceof LeaseResponse.Renewed renewed
                    ? new LeaseResponse.Renewed(
                            renewed.number(), renewed.appendedAtMs(), renewed.free(), renewed.renewedAtMs(), List.of())
                    : response;
        }
    }

    /** Slots that were in use in truth. */
    private static final class Use {
        final long count;
        final long fromMs;
        final long slotMs;
        long endMs;
        boolean isReset;

        Use(long count, long fromMs, long slotMs) {
            this.count = count;
            this.fromMs = fromMs;
            this.slotMs = slotMs;
            endMs = fromMs + slotMs;
        }

        void reset(long atMs) {
            endAt(atMs);
            isReset = true;
        }

        void endAt(long atMs) {
            endMs = Math.min(endMs, Math.max(fromMs, atMs));
        }
    }

    /** A request, and the broker's time when it was asked. */
    record Asked(Request request, long atMs) {}

    final String context;
    int renewedLate; // after a wait
    private final Flaw flaw;
    private final int gridMs; // all times are multiples of this: if it is not 1, many slots end at the same time
    private final List<Use> uses = new ArrayList<>();
    private long lastResetMs = Long.MIN_VALUE;

    SharedSlots(long seed, Mishaps mishaps, Flaw flaw, List<Policy> policies) {
        super(seed, mishaps, policies);
        this.flaw = flaw;
        this.gridMs = random.nextBoolean() ? 1 : 100;
        int size = 1 + random.nextInt(3);
        for (int i = 0; i < size; i++) {
            holders.add(new Client("h" + i));
        }
        context = "seed %d: %d holders of %s".formatted(seed, size, policy.limits());
    }

    @Override
    long anyMs(int ms) {
        return (long) gridMs * random.nextInt(1 + (ms + gridMs - 1) / gridMs);
    }

    /** Lets time pass without requests. */
    void finish(long ms) {
        for (long untilMs = nowMs + ms; nowMs < untilMs; ) {
            passed(50);
        }
    }

    /** Returns the slots that the ledger could lend. */
    long free() {
        ledger = ledger.advancedTo(brokerMs());
        return ledger.ledger().free();
    }

    /** Returns the most slots in use at once, in truth. */
    long mostInUse() {
        PeakOfUses peak = new PeakOfUses();
        uses.forEach(use -> peak.add(use.count, use.fromMs, use.endMs));
        return peak.most();
    }

    private void require(boolean isTrue, Decision decision) {
        if (!isTrue) {
            throw new AssertionError(context + ": " + decision);
        }
    }

    /** Returns when slots end that are in use, by the broker's clock, in order. */
    List<Long> ends() {
        return uses.stream()
                .filter(use -> use.endMs > brokerMs())
                .map(use -> use.endMs)
                .sorted()
                .toList();
    }

    /** Lets time pass until a time of the broker. */
    void finishAt(long atMs) {
        passed(Math.max(0, atMs - brokerMs()));
    }

    /** Returns the slots in use now, in truth. */
    long inUse() {
        return uses.stream()
                .filter(use -> use.endMs > brokerMs())
                .mapToLong(use -> use.count)
                .sum();
    }

    /** Returns the most slots of any of the policies. */
    long limit() {
        return policies.stream()
                .mapToLong(each -> each.limits().get(each.tightestIndex()).capacity())
                .max()
                .orElseThrow();
    }

    private static long ttlMs(Policy policy) {
        return policy.limits().stream()
                .mapToLong(limit -> ((Concurrency) limit).ttlMs())
                .min()
                .orElseThrow();
    }

    /** A holder with the reservations of its clients. */
    final class Client extends Holder {

        private final Map<String, Use> reserved = new TreeMap<>();

        Client(String name) {
            super(name);
        }

        /** Continues with the stored book, reservations and waiting requests, or as another holder without any. */
        @Override
        void die() {
            if (random.nextBoolean()) {
                List<Asked> waiting = new ArrayList<>();
                holder.lines().forEach(line -> line.forEach(each -> waiting.add(each.request())));
                restart();
                waiting.forEach(each -> park(each, 300));
                return;
            }
            states = new MapStates();
            reserved.clear();
            beginAsAnother();
        }

        private Request anyRequest() {
            int kind = random.nextInt(100);
            String id = "r" + random.nextInt(40);
            long cost = 1 + random.nextLong(random.nextInt(4) == 0 ? limit() : Math.max(1, limit() / 4));
            List<String> open = new ArrayList<>(reserved.keySet());
            if (!open.isEmpty() && kind >= 45 && random.nextInt(4) > 0) {
                id = open.get(random.nextInt(open.size()));
            }
            Request.Builder request = Request.builder("s" + numbers++, "c")
                    .timestampMs(brokerMs())
                    .cost(cost)
                    .source(0, numbers);
            if (happens(mishaps.resets())) {
                request.kind(RequestKind.RESET);
            } else if (kind < 20) {
                request.requestId(id);
            } else if (kind < 45) {
                request.requestId(id).reserveMs(Math.max(1, anyMs(1 << random.nextInt(4, 15))));
            } else if (kind < 50) {
                request.kind(RequestKind.SETTLE).settles(id).cost(random.nextLong(2 * cost));
            } else if (kind < 55) {
                request.kind(RequestKind.CANCEL).requestId(id);
            } else if (kind < 72) {
                request.kind(RequestKind.RELEASE).requestId(id);
            } else if (kind < 75) {
                request.kind(RequestKind.PEEK);
            } else {
                request.kind(RequestKind.RENEW).requestId(id);
            }
            return request.build();
        }

        @Override
        void ask() {
            Asked asked = new Asked(anyRequest(), brokerMs());
            DecisionResult result = decide(asked, true, random.nextInt(4) > 0);
            if (result instanceof AwaitLease wait) {
                park(asked, wait.maxWaitMs());
            } else {
                record(asked, (Decision) result);
            }
        }

        private void park(Asked asked, long maxWaitMs) {
            Request request = asked.request;
            if (request.kind() == RequestKind.PEEK) {
                holder.parkPeek(asked, request.cost(), nowMs + maxWaitMs);
            } else if (request.kind() == RequestKind.RENEW) {
                holder.parkRenewal(asked, nowMs + maxWaitMs);
            } else {
                holder.park(asked, request.cost(), nowMs + maxWaitMs);
            }
        }

        @Override
        DecisionResult decide(Asked asked, boolean isFirst, boolean mayWait) {
            Decider decider = new Decider(states, new LeaseContext(this, nowMs, isFirst, mayWait));
            return decider.decide(asked.request, table);
        }

        @Override
        void record(Asked asked, Decision decision) {
            Request request = asked.request;
            reasons.merge(decision.reason(), 1, Integer::sum);
            if (decision.outcome() != Outcome.ALLOWED || decision.repeated()) {
                return;
            }
            String id = request.reservationId();
            if (request.kind() == RequestKind.CONSUME) {
                long slotMs =
                        Math.min(ttlMs(policy), request.reserveMs() == null ? Long.MAX_VALUE : request.reserveMs());
                Use use = new Use(request.cost(), holder.book().clockMs(), slotMs);
                require(decision.decidedAtMs() == use.fromMs && decision.reservedUntilMs() == use.endMs, decision);
                if (use.fromMs <= lastResetMs) { // in the millisecond of a reset: it may have been before
                    use.reset(lastResetMs);
                }
                uses.add(use);
                reserved.put(id, use);
            } else if (decision.reason() == Reason.RENEWED) {
                Use use = reserved.get(id);
                require(decision.decidedAtMs() >= asked.atMs, decision);
                require(decision.reservedUntilMs() == decision.decidedAtMs() + use.slotMs, decision);
                use.endMs = use.isReset ? use.endMs : Math.max(use.endMs, decision.reservedUntilMs());
                renewedLate += asked.atMs < brokerMs() ? 1 : 0;
            } else if (decision.reason() == Reason.SETTLED
                    || decision.reason() == Reason.CANCELLED
                    || decision.reason() == Reason.RELEASED) {
                Use use = reserved.remove(id);
                if (use != null) {
                    use.endAt(brokerMs());
                }
            }
        }

        @Override
        void sendDue() {
            for (var next = holder.nextMessage(nowMs); next.isPresent(); next = holder.nextMessage(nowMs)) {
                LeaseRequest message = flaw.of(next.get());
                send(message).ifPresent(inOrderMs -> freeAgain(message, inOrderMs));
            }
        }

        private void freeAgain(LeaseRequest message, long inOrderMs) {
            if (flaw != Flaw.FREED_TWICE || message.refunds().freed().isEmpty()) {
                return;
            }
            LeaseHolder<Asked> life = holder;
            LeaseRequest.Refunds again = new LeaseRequest.Refunds(
                    Long.MAX_VALUE - numbers, List.of(), message.refunds().freed(), List.of());
            later(
                    inOrderMs,
                    () -> arrive(
                            LeaseRequest.report("other" + numbers, new LeaseRequest.Usage(List.of(), 0, again)), life));
        }
    }

    @Override
    LeaseResponse receive(LeaseRequest message) {
        migrate();
        LeaseResponse response = handle(message);
        if (message.isReset()) {
            long resetMs = ledger.ledger().clockMs(); // what the ledger knows can be ahead of the broker's clock
            uses.stream().filter(use -> use.fromMs <= resetMs).forEach(use -> use.reset(resetMs));
            lastResetMs = resetMs;
        }
        return response == null ? null : flaw.of(response);
    }
}
