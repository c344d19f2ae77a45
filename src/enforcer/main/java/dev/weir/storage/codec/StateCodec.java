package dev.weir.storage.codec;

import dev.weir.decision.state.DelayedCharge;
import dev.weir.decision.state.PolicyState;
import dev.weir.event.LimitOverride;
import dev.weir.limit.AlignedWindow;
import dev.weir.limit.Blocked;
import dev.weir.limit.CalendarPeriod;
import dev.weir.limit.CalendarWindow;
import dev.weir.limit.Concurrency;
import dev.weir.limit.ContinuousBucket;
import dev.weir.limit.FixedWindow;
import dev.weir.limit.Gcra;
import dev.weir.limit.IntervalBucket;
import dev.weir.limit.LeakyBucket;
import dev.weir.limit.Limit;
import dev.weir.limit.LimitAccount;
import dev.weir.limit.Rate;
import dev.weir.limit.SegmentedState;
import dev.weir.limit.SlidingWindowCounter;
import dev.weir.limit.SlidingWindowLog;
import dev.weir.limit.SlidingWindowLog.Log;
import dev.weir.limit.Slots;
import dev.weir.limit.TokenBucket;
import dev.weir.limit.Unlimited;
import dev.weir.limit.segment.FullSegments;
import dev.weir.limit.segment.LogSegment;
import dev.weir.limit.segment.SegmentReader;
import java.time.DateTimeException;
import java.time.ZoneId;
import java.util.ArrayList;
import java.util.List;
import java.util.function.IntFunction;

/**
 * Encodes policy states and log segments.
 *
 * <pre>
 *   state    = version 1 | expiresAtMs, 8 bytes | lastChargeMs | n, account × n | m, log × m (retired) |
 *              lastDelayMs (omitted with all that follows if it, k and d are 0) |
 *              k, account × k (suspended; omitted with all that follows if k and d are 0) |
 *              d, delayed × d (omitted if d is 0) |
 *              what it has because of reservations, as in {@link ReservedCodec} (omitted if there is nothing; otherwise
 *              nothing before it is omitted)
 *   account  = algorithm | terms | state, with times relative to lastChargeMs |
 *              what corrects its charges (omitted if it has none; a bit of the terms) as in {@link CorrectionsCodec}
 *   delayed  = start, from the previous one or lastChargeMs | cost | 0, or 1 + limit and window of the override |
 *              bits of the accounts that it does not change
 *   log      = id (+ 2^30 if entries were corrected) | first | head − first | tail − head | oldest | expired sum |
 *              segment (the tail) | end of the corrected segments − first (omitted if no entries were corrected)
 *   segment  = sum before | size | first time | (time since the previous entry, cost) × size
 * </pre>
 *
 * <p>A state contains the terms of its limits, so that usage can be carried over when the policy changes.
 */
public final class StateCodec {

    private static final int VERSION = 1;
    private static final int COUNT_DENIED = 1;
    private static final int STRICT = 2;
    private static final int CORRECTS = 4;
    private static final long CORRECTED_LOG = 1 << 30;

    /** The algorithms of accounts. The codes are persisted. */
    private enum Algorithm {
        FIXED_WINDOW(0),
        SLIDING_WINDOW_LOG(1),
        SLIDING_WINDOW_COUNTER(2),
        TOKEN_BUCKET(3),
        LEAKY_BUCKET(4),
        GCRA(5),
        INTERVAL_BUCKET(6),
        UNLIMITED(7),
        BLOCKED(8),
        CALENDAR_WINDOW(9),
        CONCURRENCY(10);

        private static final Algorithm[] ALL = values();

        private final int code;

        Algorithm(int code) {
            this.code = code;
        }

        static Algorithm of(int code) {
            if (code < 0 || code >= ALL.length) {
                throw new IllegalStateException("a state has unknown algorithm " + code);
            }
            return ALL[code];
        }
    }

    private StateCodec() {}

    public static byte[] encode(PolicyState state) {
        StateBytes out = StateBytes.toWrite(VERSION);
        out.writeFixed(state.expiresAtMs());
        out.writeSigned(state.lastChargeMs());
        out.write(state.accounts().size());
        for (LimitAccount<?> account : state.accounts()) {
            writeAccount(out, account, state.lastChargeMs());
        }
        List<Log> logs = new ArrayList<>();
        for (SegmentedState one : state.retired()) {
            if (one instanceof Log log) {
                logs.add(log);
            }
        }
        out.write(logs.size());
        for (Log log : logs) {
            writeLog(out, log, state.lastChargeMs());
        }
        boolean hasReserved = ReservedCodec.has(state);
        boolean hasDelayed = !state.delayed().isEmpty() || hasReserved;
        boolean hasMore = hasDelayed || !state.suspended().isEmpty();
        if (state.lastDelayMs() != 0 || hasMore) {
            out.write(state.lastDelayMs());
        }
        if (hasMore) {
            out.write(state.suspended().size());
        }
        for (LimitAccount<?> account : state.suspended()) {
            writeAccount(out, account, state.lastChargeMs());
        }
        if (hasDelayed) {
            writeDelayed(out, state);
        }
        if (hasReserved) {
            ReservedCodec.write(out, state);
        }
        return out.written();
    }

