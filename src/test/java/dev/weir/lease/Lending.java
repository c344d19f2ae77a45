package dev.weir.lease;

import dev.weir.limit.Account;
import dev.weir.limit.Limit;
import dev.weir.limit.LogSegment;
import dev.weir.limit.Segments;
import dev.weir.limit.SlidingWindowLog;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.PriorityQueue;
import java.util.SplittableRandom;

/**
 * A ledger and its holders on a virtual clock: each with a clock that is off, messages that take their time, requests that wait for
 * their slices, holders that stand still and that lose what they hold.
 */
final class Lending {

    /**
     * What happens.
     *
     * @param perSecond requests a second, by holder
     * @param delayMs how long a message takes at most
     * @param skewMs by how much clocks are off at most
     * @param maxWaitMs how long a request waits for a slice if one may come
     * @param standstills how many parts of a thousand of the time a holder stands still
     * @param losses how many messages of a thousand are lost, and as many are doubled
     * @param deaths how many of a thousand messages are the last of a holder, which begins anew with nothing
     */
    @SuppressWarnings("ArrayRecordComponent") // never compared
    record Scene(
            Limit<?> limit,
            LeaseTerms terms,
            double[] perSecond,
            long delayMs,
            long skewMs,
            long maxWaitMs,
            int maxCost,
            long forMs,
            int standstills,
            int losses,
            int deaths) {}

    /** What was admitted: when, by the time of its decision, and how much. */
    record Use(long timeMs, long cost) {}

    static final long START_MS = 1_000_000_000_007L;

    private final Scene scene;
    private final SplittableRandom random;
    private final PriorityQueue<Event> events =
            new PriorityQueue<>(Comparator.comparingLong(Event::atMs).thenComparingLong(Event::number));
    private final List<Holder> holders = new ArrayList<>();
    private Ledger ledger;
    private final long ledgerSkewMs;
    private long number;
    final List<Use> uses = new ArrayList<>();
    /** All requests, in the order in which they came. */
    private final List<Use> requested = new ArrayList<>();

    long requests;
    long waited;
    long messages;

    private record Event(long atMs, long number, Runnable what) {}

    private record Waiting(long cost, long untilMs) {}

    private final class Holder {
        private final int index;
        private final long skewMs;
        private String name;
        private int lives;
        private Book book;
        private final Deque<Waiting> waiting = new ArrayDeque<>();
        private long stillUntilMs;
        private long wakesMs;
        private long lastAskMs;
        private long lastGrantMs;

        Holder(int index) {
            this.index = index;
            skewMs = random.nextLong(-scene.skewMs, scene.skewMs + 1);
            begin(START_MS);
        }

        void begin(long nowMs) {
            name = index + "/" + lives++;
            book = Book.empty(nowMs + skewMs);
            waiting.clear();
        }

        void request(long nowMs, long cost) {
            long atMs = nowMs + skewMs;
            requests++;
            requested.add(new Use(atMs, cost));
            book = book.wanted(cost, atMs);
            if (waiting.isEmpty() && cost <= book.available(scene.terms, atMs)) {
                use(cost, atMs);
            } else {
                waited++;
                waiting.add(new Waiting(cost, nowMs + scene.maxWaitMs));
            }
            work(nowMs);
        }

        void work(long nowMs) {
            long atMs = nowMs + skewMs;
            while (!waiting.isEmpty()) {
                Waiting first = waiting.peek();
                if (first.cost <= book.available(scene.terms, atMs)) {
                    use(waiting.remove().cost, atMs);
                } else if (first.untilMs <= nowMs || !book.mayCome(first.cost, scene.terms, atMs)) {
                    waiting.remove();
                } else {
                    break;
                }
            }
            long waits = waiting.isEmpty() ? 0 : waiting.peek().cost;
            Book.Telling telling = book.tell(name, waits, scene.terms, atMs);
            if (telling != null) {
                book = telling.book();
                if (telling.ask() != null) {
                    ask(nowMs, telling.ask());
                }
            }
            long wakeMs =
                    book.tellAtMs(scene.terms) == Long.MAX_VALUE ? Long.MAX_VALUE : book.tellAtMs(scene.terms) - skewMs;
            if (!waiting.isEmpty()) {
                wakeMs = Math.min(wakeMs, waiting.peek().untilMs);
                if (!book.question().isOpen()) {
                    wakeMs = Math.min(wakeMs, book.question().retryAtMs() - skewMs);
                }
            }
            wakeAt(Math.max(nowMs + 1, wakeMs), nowMs);
        }

        /** Unless it will wake before. */
        private void wakeAt(long atMs, long nowMs) {
            if (atMs <= nowMs + scene.forMs && (wakesMs <= nowMs || atMs < wakesMs)) {
                wakesMs = atMs;
                later(atMs, unlessStill(this, this::work));
            }
        }

        private void use(long cost, long atMs) {
            uses.add(new Use(book.timeMs(atMs), cost));
            book = book.take(cost, scene.terms, atMs);
        }

