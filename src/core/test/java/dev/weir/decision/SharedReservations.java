package dev.weir.decision;

import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.decision.state.lease.LeaseContext;
import dev.weir.event.AwaitLease;
import dev.weir.event.Decision;
import dev.weir.event.DecisionResult;
import dev.weir.event.Outcome;
import dev.weir.event.Reason;
import dev.weir.event.Request;
import dev.weir.event.RequestKind;
import dev.weir.event.StateKey;
import dev.weir.lease.LeaseRequest;
import dev.weir.lease.LeaseResponse;
import dev.weir.lease.holder.LeaseBook;
import dev.weir.lease.ledger.Ledger;
import dev.weir.lease.ledger.OutstandingLease;
import dev.weir.limit.AdmittedUse;
import dev.weir.limit.LimitAccount;
import dev.weir.policy.Policy;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;

/**
 * Random traffic with reservations on a shared limit by several holders, whose messages to the ledger are delayed. It
 * records what was used in truth: each reservation at its time, with its final cost.
 */
final class SharedReservations extends SimulatedLedger<Request> {

    /** What was used at a time; the cost is corrected later. */
    private static final class Use {
        final long atMs;
        final boolean counts; // otherwise nothing was limited, so a larger cost is charged to nothing
        long cost;

        Use(long atMs, long cost, boolean counts) {
            this.atMs = atMs;
            this.cost = cost;
            this.counts = counts;
        }
    }

    /** The accounts in force from a time on; what was lent before can be used, too. */
    private record Era(List<LimitAccount<?>> accounts, long lent, long lentUntilMs, long fromMs) {}

    final String context;
    int toLeases;
    int toLedger;
    private final List<Use> uses = new ArrayList<>();
    private final List<Era> eras = new ArrayList<>();
    private long settled; // beyond leases

    SharedReservations(long seed, Mishaps mishaps, List<Policy> policies) {
        super(seed, mishaps, policies);
        beginEra();
        int size = 1 + random.nextInt(3);
        for (int i = 0; i < size; i++) {
            holders.add(new Client("h" + i));
        }
        context = "seed %d: %d holders of %s".formatted(seed, size, policy.limits());
    }

    @Override
    long anyMs(int bound) {
        return random.nextInt(bound);
    }

    /** Lets time pass until all leases have ended and are reported. */
    void finish() {
        for (int i = 0; i < 1_000; i++) {
            passed(50);
        }
        ledger = ledger.advancedTo(brokerMs() + 100_000);
    }

    private void beginEra() {
        Ledger now = ledger.ledger();
        long untilMs =
                now.leases().stream().mapToLong(OutstandingLease::untilMs).reduce(now.clockMs(), Math::max);
        eras.add(new Era(now.accounts(), now.lent(), untilMs, Math.max(brokerMs(), now.clockMs())));
    }

    /** Returns the first violation of the law, null if there is none. */
    String broken() {
        for (int i = 0; i < eras.size(); i++) {
            Era era = eras.get(i);
            long untilMs = i + 1 < eras.size() ? eras.get(i + 1).fromMs : Long.MAX_VALUE;
            for (LimitAccount<?> account : era.accounts) {
                long capacity = account.limit().capacity();
                long fromMs = i == 0 ? 0 : era.fromMs + 1;
                long endedMs = i == 0 ? 0 : era.lentUntilMs + 1;
                Optional<String> excess = !account.limit().countsUsage()
                        ? Optional.empty()
                        : excess(account, Math.max(capacity, era.lent), fromMs, untilMs)
                                .or(() -> excess(account, capacity, endedMs, untilMs));
                if (excess.isPresent()) {
                    return account.limit() + ", from " + era.fromMs + ": " + excess.get();
                }
            }
        }
        return null;
    }

    private Optional<String> excess(LimitAccount<?> account, long most, long fromMs, long untilMs) {
        List<AdmittedUse> then = uses.stream()
                .filter(use -> use.cost > 0 && use.atMs >= fromMs && use.atMs < untilMs)
                .map(use -> new AdmittedUse(use.atMs, use.cost))
                .toList();
        return AdmittedUse.excess(account, most, then);
    }

    /** Returns what was used in truth, and settled beyond leases. */
    long used() {
        return uses.stream().mapToLong(use -> use.cost).sum() + settled;
    }

    /** Returns what the ledger has charged. */
    long charged() {
        return ledger.ledger().accounts().get(0).used(ledger.ledger().clockMs());
    }

    /** A holder with the reservations of its clients. */
    final class Client extends Holder {

        private final Map<String, Use> reserved = new TreeMap<>();
        private final Map<String, Long> estimates = new HashMap<>();

        Client(String name) {
            super(name);
        }

