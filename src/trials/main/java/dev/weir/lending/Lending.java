package dev.weir.lending;

import dev.weir.lease.LeaseRequest;
import dev.weir.lease.LeaseTerms;
import dev.weir.lease.holder.ClockStepDetector;
import dev.weir.lease.holder.LeaseBook;
import dev.weir.lease.holder.LeaseHolder;
import dev.weir.lease.holder.LeasePart;
import dev.weir.lease.holder.LeaseSession;
import dev.weir.lease.holder.LentSlots;
import dev.weir.lease.ledger.Ledger;
import dev.weir.lease.ledger.OutstandingLease;
import dev.weir.limit.AdmittedUse;
import dev.weir.limit.CalendarWindow;
import dev.weir.limit.Concurrency;
import dev.weir.limit.Limit;
import dev.weir.limit.LimitAccount;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.PriorityQueue;
import java.util.SplittableRandom;

/**
 * A ledger and its lease holders on a virtual clock. Each holder has its own monotonic and wall clock, messages are
 * delayed, requests wait for leases, and {@link Mishaps} happen.
 */
final class Lending {

    /**
     * The parameters of a run.
     *
     * @param limits the sets of limits that are in force together, one set after the other, each for the same time
     * @param delayMs the maximum delay of a message
     * @param drift the maximum difference between the rates of holders' monotonic clocks and
     *     the broker's, as a fraction
     * @param maxWaitMs how long a request waits for a lease
     */
    record Scene(
            List<List<Limit<?>>> limits,
            LeaseTerms terms,
            Arrivals arrivals,
            long delayMs,
            double drift,
            long maxWaitMs,
            Mishaps mishaps) {}

    /**
     * The requests of a run.
     *
     * @param perSecond requests a second, by holder
     * @param maxCost the maximum cost of a request, which is random from 1 on
     * @param forMs for how long requests arrive
     */
    @SuppressWarnings("ArrayRecordComponent") // never compared
    record Arrivals(double[] perSecond, int maxCost, long forMs) {}

    /**
     * The frequencies of disturbances, per thousand requests or messages.
     *
     * @param standstills requests at which their holder is paused
     * @param losses messages that are lost; as many others are duplicated
     * @param deaths messages before which their holder dies and restarts without state
     * @param steps requests at which the wall clock of their holder is stepped, or a broker with
     *     another clock becomes leader
     * @param settles requests at which more usage is settled, or a foreign holder sends a refund to the ledger
     * @param overtakes messages that may arrive before messages that were sent earlier
     * @param reserves requests with a reservation, which later turns out to cost less
     */
    record Mishaps(int standstills, int losses, int deaths, int steps, int settles, int overtakes, int reserves) {
        static final Mishaps NONE = new Mishaps(0, 0, 0, 0, 0, 0, 0);
    }

    /**
     * The clocks of a holder's machine.
     *
     * @param isTask whether the monotonic clock starts with the wall clock, as in a stream
     *     task, or at 0, as in a client
     * @param aheadMs by how much the wall clock is ahead of the broker's at the start
     * @param stepMs the step of the wall clock halfway through the run
     * @param drift the difference between the rates of the monotonic clock and the broker's, as a fraction
     */
    record Clocks(boolean isTask, long aheadMs, long stepMs, double drift) {}

    /**
     * A limit during the time in which it was in force.
     *
     * @param account the account of the limit at the start
     * @param lent the amount that was lent at the start
     * @param lentUntilMs when the leases of that amount had ended
     * @param fromMs the start, in ledger time
     * @param untilMs when the limit was replaced, in ledger time
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
    final List<AdmittedUse> uses = new ArrayList<>();
    /** All requests, in the order of their arrival. */
    private final List<AdmittedUse> requested = new ArrayList<>();

    /** By how much decision times were behind and ahead of the broker's clock at most. */
    long mostBehindMs;

    long mostAheadMs;

