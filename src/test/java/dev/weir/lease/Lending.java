package dev.weir.lease;

import dev.weir.lease.Promise.Use;
import dev.weir.limit.Account;
import dev.weir.limit.CalendarWindow;
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
 * their slices, and {@link Mishaps}.
 */
final class Lending {

    /**
     * What happens.
     *
     * @param limits those that are in force together, and those that take their places under way, all for as long
     * @param perSecond requests a second, by holder
     * @param delayMs how long a message takes at most
     * @param skewMs by how much clocks are off at most
     * @param maxWaitMs how long a request waits for a slice if one may come
     */
    @SuppressWarnings("ArrayRecordComponent") // never compared
    record Scene(
            List<List<Limit<?>>> limits,
            LeaseTerms terms,
            double[] perSecond,
            long delayMs,
            long skewMs,
            long maxWaitMs,
            int maxCost,
            long forMs,
            Mishaps mishaps) {}

    /**
     * What else happens, each so many times in a thousand.
     *
     * @param standstills of the requests: their holder stands still
     * @param losses of the messages: lost, and as many are doubled
     * @param deaths of the messages: the last of a holder, which begins anew with nothing
     * @param steps of the requests: a clock is put forward or back, that of their holder or of the ledger
     * @param settles of the requests: more was used, or less
     * @param overtakes of the messages: one that may come before those that were sent before it
     */
    record Mishaps(int standstills, int losses, int deaths, int steps, int settles, int overtakes) {
        static final Mishaps NONE = new Mishaps(0, 0, 0, 0, 0, 0);
    }

    /**
     * A limit while it was in force.
     *
     * @param account of it when it came into force
     * @param lent what was out then
     * @param fromMs when that was, by the ledger's time; the slices that were out end within a term
     * @param untilMs when it was replaced
     */
    record Era(Account<?> account, long lent, long fromMs, long untilMs) {}

    private static final long START_MS = 1_000_000_000_007L;
    private static final long MAX_STEP_MS = 3_000;

    private final Scene scene;
    private final SplittableRandom random;
    private final PriorityQueue<Event> events =
            new PriorityQueue<>(Comparator.comparingLong(Event::atMs).thenComparingLong(Event::number));
    private final List<Holder> holders = new ArrayList<>();
    private Ledger ledger;
    private final long startMs;
    private long ledgerSkewMs;
    private long number;
    private final List<Era> eras = new ArrayList<>();
    private long eraFromMs = Long.MIN_VALUE;
    private long eraLent;
    private List<Account<?>> era;
    final List<Use> uses = new ArrayList<>();
    /** All requests, in the order in which they came. */
    private final List<Use> requested = new ArrayList<>();

    long requests;
    long waited;
    long messages;
    /** What the ledger is to be told of beside the slices. */
    long settled;

    private record Event(long atMs, long number, Runnable what) {}

    private record Waiting(long cost, long untilMs) {}

    private final class Holder {
        private final int index;
        private long skewMs;
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
            begin(startMs);
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

        /** More was used than was asked for, or less. */
        void settle(long nowMs, long cost) {
            long atMs = nowMs + skewMs;
            long here = Math.max(0, Math.min(cost, book.available(scene.terms, atMs)));
            if (here > 0) {
                uses.add(new Use(book.timeMs(atMs), here));
            }
            settled += cost - here;
            book = book.settle(cost, scene.terms, atMs);
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
                    wakeMs = Math.min(wakeMs, book.question().againAtMs(scene.terms) - skewMs);
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
            if (happens(scene.mishaps.deaths)) {
                begin(nowMs);
                return;
            }
            long comesMs = nowMs + delay();
            lastAskMs = Math.max(lastAskMs, comesMs); // they come in their order
            long askMs = happens(scene.mishaps.overtakes) ? comesMs : lastAskMs;
            int life = lives;
            for (int i = 0; i < copies(); i++) {
                later(askMs + i * delay(), at -> answer(at, ask, life));
            }
        }

        private void answer(long nowMs, Ask ask, int life) {
            Ledger.Answer answer = ledger.ask(ask, scene.terms, nowMs + ledgerSkewMs);
            ledger = answer.ledger();
            if (ask.settled() < 0) {
                uses.add(new Use(ledger.clockMs(), ask.settled()));
            }
            if (answer.grant() == null) {
                return;
            }
            messages++;
            long comesMs = nowMs + delay();
            lastGrantMs = Math.max(lastGrantMs, comesMs);
            long grantMs = happens(scene.mishaps.overtakes) ? comesMs : lastGrantMs;
            Step take = at -> {
                if (life == lives) {
                    book = book.answered(answer.grant(), scene.terms, at + skewMs);
                    work(at);
                }
            };
            for (int i = 0; i < copies(); i++) {
                later(grantMs + i * delay(), unlessStill(this, take));
            }
        }
    }

    /** None if a message is lost; the second one comes late. */
    private int copies() {
        return happens(scene.mishaps.losses) ? 0 : happens(scene.mishaps.losses) ? 2 : 1;
    }

    /** Does something when it is due. */
    private interface Step {
        void at(long nowMs);
    }