    private static void writeDelayed(StateBytes out, PolicyState state) {
        out.write(state.delayed().size());
        long beforeMs = state.lastChargeMs();
        for (DelayedCharge charge : state.delayed()) {
            LimitOverride override = charge.override();
            out.write(charge.startMs() - beforeMs);
            out.write(charge.cost());
            out.write(override == null ? 0 : override.limit() + 1);
            if (override != null) {
                out.write(override.windowMs());
            }
            out.write(charge.uncounted());
            beforeMs = charge.startMs();
        }
    }

    private static List<DelayedCharge> readDelayed(StateBytes in, long lastMs) {
        int size = in.hasMore() ? (int) in.read() : 0;
        List<DelayedCharge> delayed = new ArrayList<>(size);
        long startMs = lastMs;
        for (int i = 0; i < size; i++) {
            startMs += in.read();
            long cost = in.read();
            long limit = in.read() - 1;
            LimitOverride override = limit < 0 ? null : new LimitOverride(limit, in.read());
            delayed.add(new DelayedCharge(startMs, cost, override, in.read()));
        }
        return delayed;
    }

    /** Returns when an encoded state can be deleted, without decoding the rest of it. */
    public static long expiresAtMs(byte[] state) {
        return afterVersion(state).readFixed();
    }

    /**
     * Decodes a state.
     *
     * @param readers returns what reads the full segments of a log, by the log's id
     * @throws IllegalStateException if the bytes are not a state, that is, if the store is damaged
     */
    public static PolicyState decode(byte[] state, IntFunction<SegmentReader> readers) {
        return decode(state, state.length, readers);
    }

    /** Like {@link #decode(byte[], IntFunction)}, for the first {@code length} bytes of an array. */
    public static PolicyState decode(byte[] state, int length, IntFunction<SegmentReader> readers) {
        StateBytes in = StateBytes.toRead(state, length, VERSION, "a state");
        in.readFixed();
        long lastMs = in.readSigned();
        int size = (int) in.read();
        List<LimitAccount<?>> accounts = new ArrayList<>(size);
        for (int i = 0; i < size; i++) {
            accounts.add(readAccount(in, lastMs, readers));
        }
        int logs = (int) in.read();
        List<SegmentedState> retired = new ArrayList<>(logs);
        for (int i = 0; i < logs; i++) {
            retired.add(readLog(in, lastMs, readers));
        }
        long putOffMs = in.hasMore() ? in.read() : 0;
        int others = in.hasMore() ? (int) in.read() : 0;
        List<LimitAccount<?>> suspended = new ArrayList<>(others);
        for (int i = 0; i < others; i++) {
            suspended.add(readAccount(in, lastMs, readers));
        }
        PolicyState read = new PolicyState(lastMs, putOffMs, accounts, suspended, retired, readDelayed(in, lastMs));
        return in.hasMore() ? ReservedCodec.read(in, read, readers) : read;
    }

    public static byte[] encode(LogSegment segment) {
        StateBytes out = StateBytes.toWrite(VERSION);
        writeSegment(out, segment, 0);
        return out.written();
    }

    public static LogSegment decodeSegment(byte[] segment) {
        return readSegment(afterVersion(segment), 0);
    }

    private static StateBytes afterVersion(byte[] bytes) {
        return StateBytes.toRead(bytes, VERSION, "a state");
    }

    private static void writeAccount(StateBytes out, LimitAccount<?> account, long lastMs) {
        writeUsage(out, account, lastMs);
        if (CorrectionsCodec.has(account.state())) {
            CorrectionsCodec.write(out, account.state(), lastMs);
        }
    }