    long requests;
    long waited;
    long denied;
    long messages;
    long refunds;
    long freed;
    final SlotUses slots = new SlotUses();
    /** The settled amount that must be reported to the ledger besides the use of leases. */
    long settled;

    /** A settlement after which more was in use and lent than permitted, null if there was none. */
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
                later(startMs + scene.arrivals.forMs / 2, at -> aheadMs += clocks.stepMs);
            }
            begin();
        }

        /** Starts a new process without state. */
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

        /** Returns the monotonic clock, which is independent of all other clocks. */
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
            requested.add(new AdmittedUse(nowMs, cost));
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
            if (scene.terms.lendsSlots()) {
                useSlots(cost, atMs, nowMs);
                return;
            }
            uses.add(new AdmittedUse(atMs, cost));
            mostBehindMs = Math.max(mostBehindMs, nowMs + brokerAheadMs - atMs);
            mostAheadMs = Math.max(mostAheadMs, atMs - nowMs - brokerAheadMs);
            admitted += cost;
            if (happens(scene.mishaps.reserves)) {
                reserve(cost, atMs, nowMs);
            } else {
                leases.setBook(book.take(cost, clockMs, atMs));
            }
        }

        /** Takes slots, which are freed before or after their end, if the holder still knows then. */
        private void useSlots(long count, long atMs, long nowMs) {
            long ttlMs = ((Concurrency) scene.limits.get(0).get(0)).ttlMs();
            long slotMs = random.nextBoolean() ? ttlMs : 1 + random.nextLong(ttlMs);
            LeaseBook before = leases.book();
            LeaseBook after = before.reserveSlots(count, clock(nowMs), atMs, atMs + slotMs);
            leases.setBook(after);
            LentSlots taken = new LentSlots(number++, after.takenSince(before), atMs, atMs + slotMs);
            SlotUses.SlotInterval use = slots.add(count, atMs, atMs + slotMs);
            int life = lives;
            later(nowMs + random.nextLong(2 * Math.min(slotMs, 2_000)), unlessStill(this, at -> {
                session.checkClock();
                if (life == lives) {
                    LeaseBook book = leases.book();
                    use.freeAt(Math.min(ledger.clockMs(), book.decisionTimeMs(clock(at)))); // clocks can be stepped
                    freed++;
                    leases.setBook(book.free(taken, leases.terms(), clock(at)));
                    work(at);
                }
            }));
        }

        /** Reserves a cost that turns out to be smaller within two terms, if the holder still knows then. */
        private void reserve(long cost, long atMs, long nowMs) {
            LeaseBook before = leases.book();
            LeaseBook after = before.reserve(cost, clock(nowMs), atMs);
            leases.setBook(after);
            List<LeasePart> parts = after.takenSince(before);
            long less = random.nextLong(cost + 1);
            AdmittedUse refunded = new AdmittedUse(atMs, -less);
            int life = lives;
            later(nowMs + random.nextLong(2 * scene.terms.termMs() + 1), unlessStill(this, at -> {
                session.checkClock();
                if (life == lives) {
                    uses.add(refunded);
                    refunds++;
                    leases.setBook(leases.book().refund(parts, less, atMs, leases.terms(), clock(at)));
                    work(at);
                }
            }));
        }

        /**
         * Settles usage beyond the requested cost. A negative cost is sent to the ledger as a refund by a foreign
         * holder, which the ledger ignores.
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
                uses.add(new AdmittedUse(atMs, here));
            }
            settled += cost - here;
            leases.setBook(book.settle(cost, clockMs, atMs));
            work(nowMs);
        }

        void work(long nowMs) {
            session.checkClock();
            long clockMs = clock(nowMs);
            while (leases.isFirstReady(leases.takers(), clockMs)) {
                long cost = leases.takers().first().cost();
                if (isAvailable(cost, clockMs)) {
                    use(cost, nowMs);
                } else {
                    denied++;
                }
                leases.takers().removeFirst();
            }
            leases.nextMessage(clockMs).ifPresent(message -> send(nowMs, message));
            wakeAt(Math.max(nowMs + 1, when(leases.dueAtMs(clockMs))), nowMs);
        }

        /** Schedules a wake-up, unless there is an earlier one. */
        private void wakeAt(long atMs, long nowMs) {
            if (atMs <= startMs + scene.arrivals.forMs + MAX_IDLE_MS && (wakesMs <= nowMs || atMs < wakesMs)) {
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
            lastRequestMs = Math.max(lastRequestMs, comesMs); // requests arrive in order
            long requestMs = happens(scene.mishaps.overtakes) ? comesMs : lastRequestMs;
            int life = lives;
            for (int i = 0; i < copies(); i++) {
                later(requestMs + i * delay(), at -> append(at, message, life));
            }
        }

        /**
         * Appends a request. The ledger's time is the append time by the broker's clock, even if the ledger is moving
         * and reads the request later.
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

    /** Returns the maximum usage, which includes a debt of a quarter of the limit. */
    private static long maxUsed(Limit<?> limit) {
        return limit.capacity() + limit.capacity() / 4;
    }

    /** Returns the amount in use and lent, for each limit. */
    private List<Long> usedAndLent() {
        return ledger.accounts().stream()
                .map(account -> ledger.lent() + account.used(ledger.clockMs()))
                .toList();
    }

    /**
     * Checks that a settlement does not exceed the maximum usage. A limit that was lowered may be above it already;
     * then nothing may be added.
     */
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

    /** Returns how many copies of a message arrive: none if it is lost, two if it is duplicated. */
    private int copies() {
        return happens(scene.mishaps.losses) ? 0 : happens(scene.mishaps.losses) ? 2 : 1;
    }

    /** An action at a scheduled time. */
    private interface Step {
        void at(long nowMs);
    }

    Lending(Scene scene, long seed) {
        this(scene, seed, List.of());
    }

    /** @param clocks the clocks of the holders; random ones if empty */
    Lending(Scene scene, long seed, List<Clocks> clocks) {
        this.scene = scene;
        random = new SplittableRandom(seed);
        List<Limit<?>> limits = scene.limits.get(0);
        startMs = limits.stream().anyMatch(CalendarWindow.class::isInstance)
                ? limits.get(0).windowEndMs(START_MS).getAsLong() - scene.arrivals.forMs / 2
                : START_MS;
        era = limits.stream()
                .<LimitAccount<?>>map(limit -> LimitAccount.open(limit, startMs))
                .toList();
        ledger = Ledger.open(limits, startMs);
        ledger = ledger.withAccounts(era);
        for (int i = 0; i < scene.arrivals.perSecond.length; i++) {
            holders.add(new Holder(i, clocks.isEmpty() ? anyClocks() : clocks.get(i)));
        }
    }

    private Clocks anyClocks() {
        double drift = scene.drift * (2 * random.nextDouble() - 1);
        return new Clocks(random.nextBoolean(), random.nextLong(-MAX_SKEW_MS, MAX_SKEW_MS + 1), 0, drift);
    }

    /** Moves the ledger halfway through the run: it reads nothing for {@code ms}. */
    Lending withMove(long ms) {
        later(startMs + scene.arrivals.forMs / 2, at -> ledgerBackMs = at + ms);
        return this;
    }

    private void change(long nowMs, List<Limit<?>> limits) {
        ledger = ledger.advancedTo(nowMs + brokerAheadMs);
        endEra(ledger.clockMs());
        List<LimitAccount<?>> next = new ArrayList<>();
        for (int i = 0; i < limits.size(); i++) {
            next.add(ledger.accounts().get(i).migrateTo(limits.get(i), ledger.clockMs()));
        }
        ledger = ledger.withAccounts(next);
        era = next;
        eraFromMs = ledger.clockMs();
        eraLent = ledger.lent();
        eraLentUntilMs =
                ledger.leases().stream().mapToLong(OutstandingLease::untilMs).reduce(eraFromMs, Math::max);
    }

    private void endEra(long untilMs) {
        era.forEach(account -> eras.add(new Era(account, eraLent, eraLentUntilMs, eraFromMs, untilMs)));
    }

    /**
     * Returns the first violation of a limit, null if there is none. Until the leases of a replaced limit have
     * ended, the use is bounded by the new limit or by the amount that was lent at the change, whichever is
     * greater; then by the new limit.
     */
    String broken() {
        endEra(Long.MAX_VALUE);
        for (Era each : eras) {
            long capacity = each.account.limit().capacity();
            Optional<String> excess = excess(each, Math.max(capacity, each.lent), each.fromMs + 1);
            if (excess.isEmpty() && each.lent > 0) {
                excess = excess(each, capacity, Math.max(each.lentUntilMs, each.fromMs + 1));
            }
            if (excess.isPresent()) {
                return each.account.limit() + ": " + excess.get();
            }
        }
        return null;
    }

    private Optional<String> excess(Era each, long most, long fromMs) {
        List<AdmittedUse> then = uses.stream()
                .filter(use -> use.timeMs() >= fromMs && use.timeMs() < each.untilMs)
                .toList();
        return AdmittedUse.excess(each.account, most, then);
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

    /** Delays a step until its holder is no longer paused. */
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
        if (atMs >= startMs + scene.arrivals.forMs) {
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
                long more = random.nextLong(-2L * scene.arrivals.maxCost, 10L * scene.arrivals.maxCost);
                unlessStill(holder, at -> holder.settle(at, more)).at(now);
            }
            long cost = 1 + random.nextLong(scene.arrivals.maxCost);
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
            later(startMs + i * scene.arrivals.forMs / scene.limits.size(), now -> change(now, limits));
        }
        for (int i = 0; i < holders.size(); i++) {
            if (scene.arrivals.perSecond[i] > 0) {
                arrive(holders.get(i), scene.arrivals.perSecond[i]);
            }
        }
        return on(0);
    }

    /** Continues the run until {@code ms} after the end of the requests. */
    Lending on(long ms) {
        while (!events.isEmpty() && events.peek().atMs <= startMs + scene.arrivals.forMs + ms) {
            Event next = events.remove();
            nowMs = next.atMs;
            next.what.run();
        }
        uses.sort(Comparator.comparingLong(AdmittedUse::timeMs));
        return this;
    }

    /** Returns the admitted cost, as a fraction of what a single limiter would have admitted. */
    double share() {
        return (double) admitted() / (double) admittedByOne();
    }

    /** Returns the cost that was admitted by the holder with the least, as a fraction of an even share. */
    double leastShare() {
        long least = holders.stream().mapToLong(holder -> holder.admitted).min().orElseThrow();
        return (double) least * holders.size() / admitted();
    }

    long admitted() {
        return uses.stream().mapToLong(AdmittedUse::cost).sum();
    }

    private long admittedByOne() {
        LimitAccount<?> account = LimitAccount.open(scene.limits.get(0).get(0), startMs);
        long admitted = 0;
        long lastMs = startMs;
        for (AdmittedUse request : requested) {
            lastMs = Math.max(lastMs, request.timeMs());
            if (account.permits(request.cost(), lastMs)) {
                account = account.charge(request.cost(), lastMs);
                admitted += request.cost();
            }
        }
        return admitted;
    }

    /**
     * Returns the ledger {@code ms} after the end of the requests. Once all leases have ended, all
     * unused quota is free again.
     */
    Ledger after(long ms) {
        ledger = ledger.advancedTo(Math.max(ledger.clockMs(), startMs + scene.arrivals.forMs) + ms);
        return ledger;
    }
}