        private void ask(long nowMs, Ask ask) {
            messages++;
            if (happens(scene.deaths)) {
                begin(nowMs);
                return;
            }
            lastAskMs = Math.max(lastAskMs, nowMs + delay()); // they come in their order
            int life = lives;
            for (int i = 0; i < copies(); i++) {
                later(lastAskMs + i * delay(), at -> answer(at, ask, life));
            }
        }

        private void answer(long nowMs, Ask ask, int life) {
            Ledger.Answer answer = ledger.ask(ask, scene.terms, nowMs + ledgerSkewMs);
            ledger = answer.ledger();
            if (answer.grant() == null) {
                return;
            }
            messages++;
            lastGrantMs = Math.max(lastGrantMs, nowMs + delay());
            Step take = at -> {
                if (life == lives) {
                    book = book.answered(answer.grant(), scene.terms, at + skewMs);
                    work(at);
                }
            };
            for (int i = 0; i < copies(); i++) {
                later(lastGrantMs + i * delay(), unlessStill(this, take));
            }
        }
    }

    /** None if a message is lost; the second one comes late. */
    private int copies() {
        return happens(scene.losses) ? 0 : happens(scene.losses) ? 2 : 1;
    }

    /** Does something when it is due. */
    private interface Step {
        void at(long nowMs);
    }

    Lending(Scene scene, long seed) {
        this.scene = scene;
        random = new SplittableRandom(seed);
        ledgerSkewMs = random.nextLong(-scene.skewMs, scene.skewMs + 1);
        ledger = open(scene.limit, START_MS);
        for (int i = 0; i < scene.perSecond.length; i++) {
            holders.add(new Holder(i));
        }
    }

    private static Ledger open(Limit<?> limit, long nowMs) {
        Ledger ledger = Ledger.open(List.of(limit), nowMs);
        if (!(limit instanceof SlidingWindowLog log)) {
            return ledger;
        }
        Map<Long, LogSegment> shelf = new HashMap<>();
        Segments segments = new Segments() {
            @Override
            public LogSegment get(long segment) {
                return shelf.get(segment);
            }

            @Override
            public void put(long segment, LogSegment content) {
                shelf.put(segment, content);
            }

            @Override
            public void delete(long segment) {
                shelf.remove(segment);
            }
        };
        Account<?> account = new Account<>(log, log.fresh(nowMs).on(0, segments));
        return new Ledger(nowMs, nowMs, List.of(account), List.of(), ledger.nextLease());
    }

    private boolean happens(int ofThousand) {
        return ofThousand > 0 && random.nextInt(1_000) < ofThousand;
    }

    private long delay() {
        return random.nextLong(scene.delayMs + 1);
    }

    private void later(long atMs, Step step) {
        events.add(new Event(atMs, number++, () -> step.at(atMs)));
    }

    /** A holder that stands still does then what was to be done before. */
    private Step unlessStill(Holder holder, Step step) {
        return nowMs -> {
            if (nowMs < holder.stillUntilMs) {
                later(holder.stillUntilMs, unlessStill(holder, step));
            } else {
                step.at(nowMs);
            }
        };
    }

    private void arrive(Holder holder, double perSecond) {
        double gapMs = -Math.log(1 - random.nextDouble()) * 1_000 / perSecond;
        arriveAfter(holder, perSecond, gapMs, START_MS);
    }

    private void arriveAfter(Holder holder, double perSecond, double exactMs, long fromMs) {
        long atMs = fromMs + (long) exactMs;
        if (atMs >= START_MS + scene.forMs) {
            return;
        }
        later(atMs, now -> {
            if (happens(scene.standstills)) {
                holder.stillUntilMs = now + random.nextLong(2 * scene.terms.termMs());
            }
            long cost = 1 + random.nextLong(scene.maxCost);
            unlessStill(holder, at -> holder.request(at, cost)).at(now);
            double gapMs = -Math.log(1 - random.nextDouble()) * 1_000 / perSecond + exactMs - (long) exactMs;
            arriveAfter(holder, perSecond, gapMs, now);
        });
    }

    Lending run() {
        for (int i = 0; i < holders.size(); i++) {
            if (scene.perSecond[i] > 0) {
                arrive(holders.get(i), scene.perSecond[i]);
            }
        }
        while (!events.isEmpty() && events.peek().atMs <= START_MS + scene.forMs) {
            events.remove().what.run();
        }
        uses.sort(Comparator.comparingLong(Use::timeMs));
        return this;
    }

    /** Of what one that sees all requests would have admitted. */
    double share() {
        return (double) admitted() / (double) admittedByOne();
    }

    private long admitted() {
        return uses.stream().mapToLong(Use::cost).sum();
    }

    private long admittedByOne() {
        Ledger one = open(scene.limit, START_MS);
        Account<?> account = one.accounts().get(0);
        long admitted = 0;
        long lastMs = START_MS;
        for (Use request : requested) {
            lastMs = Math.max(lastMs, request.timeMs());
            if (account.permits(request.cost(), lastMs)) {
                account = account.charge(request.cost(), lastMs);
                admitted += request.cost();
            }
        }
        return admitted;
    }

    /** After all slices have ended, all that is not used is free again: what the ledger says then. */
    Ledger after(long ms) {
        ledger = ledger.at(START_MS + scene.forMs + ms);
        return ledger;
    }
}
