package dev.weir.lending;

import dev.weir.lease.ClockStepDetector;
import dev.weir.lease.LeaseBook;
import dev.weir.lease.LeaseHolder;
import dev.weir.lease.LeaseRequest;
import dev.weir.lease.LeaseSession;
import dev.weir.lease.LeaseTerms;
import dev.weir.lease.Ledger;
import dev.weir.limit.CalendarWindow;
import dev.weir.limit.Limit;
import dev.weir.limit.LimitAccount;
import dev.weir.limit.LogSegment;
import dev.weir.limit.SegmentStore;
import dev.weir.limit.SlidingWindowLog;
import dev.weir.testing.Promise;
import dev.weir.testing.Promise.Use;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.PriorityQueue;
import java.util.SplittableRandom;

/**
 * A ledger and its holders on a virtual clock: each with a monotonic and a wall clock of its own, messages that take
 * their time, requests that wait for leases, and {@link Mishaps}.
 */
final class Lending {

    /**
     * What happens.
     *
     * @param limits those that are in force together, and those that take their places under way, all for as long
     * @param perSecond requests a second, by holder
     * @param delayMs how long a message takes at most
     * @param drift by which part the rates of holders' monotonic clocks differ from the broker's at most
     * @param maxWaitMs how long a request waits for a lease
     */
    @SuppressWarnings("ArrayRecordComponent") // never compared
    record Scene(
            List<List<Limit<?>>> limits,
            LeaseTerms terms,
            double[] perSecond,
            long delayMs,
            double drift,
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
     * @param steps of the requests: the wall clock of their holder is stepped, or another broker leads, whose clock
     *     differs
     * @param settles of the requests: more was used; or a foreign holder sends the ledger a refund
     * @param overtakes of the messages: one that may come before those that were sent before it
     */
    record Mishaps(int standstills, int losses, int deaths, int steps, int settles, int overtakes) {
        static final Mishaps NONE = new Mishaps(0, 0, 0, 0, 0, 0);
    }

    /**
     * The clocks of a holder's machine.
     *
     * @param isTask whether the process's clock starts with the wall clock, as that of a stream task, or at 0, as that
     *     of a client library
     * @param aheadMs the wall clock at the beginning, against the broker's
     * @param stepMs by which the wall clock is stepped halfway
     * @param drift by which part its rate differs from the broker's
     */
    record Clocks(boolean isTask, long aheadMs, long stepMs, double drift) {}

    /**
     * A limit while it was in force.
     *
     * @param account of it when it came into force
     * @param lent what was out then
     * @param lentUntilMs when that had ended
     * @param fromMs when it came into force, by the ledger's time
     * @param untilMs when it was replaced
     */
    record Era(LimitAccount<?> account, long lent, long lentUntilMs, long fromMs, long untilMs) {}

    private static final long START_MS = 1_000_000_000_007L;
    private static final long NANOS_PER_MS = 1_000_000;
    private static final long MAX_STEP_MS = 3_000;
    private static final long MAX_SKEW_MS = 3_600_000;
    private static final long MAX_IDLE_MS = 20_000;

    private final Scene scene;
    private final SplittableRandom random;
    private final PriorityQueue<Event> events =
            new PriorityQueue<>(Comparator.comparingLong(Event::atMs).thenComparingLong(Event::number));
    private final List<Holder> holders = new ArrayList<>();
    private Ledger ledger;
    private final long startMs;
    private long brokerAheadMs;
    private long nowMs;
    private long ledgerBackMs = Long.MIN_VALUE;
    private long number;
    private final List<Era> eras = new ArrayList<>();
    private long eraFromMs = Long.MIN_VALUE;
    private long eraLent;
    private long eraLentUntilMs;
    private List<LimitAccount<?>> era;
    final List<Use> uses = new ArrayList<>();
    /** All requests, in the order in which they came. */
    private final List<Use> requested = new ArrayList<>();

    /** How far decision times were behind the broker's clock, and ahead of it, at most. */
    long mostBehindMs;

    long mostAheadMs;

    long requests;
    long waited;
    long denied;
    long messages;
    /** What the ledger is to be told of beside the slices. */
    long settled;

    /** A settlement that left more in use and lent than is permitted; null: none did. */
    String beyondMaxUsed;

    private record Event(long atMs, long number, Runnable what) {}

    private final class Holder {
        private final int index;
        private final double rate;
        private final long offsetMs;
        private long aheadMs; // of the wall clock
        private int lives;
        private LeaseSession session;
        private LeaseHolder<Long> leases;
        private long stillUntilMs;
        private long wakesMs;
        private long lastRequestMs;
        private long lastResponseMs;
        private long admitted;

        Holder(int index, Clocks clocks) {
            this.index = index;
            rate = 1 + clocks.drift;
            aheadMs = clocks.aheadMs;
            offsetMs = clocks.isTask ? startMs + aheadMs : 0;
            if (clocks.stepMs != 0) {
                later(startMs + scene.forMs / 2, at -> aheadMs += clocks.stepMs);
            }
            begin();
        }

        /** A new process. */
        void begin() {
            ClockStepDetector steps = new ClockStepDetector();
            session = new LeaseSession(
                    index + "/" + lives++,
                    1,
                    () -> steps.observe(() -> clock(nowMs) * NANOS_PER_MS, () -> wallClock(nowMs)));
            leases = LeaseHolder.empty(session, scene.terms);
        }

        private long wallClock(long atMs) {
            return clock(atMs) - offsetMs + startMs + aheadMs;
        }

        /** Its monotonic clock, which has nothing to do with any other. */
        long clock(long nowMs) {
            return offsetMs + (long) ((nowMs - startMs) * rate);
        }

        long when(long clockMs) {
            return clockMs == Long.MAX_VALUE ? clockMs : startMs + (long) Math.ceil((clockMs - offsetMs) / rate);
        }

        void request(long nowMs, long cost) {
            session.checkClock();
            long clockMs = clock(nowMs);
            requests++;
            requested.add(new Use(nowMs, cost));
            leases.setBook(leases.book().withDemand(cost, clockMs));
            if (!leases.hasWaiting() && isAvailable(cost, clockMs)) {
                use(cost, nowMs);
            } else {
                waited++;
                leases.park(cost, cost, clockMs + scene.maxWaitMs);
            }
            work(nowMs);
        }

        private boolean isAvailable(long cost, long clockMs) {
            LeaseBook book = leases.book();
            return cost <= book.available(clockMs, book.decisionTimeMs(clockMs));
        }

        private void use(long cost, long nowMs) {
            long clockMs = clock(nowMs);
            LeaseBook book = leases.book();
            long atMs = book.decisionTimeMs(clockMs);
            uses.add(new Use(atMs, cost));
            mostBehindMs = Math.max(mostBehindMs, nowMs + brokerAheadMs - atMs);
            mostAheadMs = Math.max(mostAheadMs, atMs - nowMs - brokerAheadMs);
            admitted += cost;
            leases.setBook(book.take(cost, clockMs, atMs));
        }

        /**
         * More was used than was requested. If less was, only a foreign holder claims a refund: the ledger ignores it.
         */
        void settle(long nowMs, long cost) {
            if (cost < 0) {
                send(nowMs, LeaseRequest.report(session.name(), List.of(), cost));
                return;
            }
            session.checkClock();
            long clockMs = clock(nowMs);
            LeaseBook book = leases.book();
            long atMs = book.decisionTimeMs(clockMs);
            long here = Math.max(0, Math.min(cost, book.available(clockMs, atMs)));
            if (here > 0) {
                uses.add(new Use(atMs, here));
            }
            settled += cost - here;
            leases.setBook(book.settle(cost, clockMs, atMs));
            work(nowMs);
        }

        void work(long nowMs) {
            session.checkClock();
            long clockMs = clock(nowMs);
            while (leases.isFirstReady(clockMs)) {
                long cost = leases.first().cost();
                if (isAvailable(cost, clockMs)) {
                    use(cost, nowMs);
                } else {
                    denied++;
                }
                leases.removeFirst();
            }
            leases.nextMessage(clockMs).ifPresent(message -> send(nowMs, message));
            wakeAt(Math.max(nowMs + 1, when(leases.dueAtMs(clockMs))), nowMs);
        }

        /** Unless it will wake before. */
        private void wakeAt(long atMs, long nowMs) {
            if (atMs <= startMs + scene.forMs + MAX_IDLE_MS && (wakesMs <= nowMs || atMs < wakesMs)) {
                wakesMs = atMs;
                later(atMs, unlessStill(this, this::work));
            }
        }

        private void send(long nowMs, LeaseRequest message) {
            messages++;
            if (happens(scene.mishaps.deaths)) {
                begin();
                return;
            }
            long comesMs = nowMs + delay();
            lastRequestMs = Math.max(lastRequestMs, comesMs); // they come in their order
            long requestMs = happens(scene.mishaps.overtakes) ? comesMs : lastRequestMs;
            int life = lives;
            for (int i = 0; i < copies(); i++) {
                later(requestMs + i * delay(), at -> append(at, message, life));
            }
        }

        /**
         * The ledger's time is that of the broker, when it appended the request; a ledger that moves reads it later.
         */
        private void append(long nowMs, LeaseRequest message, int life) {
            long appendMs = nowMs + brokerAheadMs;
            if (nowMs < ledgerBackMs) {
                later(ledgerBackMs, at -> answer(at, appendMs, message, life));
            } else {
                answer(nowMs, appendMs, message, life);
            }
        }

        private void answer(long nowMs, long appendMs, LeaseRequest message, int life) {
            List<Long> maxUsed = ledger.accounts().stream()
                    .map(account -> maxUsed(account.limit()))
                    .toList();
            List<Long> before = usedAndLent();
            Ledger.Result answer = ledger.handle(message, scene.terms, maxUsed, appendMs);
            ledger = answer.ledger();
            if (message.settled() > 0) {
                checkUsed(before);
            }
            if (answer.response() == null) {
                return;
            }
            messages++;
            long comesMs = nowMs + delay();
            lastResponseMs = Math.max(lastResponseMs, comesMs);
            long responseMs = happens(scene.mishaps.overtakes) ? comesMs : lastResponseMs;
            Step take = at -> {
                if (life == lives) {
                    session.checkClock();
                    leases.handleResponse(answer.response(), clock(at));
                    work(at);
                }
            };
            for (int i = 0; i < copies(); i++) {
                later(responseMs + i * delay(), unlessStill(this, take));
            }
        }
    }

    /** With a debt of a quarter of the limit. */
    private static long maxUsed(Limit<?> limit) {
        return limit.capacity() + limit.capacity() / 4;
    }

    /** Of each limit. */
    private List<Long> usedAndLent() {
        return ledger.accounts().stream()
                .map(account -> ledger.lent() + account.used(ledger.clockMs()))
                .toList();
    }

    /** A limit that was lowered may have more in use and lent than its maximum: then nothing is added. */
    private void checkUsed(List<Long> before) {
        List<Long> now = usedAndLent();
        for (int i = 0; i < now.size(); i++) {
            Limit<?> limit = ledger.accounts().get(i).limit();
            if (now.get(i) > Math.max(before.get(i), maxUsed(limit))) {
                beyondMaxUsed = now.get(i) + " of " + limit + " are in use and lent after a settlement, before "
                        + before.get(i);
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
        this(scene, seed, List.of());
    }

    /** @param clocks of each holder; any if there are none */
    Lending(Scene scene, long seed, List<Clocks> clocks) {
        this.scene = scene;
        random = new SplittableRandom(seed);
        List<Limit<?>> limits = scene.limits.get(0);
        startMs = limits.stream().anyMatch(CalendarWindow.class::isInstance)
                ? limits.get(0).windowEndsMs(START_MS) - scene.forMs / 2
                : START_MS;
        era = limits.stream()
                .<LimitAccount<?>>map(limit -> open(limit, startMs))
                .toList();
        ledger = Ledger.open(limits, startMs);
        ledger = new Ledger(startMs, startMs, era, List.of(), List.of(), ledger.nextLeaseId());
        for (int i = 0; i < scene.perSecond.length; i++) {
            holders.add(new Holder(i, clocks.isEmpty() ? anyClocks() : clocks.get(i)));
        }
    }

    private Clocks anyClocks() {
        double drift = scene.drift * (2 * random.nextDouble() - 1);
        return new Clocks(random.nextBoolean(), random.nextLong(-MAX_SKEW_MS, MAX_SKEW_MS + 1), 0, drift);
    }

    /** The ledger moves halfway: it reads nothing for so long. */
    Lending withMove(long ms) {
        later(startMs + scene.forMs / 2, at -> ledgerBackMs = at + ms);
        return this;
    }

    private LimitAccount<?> open(Limit<?> limit, long nowMs) {
        return shelved(LimitAccount.open(limit, nowMs));
    }

    /** Puts a log that has no shelf on one. */
    private LimitAccount<?> shelved(LimitAccount<?> account) {
        return account.limit() instanceof SlidingWindowLog log
                        && ((SlidingWindowLog.Log) account.state()).segments() == null
                ? new LimitAccount<>(log, ((SlidingWindowLog.Log) account.state()).withSegments(0, new Shelf()))
                : account;
    }

    private static final class Shelf implements SegmentStore {
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
        ledger = ledger.advancedTo(nowMs + brokerAheadMs);
        endEra(ledger.clockMs());
        List<LimitAccount<?>> next = new ArrayList<>();
        for (int i = 0; i < limits.size(); i++) {
            next.add(shelved(ledger.accounts().get(i).migrateTo(limits.get(i), ledger.clockMs())));
        }
        ledger = ledger.withAccounts(next);
        era = next;
        eraFromMs = ledger.clockMs();
        eraLent = ledger.lent();
        eraLentUntilMs = ledger.loans().stream().mapToLong(Ledger.Loan::untilMs).reduce(eraFromMs, Math::max);
    }

    private void endEra(long untilMs) {
        era.forEach(account -> eras.add(new Era(account, eraLent, eraLentUntilMs, eraFromMs, untilMs)));
    }

    /**
     * What is promised and was not kept; null: nothing. A limit that replaces another one holds for all leases that
     * were granted since then, with what was lent then; so for all, from when that has ended.
     */
    String broken() {
        endEra(Long.MAX_VALUE);
        for (Era each : eras) {
            long capacity = each.account.limit().capacity();
            String broken = brokenBy(each, Math.max(capacity, each.lent), each.fromMs + 1);
            if (broken == null && each.lent > 0) {
                broken = brokenBy(each, capacity, Math.max(each.lentUntilMs, each.fromMs + 1));
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
        if (random.nextBoolean()) {
            holder.aheadMs += random.nextLong(-MAX_SKEW_MS, MAX_SKEW_MS + 1);
        } else {
            brokerAheadMs += random.nextLong(-MAX_STEP_MS, MAX_STEP_MS + 1);
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
            Event next = events.remove();
            nowMs = next.atMs;
            next.what.run();
        }
        uses.sort(Comparator.comparingLong(Use::timeMs));
        return this;
    }

    /** Of what one that sees all requests would have admitted. */
    double share() {
        return (double) admitted() / (double) admittedByOne();
    }

    /** What the holder with the least was allowed, as a part of an even share. */
    double leastShare() {
        long least = holders.stream().mapToLong(holder -> holder.admitted).min().orElseThrow();
        return (double) least * holders.size() / admitted();
    }

    long admitted() {
        return uses.stream().mapToLong(Use::cost).sum();
    }

    private long admittedByOne() {
        LimitAccount<?> account = open(scene.limits.get(0).get(0), startMs);
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
        ledger = ledger.advancedTo(Math.max(ledger.clockMs(), startMs + scene.forMs) + ms);
        return ledger;
    }
}