    private static void writeUsage(StateBytes out, LimitAccount<?> account, long lastMs) {
        Limit<?> limit = account.limit();
        if (limit instanceof FixedWindow terms) {
            writeTerms(out, Algorithm.FIXED_WINDOW, terms.limit(), terms.perMs(), flags(account, false));
            writeWindow(out, (AlignedWindow.Window) account.state(), lastMs);
        } else if (limit instanceof CalendarWindow terms) {
            writeTerms(out, Algorithm.CALENDAR_WINDOW, terms.limit(), code(terms.period()), flags(account, false));
            out.write(terms.zone().getId());
            writeWindow(out, (AlignedWindow.Window) account.state(), lastMs);
        } else if (limit instanceof SlidingWindowLog terms) {
            writeTerms(out, Algorithm.SLIDING_WINDOW_LOG, terms.limit(), terms.perMs(), flags(account, false));
            writeLog(out, (Log) account.state(), lastMs);
        } else if (limit instanceof SlidingWindowCounter terms) {
            SlidingWindowCounter.Windows state = (SlidingWindowCounter.Windows) account.state();
            int flags = flags(account, terms.strict());
            writeTerms(out, Algorithm.SLIDING_WINDOW_COUNTER, terms.limit(), terms.perMs(), flags);
            out.write(lastMs - state.startMs());
            out.write(state.previous());
            out.write(state.current());
        } else if (limit instanceof ContinuousBucket terms) {
            ContinuousBucket.Level state = (ContinuousBucket.Level) account.state();
            boolean leaky = terms instanceof LeakyBucket;
            writeRate(
                    out, leaky ? Algorithm.LEAKY_BUCKET : Algorithm.TOKEN_BUCKET, terms.rate(), flags(account, false));
            out.write(terms.burst());
            out.write(state.units());
            out.writeSigned(lastMs - state.atMs());
        } else if (limit instanceof Gcra terms) {
            Gcra.Arrival state = (Gcra.Arrival) account.state();
            writeRate(out, Algorithm.GCRA, terms.rate(), flags(account, false));
            out.write(terms.burst());
            out.writeSigned(state.tatMs() - lastMs);
            out.write(state.part());
        } else if (limit instanceof IntervalBucket terms) {
            IntervalBucket.Steps state = (IntervalBucket.Steps) account.state();
            writeTerms(out, Algorithm.INTERVAL_BUCKET, terms.tokens(), terms.perMs(), flags(account, false));
            out.write(terms.burst());
            out.write(state.used());
            out.write(lastMs - state.stepMs());
        } else if (limit instanceof Concurrency terms) {
            writeTerms(out, Algorithm.CONCURRENCY, terms.limit(), terms.ttlMs(), flags(account, false));
            ReservedCodec.writeSlots(out, (Slots) account.state(), lastMs);
        } else if (limit instanceof Unlimited) {
            out.writeByte(Algorithm.UNLIMITED.code);
        } else if (limit instanceof Blocked) {
            out.writeByte(Algorithm.BLOCKED.code);
        } else {
            throw new IllegalStateException("the encoding does not support " + limit);
        }
    }

    private static LimitAccount<?> readAccount(StateBytes in, long lastMs, IntFunction<SegmentReader> readers) {
        Algorithm algorithm = Algorithm.of(in.readByte());
        if (algorithm == Algorithm.UNLIMITED) {
            return LimitAccount.open(new Unlimited(), lastMs);
        }
        if (algorithm == Algorithm.BLOCKED) {
            return LimitAccount.open(new Blocked(), lastMs);
        }
        int flags = in.readByte();
        LimitAccount<?> account = readUsage(in, algorithm, flags, lastMs, readers);
        return (flags & CORRECTS) != 0 ? CorrectionsCodec.read(in, account, lastMs) : account;
    }

    private static LimitAccount<?> readUsage(
            StateBytes in, Algorithm algorithm, int flags, long lastMs, IntFunction<SegmentReader> readers) {
        boolean countDenied = (flags & COUNT_DENIED) != 0;
        long limit = in.read();
        long perMs = in.read(); // for a calendar window, the code of its period
        return switch (algorithm) {
            case FIXED_WINDOW -> new LimitAccount<>(new FixedWindow(limit, perMs, countDenied), readWindow(in, lastMs));
            case CALENDAR_WINDOW ->
                new LimitAccount<>(
                        new CalendarWindow(limit, period(perMs), zone(in.readText()), countDenied),
                        readWindow(in, lastMs));
            case SLIDING_WINDOW_LOG ->
                new LimitAccount<>(new SlidingWindowLog(limit, perMs, countDenied), readLog(in, lastMs, readers));
            case SLIDING_WINDOW_COUNTER ->
                new LimitAccount<>(
                        new SlidingWindowCounter(limit, perMs, (flags & STRICT) != 0, countDenied),
                        new SlidingWindowCounter.Windows(lastMs - in.read(), in.read(), in.read()));
            case TOKEN_BUCKET ->
                new LimitAccount<>(
                        new TokenBucket(Rate.of(limit, perMs), in.read(), countDenied), readLevel(in, lastMs));
            case LEAKY_BUCKET ->
                new LimitAccount<>(
                        new LeakyBucket(Rate.of(limit, perMs), in.read(), countDenied), readLevel(in, lastMs));
            case GCRA ->
                new LimitAccount<>(
                        new Gcra(Rate.of(limit, perMs), in.read(), countDenied),
                        new Gcra.Arrival(lastMs + in.readSigned(), in.read()));
            case CONCURRENCY ->
                new LimitAccount<>(new Concurrency(limit, perMs), ReservedCodec.readSlots(in, lastMs, readers));
            default ->
                new LimitAccount<>(
                        new IntervalBucket(limit, perMs, in.read(), countDenied),
                        new IntervalBucket.Steps(in.read(), lastMs - in.read()));
        };
    }