    Lending(Scene scene, long seed) {
        this.scene = scene;
        random = new SplittableRandom(seed);
        ledgerSkewMs = random.nextLong(-scene.skewMs, scene.skewMs + 1);
        List<Limit<?>> limits = scene.limits.get(0);
        startMs = limits.stream().anyMatch(CalendarWindow.class::isInstance)
                ? limits.get(0).windowEndsMs(START_MS) - scene.forMs / 2
                : START_MS;
        era = limits.stream().<Account<?>>map(limit -> open(limit, startMs)).toList();
        ledger = Ledger.open(limits, startMs);
        ledger = new Ledger(startMs, startMs, era, List.of(), ledger.nextLease());
        for (int i = 0; i < scene.perSecond.length; i++) {
            holders.add(new Holder(i));
        }
    }

    private Account<?> open(Limit<?> limit, long nowMs) {
        return shelved(Account.open(limit, nowMs));
    }

    /** Puts a log that has no shelf on one. */
    private Account<?> shelved(Account<?> account) {
        return account.limit() instanceof SlidingWindowLog log
                        && ((SlidingWindowLog.Log) account.state()).segments() == null
                ? new Account<>(log, ((SlidingWindowLog.Log) account.state()).on(0, new Shelf()))
                : account;
    }

    private static final class Shelf implements Segments {
        private final Map<Long, LogSegment> segments = new HashMap<>();

        @Override
        public LogSegment get(long segment) {
            return segments.get(segment);
        }

        @Override
        public void put(long segment, LogSegment content) {
            segments.put(segment, content);
        }

        @Override
        public void delete(long segment) {
            segments.remove(segment);
        }
    }

    private void change(long nowMs, List<Limit<?>> limits) {
        ledger = ledger.at(nowMs + ledgerSkewMs);
        endEra(ledger.clockMs());
        List<Account<?>> next = new ArrayList<>();
        for (int i = 0; i < limits.size(); i++) {
            next.add(shelved(ledger.accounts().get(i).under(limits.get(i), ledger.clockMs())));
        }
        ledger = ledger.under(next);
        era = next;
        eraFromMs = ledger.clockMs();
        eraLent = ledger.lent();
    }

    private void endEra(long untilMs) {
        era.forEach(account -> eras.add(new Era(account, eraLent, eraFromMs, untilMs)));
    }

    /**
     * What is promised and was not kept; null: nothing. A limit that replaces another one holds for all slices that were lent since then,
     * with what was out then; so from a term later on, for all.
     */
    String broken() {
        endEra(Long.MAX_VALUE);
        for (Era each : eras) {
            long capacity = each.account.limit().capacity();
            String broken = brokenBy(each, Math.max(capacity, each.lent), each.fromMs + 1);
            if (broken == null && each.lent > 0) {
                broken = brokenBy(each, capacity, each.fromMs + scene.terms.termMs());
            }
            if (broken != null) {
                return each.account.limit() + ": " + broken;
            }
        }
        return null;
    }

    private String brokenBy(Era each, long most, long fromMs) {
        List<Use> then = uses.stream()
                .filter(use -> use.timeMs() >= fromMs && use.timeMs() < each.untilMs)
                .toList();
        return Promise.brokenBy(each.account, most, then);
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
        arriveAfter(holder, perSecond, gapMs, startMs);
    }

    private void arriveAfter(Holder holder, double perSecond, double exactMs, long fromMs) {
        long atMs = fromMs + (long) exactMs;
        if (atMs >= startMs + scene.forMs) {
            return;
        }
        later(atMs, now -> {
            if (happens(scene.mishaps.standstills)) {
                holder.stillUntilMs = now + random.nextLong(2 * scene.terms.termMs());
            }
            if (happens(scene.mishaps.steps)) {
                step(holder);
            }
            if (happens(scene.mishaps.settles)) {
                long more = random.nextLong(-2L * scene.maxCost, 10L * scene.maxCost);
                unlessStill(holder, at -> holder.settle(at, more)).at(now);
            }
            long cost = 1 + random.nextLong(scene.maxCost);
            unlessStill(holder, at -> holder.request(at, cost)).at(now);
            double gapMs = -Math.log(1 - random.nextDouble()) * 1_000 / perSecond + exactMs - (long) exactMs;
            arriveAfter(holder, perSecond, gapMs, now);
        });
    }

    private void step(Holder holder) {
        long stepMs = random.nextLong(-MAX_STEP_MS, MAX_STEP_MS + 1);
        if (random.nextBoolean()) {
            holder.skewMs += stepMs;
        } else {
            ledgerSkewMs += stepMs;
        }
    }

    Lending run() {
        for (int i = 1; i < scene.limits.size(); i++) {
            List<Limit<?>> limits = scene.limits.get(i);
            later(startMs + i * scene.forMs / scene.limits.size(), now -> change(now, limits));
        }
        for (int i = 0; i < holders.size(); i++) {
            if (scene.perSecond[i] > 0) {
                arrive(holders.get(i), scene.perSecond[i]);
            }
        }
        return on(0);
    }

    /** Runs on for so long after the last request. */
    Lending on(long ms) {
        while (!events.isEmpty() && events.peek().atMs <= startMs + scene.forMs + ms) {
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
        Account<?> account = open(scene.limits.get(0).get(0), startMs);
        long admitted = 0;
        long lastMs = startMs;
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
        ledger = ledger.at(Math.max(ledger.clockMs(), startMs + scene.forMs) + ms);
        return ledger;
    }
}
