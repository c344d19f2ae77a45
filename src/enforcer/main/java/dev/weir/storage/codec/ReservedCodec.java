package dev.weir.storage.codec;

import dev.weir.decision.state.DelayedCharge;
import dev.weir.decision.state.PolicyState;
import dev.weir.decision.state.ReservedUse;
import dev.weir.limit.SegmentedState;
import dev.weir.limit.Slots;
import dev.weir.limit.segment.LogSegment;
import dev.weir.limit.segment.SegmentReader;
import java.util.ArrayList;
import java.util.List;
import java.util.function.IntFunction;

/**
 * Encodes slots, and what a state has because of reservations. A state without any has nothing of it.
 *
 * <pre>
 *   reserved = end of the last reservation | n, origin × n | reservation of each delayed charge, 0 for none |
 *              m, slots × m (retired)
 *   slots    = id | level | time until which ends have passed | ends (recent) | ends (root)
 *   ends     = size | first time | (time since the previous one, count) × size
 * </pre>
 */
final class ReservedCodec {

    private ReservedCodec() {}

    /** Returns whether a state has something to encode. */
    static boolean has(PolicyState state) {
        return !state.reserved().equals(ReservedUse.NONE)
                || state.retired().stream().anyMatch(Slots.class::isInstance)
                || state.delayed().stream().anyMatch(charge -> charge.reservation() != 0);
    }

    /** Writes what a state {@linkplain #has has}. */
    static void write(StateBytes out, PolicyState state) {
        ReservedUse reserved = state.reserved();
        out.writeSigned(reserved.untilMs());
        out.write(reserved.origins().size());
        reserved.origins().forEach(out::write);
        state.delayed().forEach(charge -> out.write(charge.reservation()));
        List<SegmentedState> slots =
                state.retired().stream().filter(Slots.class::isInstance).toList();
        out.write(slots.size());
        slots.forEach(one -> writeSlots(out, (Slots) one, state.lastChargeMs()));
    }

    /** Returns a state with what was written of it. */
    static PolicyState read(StateBytes in, PolicyState state, IntFunction<SegmentReader> readers) {
        long untilMs = in.readSigned();
        int size = (int) in.read();
        List<Long> origins = new ArrayList<>(size);
        for (int i = 0; i < size; i++) {
            origins.add(in.read());
        }
        List<DelayedCharge> delayed = new ArrayList<>(state.delayed().size());
        for (DelayedCharge charge : state.delayed()) {
            delayed.add(new DelayedCharge(
                    charge.startMs(), charge.cost(), charge.override(), charge.uncounted(), in.read()));
        }
        List<SegmentedState> retired = new ArrayList<>(state.retired());
        for (int left = (int) in.read(); left > 0; left--) {
            retired.add(readSlots(in, state.lastChargeMs(), readers));
        }
        return new PolicyState(
                state.lastChargeMs(),
                state.lastDelayMs(),
                state.accounts(),
                state.suspended(),
                retired,
                delayed,
                new ReservedUse(untilMs, origins));
    }

    static void writeSlots(StateBytes out, Slots slots, long lastMs) {
        if (!slots.isStored()) {
            throw new IllegalStateException("slots are written before their nodes");
        }
        out.write(slots.id());
        out.write(slots.level());
        out.writeSigned(slots.endedMs() - lastMs);
        writeEnds(out, slots.recent(), lastMs);
        writeEnds(out, slots.root(), lastMs);
    }

    static Slots readSlots(StateBytes in, long lastMs, IntFunction<SegmentReader> readers) {
        int id = (int) in.read();
        int level = (int) in.read();
        long endedMs = lastMs + in.readSigned();
        LogSegment recent = readEnds(in, lastMs);
        return Slots.stored(id, recent, readEnds(in, lastMs), level, endedMs, readers.apply(id));
    }

    private static void writeEnds(StateBytes out, LogSegment ends, long fromMs) {
        out.write(ends.size());
        long beforeMs = fromMs;
        for (int i = 0; i < ends.size(); i++) {
            out.writeSigned(ends.timeMs(i) - beforeMs);
            out.writeSigned(ends.sum(i) - ends.sum(i - 1));
            beforeMs = ends.timeMs(i);
        }
    }

    private static LogSegment readEnds(StateBytes in, long fromMs) {
        int size = (int) in.read();
        long[] timesMs = new long[size];
        long[] sums = new long[size];
        long timeMs = fromMs;
        long sum = 0;
        for (int i = 0; i < size; i++) {
            timeMs += in.readSigned();
            sum += in.readSigned();
            timesMs[i] = timeMs;
            sums[i] = sum;
        }
        return LogSegment.of(0, timesMs, sums);
    }
}