    private static void writeWindow(StateBytes out, AlignedWindow.Window window, long lastMs) {
        out.write(lastMs - window.startMs());
        out.write(window.count());
    }

    private static AlignedWindow.Window readWindow(StateBytes in, long lastMs) {
        return new AlignedWindow.Window(lastMs - in.read(), in.read());
    }

    /** Returns the code of a period. The codes are persisted. */
    private static int code(CalendarPeriod period) {
        return switch (period) {
            case DAY -> 0;
            case WEEK -> 1;
            case MONTH -> 2;
        };
    }

    private static CalendarPeriod period(long code) {
        for (CalendarPeriod period : CalendarPeriod.values()) {
            if (code(period) == code) {
                return period;
            }
        }
        throw new IllegalStateException("a state has unknown calendar period " + code);
    }

    private static ZoneId zone(String id) {
        try {
            return ZoneId.of(id);
        } catch (DateTimeException e) {
            throw new IllegalStateException("a state has time zone '" + id + "', which this JDK does not support", e);
        }
    }

    private static ContinuousBucket.Level readLevel(StateBytes in, long lastMs) {
        return new ContinuousBucket.Level(in.read(), lastMs - in.readSigned());
    }

    private static void writeRate(StateBytes out, Algorithm algorithm, Rate rate, int flags) {
        writeTerms(out, algorithm, rate.tokens(), rate.perMs(), flags);
    }

    private static void writeTerms(StateBytes out, Algorithm algorithm, long limit, long perMs, int flags) {
        out.writeByte(algorithm.code);
        out.writeByte(flags);
        out.write(limit);
        out.write(perMs);
    }

    private static int flags(LimitAccount<?> account, boolean strict) {
        return (account.limit().countDenied() ? COUNT_DENIED : 0)
                | (strict ? STRICT : 0)
                | (CorrectionsCodec.has(account.state()) ? CORRECTS : 0);
    }

    private static void writeLog(StateBytes out, Log log, long lastMs) {
        if (!log.isStored()) {
            throw new IllegalStateException("a log is written before its segments");
        }
        long correctedEnd = log.segments().correctedEnd();
        out.write(correctedEnd > 0 ? log.id() + CORRECTED_LOG : log.id());
        out.write(log.segments().first());
        out.write(log.headNumber() - log.segments().first());
        out.write(log.segments().end() - log.headNumber());
        out.writeSigned(lastMs - log.oldestMs());
        out.writeSigned(log.expiredSum());
        writeSegment(out, log.tail(), lastMs);
        if (correctedEnd > 0) {
            out.write(correctedEnd - log.segments().first());
        }
    }

    private static Log readLog(StateBytes in, long lastMs, IntFunction<SegmentReader> readers) {
        long id = in.read();
        int logId = (int) (id & CORRECTED_LOG - 1);
        long first = in.read();
        long head = first + in.read();
        long tailNumber = head + in.read();
        long oldestMs = lastMs - in.readSigned();
        long gone = in.readSigned();
        LogSegment tail = readSegment(in, lastMs);
        long correctedEnd = (id & CORRECTED_LOG) != 0 ? first + in.read() : 0;
        FullSegments segments = FullSegments.stored(readers.apply(logId), first, tailNumber, correctedEnd);
        return new Log(logId, segments, head, gone, oldestMs, tail);
    }

    private static void writeSegment(StateBytes out, LogSegment segment, long fromMs) {
        out.writeSigned(segment.sum(-1));
        out.write(segment.size());
        long beforeMs = fromMs;
        for (int i = 0; i < segment.size(); i++) {
            if (i == 0) {
                out.writeSigned(segment.timeMs(0) - beforeMs);
            } else {
                out.write(segment.timeMs(i) - beforeMs);
            }
            out.write(segment.sum(i) - segment.sum(i - 1));
            beforeMs = segment.timeMs(i);
        }
    }

    private static LogSegment readSegment(StateBytes in, long fromMs) {
        long sum = in.readSigned();
        long sumBefore = sum;
        int size = (int) in.read();
        long[] timesMs = new long[size];
        long[] sums = new long[size];
        long timeMs = fromMs;
        for (int i = 0; i < size; i++) {
            timeMs += i == 0 ? in.readSigned() : in.read();
            sum += in.read();
            timesMs[i] = timeMs;
            sums[i] = sum;
        }
        return LogSegment.of(sumBefore, timesMs, sums);
    }
}
