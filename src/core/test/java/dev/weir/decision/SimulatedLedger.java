package dev.weir.decision;

import dev.weir.decision.state.PolicyLedger;
import dev.weir.event.AwaitLease;
import dev.weir.event.Decision;
import dev.weir.event.DecisionResult;
import dev.weir.event.Reason;
import dev.weir.event.StateKey;
import dev.weir.lease.LeaseRequest;
import dev.weir.lease.LeaseResponse;
import dev.weir.lease.LeaseTerms;
import dev.weir.lease.holder.LeaseBook;
import dev.weir.lease.holder.LeaseHolder;
import dev.weir.lease.holder.LeaseSession;
import dev.weir.lease.holder.WaitingLine;
import dev.weir.limit.MapSegments;
import dev.weir.policy.Policy;
import dev.weir.policy.PolicyTable;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.PriorityQueue;
import java.util.SplittableRandom;

/**
 * The ledger of a shared limit and several holders in simulated time. Messages between them are delayed and, with
 * {@link Mishaps}, lost and repeated.
 *
 * @param <T> what waits for a lease
 */
abstract class SimulatedLedger<T> {

    private static final long START = 1_000_000_007L;
    private static final long AHEAD_MS = 77; // of the broker's clock

    /**
     * What can happen besides delays, of a thousand messages or steps.
     *
     * @param repeats messages that arrive again later
     * @param overtakes messages that later ones can overtake
     * @param losses messages that are lost, with what they refund
     * @param deaths steps at which a holder loses its state or a part of it
     * @param resets steps at which all usage is freed
     */
    record Mishaps(int repeats, int overtakes, int losses, int deaths, int resets) {
        static final Mishaps NONE = new Mishaps(0, 0, 0, 0, 0);
        static final Mishaps ALL = new Mishaps(100, 50, 20, 5, 8);
    }

    private record Event(long atMs, long number, Runnable what) {}

    final SplittableRandom random;
    final Mishaps mishaps;
    final List<Policy> policies;
    final List<Holder> holders = new ArrayList<>();
    final Map<Reason, Integer> reasons = new EnumMap<>(Reason.class);
    final StateKey key;
    Policy policy;
    PolicyTable table;
    PolicyLedger ledger;
    long nowMs = START;
    long numbers;
    private final Map<Integer, MapSegments> segments = new HashMap<>();
    private final PriorityQueue<Event> events =
            new PriorityQueue<>(Comparator.comparingLong(Event::atMs).thenComparingLong(Event::number));

    /** @param policies those that are in force, one after the other */
    SimulatedLedger(long seed, Mishaps mishaps, List<Policy> policies) {
        this.random = new SplittableRandom(seed);
        this.mishaps = mishaps;
        this.policies = policies;
        decideBy(policies.get(0));
        key = policy.stateKey(Samples.consume(1, 0));
        ledger = PolicyLedger.open(policy, brokerMs());
    }

    private void decideBy(Policy next) {
        policy = next;
        table = Samples.table(next);
    }

    final long brokerMs() {
        return nowMs + AHEAD_MS;
    }

    final boolean happens(int ofThousand) {
        return random.nextInt(1_000) < ofThousand;
    }

    /** Returns a random time. */
    abstract long anyMs(int bound);

    final void later(long delayMs, Runnable what) {
        events.add(new Event(nowMs + delayMs, numbers++, what));
    }

    final void run(int steps) {
        for (int i = 0; i < steps; i++) {
            if (i % (steps / policies.size() + 1) == 0) {
                decideBy(policies.get(i * policies.size() / steps));
            }
            passed(random.nextInt(10) == 0 ? anyMs(2_500) : anyMs(60));
            Holder one = holders.get(random.nextInt(holders.size()));
            if (happens(mishaps.deaths())) {
                one.die();
            }
            one.ask();
            one.work();
        }
    }

    final void passed(long ms) {
        long untilMs = nowMs + ms;
        while (!events.isEmpty() && events.peek().atMs <= untilMs) {
            Event next = events.remove();
            nowMs = Math.max(nowMs, next.atMs);
            next.what.run();
        }
        nowMs = untilMs;
        holders.forEach(Holder::work);
    }

    /** Takes over the current policy. */
    final void migrate() {
        ledger = ledger.migrateTo(policy, Math.max(brokerMs(), ledger.ledger().clockMs()));
    }

    /** Returns the response to a message; null if there is none. */
    final LeaseResponse handle(LeaseRequest message) {
        PolicyLedger.Result result = ledger.handle(message, policy, policy.leaseTerms(LeaseTerms.DEFAULTS), brokerMs());
        ledger = result.ledger().stored(log -> segments.computeIfAbsent(log.id(), id -> new MapSegments())
                .store(log));
        return result.response();
    }

    /** Receives a message. Returns the response, null if there is none. */
    abstract LeaseResponse receive(LeaseRequest message);

    /** A holder with the reservations of its clients. */
    abstract class Holder extends OneKeyLeases<T> {

        MapStates states = new MapStates();
        private String name;
        private long lastSentMs;
        private int lives;

        Holder(String name) {
            this.name = name;
            begin(LeaseBook.empty());
        }

        final void begin(LeaseBook book) {
            session = new LeaseSession(name, 1_000_000L * lives++ + 1, () -> 0);
            holder = LeaseHolder.restored(session, book, policy.leaseTerms(LeaseTerms.DEFAULTS));
        }

        /** Continues with the stored leases. */
        final void restart() {
            LeaseBook book = holder.book();
            begin(LeaseBook.fromStore(book.pool(), book.corrections()));
        }

        /** Continues under another name and without leases. */
        final void beginAsAnother() {
            name = name + "'";
            begin(LeaseBook.empty());
        }

        /** Loses its state or a part of it. */
        abstract void die();

        /** Decides a random request. */
        abstract void ask();

        abstract DecisionResult decide(T asked, boolean isFirst, boolean mayWait);

        abstract void record(T asked, Decision decision);

        /** Sends what is due. */
        abstract void sendDue();

        final void work() {
            holder.setTerms(policy.leaseTerms(LeaseTerms.DEFAULTS));
            for (var line = holder.readyLine(nowMs); line != null; line = holder.readyLine(nowMs)) {
                WaitingLine.Waiting<T> first = line.first();
                DecisionResult result = decide(first.request(), false, nowMs < first.untilMs());
                if (result instanceof AwaitLease) {
                    break;
                }
                line.removeFirst();
                record(first.request(), (Decision) result);
            }
            sendDue();
        }

        /** Sends a message. Returns in how many milliseconds it arrives if none overtakes it; empty if it is lost. */
        final OptionalLong send(LeaseRequest message) {
            if (happens(mishaps.losses())) {
                return OptionalLong.empty();
            }
            long delayMs = anyMs(60);
            lastSentMs = Math.max(lastSentMs, nowMs + delayMs);
            LeaseHolder<T> life = holder;
            long inOrderMs = lastSentMs - nowMs;
            later(happens(mishaps.overtakes()) ? delayMs + anyMs(500) : inOrderMs, () -> arrive(message, life));
            if (happens(mishaps.repeats())) {
                later(inOrderMs + anyMs(3_000), () -> arrive(message, life));
            }
            return OptionalLong.of(inOrderMs);
        }

        final void arrive(LeaseRequest message, LeaseHolder<T> life) {
            LeaseResponse response = receive(message);
            if (response != null) {
                later(anyMs(60), () -> {
                    if (life == holder) {
                        holder.handleResponse(response, nowMs);
                        work();
                    }
                });
            }
        }
    }
}
