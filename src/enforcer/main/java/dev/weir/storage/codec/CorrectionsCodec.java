package dev.weir.storage.codec;

import dev.weir.limit.ContinuousBucket.Level;
import dev.weir.limit.Gcra.Arrival;
import dev.weir.limit.IntervalBucket.Steps;
import dev.weir.limit.LevelResponse;
import dev.weir.limit.Limit;
import dev.weir.limit.LimitAccount;
import dev.weir.limit.LimitChanges;
import dev.weir.limit.OpenCharges;
import dev.weir.limit.SlidingWindowCounter.Windows;
import java.util.ArrayList;
import java.util.List;

/**
 * Encodes what states hold to correct charges. A state without such charges has nothing of it.
 *
 * <pre>
 *   open charges   = n, (bits: 1 alone, then as below | number, from the previous one | first time, from the previous
 *                    last time, or back from the last charge of the state | last time − first time | size | response) × n
 *   limit changes  = time of the last charge | its number | n, (bits as below | time | number | response) × n
 *   response       = shift | least (omitted if bit 2 is set: no bound) | most (omitted if bit 4 is set: no bound)
 * </pre>
 */
public final class CorrectionsCodec {

    private static final int ALONE = 1;
    private static final int NO_LEAST = 2;
    private static final int NO_MOST = 4;

    private static final OpenCharges NO_CHARGES = new OpenCharges(List.of());

    private CorrectionsCodec() {}

    /** Returns whether a state has something to encode. */
    static boolean has(Object state) {
        return state instanceof Windows windows
                ? !windows.changes().isNone()
                : !open(state).groups().isEmpty();
    }

    /** Returns how many charges and changes of the limit a state holds to correct charges. */
    public static int size(Object state) {
        return state instanceof Windows windows
                ? windows.changes().changes().size()
                : open(state).groups().size();
    }

    private static OpenCharges open(Object state) {
        if (state instanceof Level level) {
            return level.open();
        } else if (state instanceof Arrival arrival) {
            return arrival.open();
        } else if (state instanceof Steps steps) {
            return steps.open();
        }
        return NO_CHARGES;
    }

    /** Writes what a state {@linkplain #has has}. */
    static void write(StateBytes out, Object state, long lastMs) {
        if (state instanceof Windows windows) {
            writeChanges(out, windows.changes(), lastMs);
        } else {
            writeOpen(out, open(state), lastMs);
        }
    }

    /** Returns the account with what was written of its state. */
    static LimitAccount<?> read(StateBytes in, LimitAccount<?> account, long lastMs) {
        Object state = account.state();
        if (state instanceof Windows windows) {
            return with(
                    account,
                    new Windows(windows.startMs(), windows.previous(), windows.current(), readChanges(in, lastMs)));
        } else if (state instanceof Level level) {
            return with(account, new Level(level.units(), level.atMs(), readOpen(in, lastMs)));
        } else if (state instanceof Arrival arrival) {
            return with(account, new Arrival(arrival.tatMs(), arrival.part(), readOpen(in, lastMs)));
        } else if (state instanceof Steps steps) {
            return with(account, new Steps(steps.used(), steps.stepMs(), readOpen(in, lastMs)));
        }
        throw new IllegalStateException("a state of " + account.limit() + " has charges to correct");
    }

    @SuppressWarnings("unchecked") // the state has the type of the one that it replaces
    private static <S> LimitAccount<S> with(LimitAccount<?> account, S state) {
        return new LimitAccount<>((Limit<S>) account.limit(), state);
    }

    private static void writeOpen(StateBytes out, OpenCharges open, long lastMs) {
        out.write(open.groups().size());
        long number = 0;
        long timeMs = lastMs;
        for (OpenCharges.Group group : open.groups()) {
            out.writeByte(bits(group.response()) | (group.isAlone() ? ALONE : 0));
            out.writeSigned(group.number() - number);
            out.writeSigned(group.firstMs() - timeMs);
            out.write(group.lastMs() - group.firstMs());
            out.write(group.size());
            write(out, group.response());
            number = group.number();
            timeMs = group.lastMs();
        }
    }

    private static OpenCharges readOpen(StateBytes in, long lastMs) {
        int size = (int) in.read();
        List<OpenCharges.Group> groups = new ArrayList<>();
        long number = 0;
        long timeMs = lastMs;
        for (int i = 0; i < size; i++) {
            int bits = in.readByte();
            number += in.readSigned();
            long firstMs = timeMs + in.readSigned();
            timeMs = firstMs + in.read();
            int charges = (int) in.read();
            groups.add(new OpenCharges.Group(
                    number, (bits & ALONE) != 0, firstMs, timeMs, charges, readResponse(in, bits)));
        }
        return new OpenCharges(groups);
    }

    private static void writeChanges(StateBytes out, LimitChanges changes, long lastMs) {
        out.writeSigned(changes.lastMs() - lastMs);
        out.writeSigned(changes.lastNumber());
        out.write(changes.changes().size());
        for (LimitChanges.Change change : changes.changes()) {
            out.writeByte(bits(change.response()));
            out.writeSigned(change.atMs() - lastMs);
            out.writeSigned(change.number() - changes.lastNumber());
            write(out, change.response());
        }
    }

    private static LimitChanges readChanges(StateBytes in, long lastMs) {
        long chargedMs = lastMs + in.readSigned();
        long number = in.readSigned();
        int size = (int) in.read();
        List<LimitChanges.Change> changes = new ArrayList<>();
        for (int i = 0; i < size; i++) {
            int bits = in.readByte();
            changes.add(new LimitChanges.Change(
                    lastMs + in.readSigned(), number + in.readSigned(), readResponse(in, bits)));
        }
        return new LimitChanges(chargedMs, number, changes);
    }

    private static int bits(LevelResponse response) {
        return (response.least() == -Limit.MAX_LEVEL ? NO_LEAST : 0)
                | (response.most() == Limit.MAX_LEVEL ? NO_MOST : 0);
    }

    private static void write(StateBytes out, LevelResponse response) {
        out.writeSigned(response.shift());
        if (response.least() != -Limit.MAX_LEVEL) {
            out.writeSigned(response.least());
        }
        if (response.most() != Limit.MAX_LEVEL) {
            out.writeSigned(response.most());
        }
    }

    private static LevelResponse readResponse(StateBytes in, int bits) {
        long shift = in.readSigned();
        long least = (bits & NO_LEAST) != 0 ? -Limit.MAX_LEVEL : in.readSigned();
        long most = (bits & NO_MOST) != 0 ? Limit.MAX_LEVEL : in.readSigned();
        return new LevelResponse(shift, least, most);
    }
}