        /** Continues with the stored book and reservations, with the reservations only, or as another without any. */
        @Override
        void die() {
            int kind = random.nextInt(3);
            if (kind == 0) {
                restart();
                return;
            }
            if (kind == 1) {
                states = new MapStates();
                reserved.clear();
            }
            beginAsAnother();
        }

        private Request anyRequest() {
            int kind = random.nextInt(100);
            String id = "r" + random.nextInt(40);
            String client = random.nextInt(20) == 0 ? "d" : "c";
            long most = Math.min(
                    1_000, policy.terms().get(policy.tightestIndex()).limit().capacity());
            long cost = random.nextLong(random.nextInt(4) == 0 ? most + 1 : most / 4 + 2);
            List<String> open = new ArrayList<>(reserved.keySet());
            if (!open.isEmpty() && kind >= 60 && random.nextInt(4) > 0) {
                String one = open.get(random.nextInt(open.size()));
                client = one.substring(0, one.lastIndexOf('r'));
                id = one.substring(one.lastIndexOf('r'));
            }
            Request.Builder request = Request.builder("s" + numbers++, client)
                    .timestampMs(brokerMs())
                    .cost(cost)
                    .source(0, numbers);
            if (happens(mishaps.resets())) {
                request.kind(RequestKind.RESET);
            } else if (kind < 15) {
                request.kind(RequestKind.CONSUME).cost(1 + cost / 3);
            } else if (kind < 60) {
                request.requestId(id).reserveMs(1L + random.nextInt(1 << random.nextInt(4, 16)));
            } else if (kind < 85) {
                long estimate = estimates.getOrDefault(client + id, 1L);
                long part = random.nextLong(estimate + 1);
                request.kind(RequestKind.SETTLE).settles(id).cost(random.nextInt(5) == 0 ? estimate + cost : part);
            } else if (kind < 90) {
                request.kind(RequestKind.CANCEL).requestId(id);
            } else if (kind < 95) {
                request.kind(RequestKind.RELEASE).requestId(id);
            } else {
                request.kind(RequestKind.RENEW).requestId(id);
            }
            return request.build();
        }

        @Override
        void ask() {
            Request request = anyRequest();
            DecisionResult result = decide(request, true, random.nextInt(4) > 0);
            if (result instanceof AwaitLease wait) {
                holder.park(request, request.cost(), nowMs + wait.maxWaitMs());
            } else {
                record(request, (Decision) result);
            }
        }

        private long available;

        @Override
        DecisionResult decide(Request request, boolean isFirst, boolean mayWait) {
            LeaseBook before = holder.book();
            available = before.available(nowMs, before.decisionTimeMs(nowMs));
            Decider decider = new Decider(states, new LeaseContext(this, nowMs, isFirst, mayWait));
            DecisionResult result = decider.decide(request, table);
            if (request.isForReservation() && request.kind() != RequestKind.RENEW) {
                toLeases += holder.book().available(nowMs, holder.book().decisionTimeMs(nowMs)) > available ? 1 : 0;
            }
            return result;
        }

        @Override
        void record(Request request, Decision decision) {
            reasons.merge(decision.reason(), 1, Integer::sum);
            if (decision.outcome() != Outcome.ALLOWED || decision.repeated()) {
                return;
            }
            String id = request.client() + request.reservationId();
            if (request.kind() == RequestKind.CONSUME) {
                Use use = new Use(holder.book().clockMs(), request.cost(), policy.countsUsage());
                uses.add(use);
                if (request.reserveMs() != null) {
                    reserved.put(id, use);
                    estimates.put(id, request.cost());
                }
            } else if (decision.reason() == Reason.SETTLED || decision.reason() == Reason.CANCELLED) {
                long actual = request.kind() == RequestKind.CANCEL ? 0 : request.cost();
                Use use = reserved.remove(id);
                long more = use.counts ? Math.max(0, actual - use.cost) : 0;
                use.cost = Math.min(use.cost, actual);
                long here = Math.min(more, available);
                uses.add(new Use(holder.book().clockMs(), here, true));
                settled += more - here;
            } else if (decision.reason() == Reason.RELEASED) {
                assertThat(reserved.remove(id)).isNotNull();
            }
        }

        @Override
        void sendDue() {
            holder.nextMessage(nowMs).ifPresent(message -> {
                toLedger += message.refunds().refunds().size();
                var unused = send(message);
            });
        }

        @Override
        public void put(StateKey of, LeaseBook book) {
            assertThat(of).isEqualTo(key);
            super.put(of, book);
        }
    }

    @Override
    LeaseResponse receive(LeaseRequest message) {
        List<?> before = limits();
        migrate();
        if (!limits().equals(before)) {
            beginEra();
        }
        LeaseResponse response = handle(message);
        if (message.isReset()) {
            beginEra();
        }
        return response;
    }

    private List<?> limits() {
        return ledger.ledger().accounts().stream().map(LimitAccount::limit).toList();
    }
}
