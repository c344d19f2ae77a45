package dev.weir.storage.codec;

import dev.weir.decision.state.BoundedReservations.ExpiryEntry;
import dev.weir.decision.state.FirstAnswer;
import dev.weir.decision.state.HeldCharge;
import dev.weir.decision.state.ReservationRecord;
import dev.weir.decision.state.ReservationSummary;
import dev.weir.event.RequestKind;
import dev.weir.event.StateKey;
import dev.weir.lease.holder.LeasePart;
import dev.weir.policy.RequestKey;
import dev.weir.storage.codec.ReservationEntry.Bounds;
import dev.weir.storage.codec.ReservationEntry.Expiries;
import dev.weir.storage.codec.ReservationEntry.Reserved;
import dev.weir.wire.KeyCodec;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;

/**
 * Encodes the store of reservations. Numbers are encoded as in {@link StateBytes}; signed ones are marked ±.
 *
 * <pre>
 *   reservation  version  number  cost  from±  duration  flags
 *                kind of its end  actual cost  end± (flag 1)
 *                n, charge × n  [content, 32 bytes  length  answer] (flag 2)
 *   charge       key  observes  charged at±  slot duration  m, origin × m
 *                key  observes + 2  used at±  m, (lease id  tokens  reports) × m
 *                [slot duration  their end±] (observes + 6)
 *   expiries     version  n, (number  end±  client  request id) × n
 *   bounds       version  next number  observed  earliest±  earliest before±  n, (lane  first  end) × n
 * </pre>
 *
 * <p>Answers are encoded as in {@link IdempotentAnswerCodec}.
 */
public final class ReservationCodec implements WriteBackCodec<byte[], ReservationEntry> {

    private static final int VERSION = 1;
    private static final int ENDED = 1;
    private static final int ANSWERED = 2;
    private static final int OBSERVES = 1;
    private static final int LEASED = 2;
    private static final int SLOTS = 4;

    private static final byte[] BOUNDS_KEY = {2};
    private static final int EXPIRIES_BYTES = 64;
    private static final int BYTES_PER_EXPIRY = 64; // without the key, which reservations share while they are new
    private static final int BYTES_OF_KEY = 160;

    private final IdempotentAnswerCodec answers = new IdempotentAnswerCodec();

    /** Returns the key of a reservation. */
    public static byte[] key(RequestKey reservation) {
        return KeyCodec.encode(reservation);
    }

    /** Returns the key of expiry entries. */
    public static byte[] expiriesKey(long block) {
        return KeyCodec.encodeNumber(block);
    }

    /** Returns the key of the bounds of the expiry queues. */
    public static byte[] boundsKey() {
        return BOUNDS_KEY.clone();
    }

    /** Returns whether a key is that of a reservation. */
    public static boolean isReservation(byte[] key) {
        return key.length > 1 && !KeyCodec.isNumber(key);
    }

    @Override
    public byte[] encodeKey(byte[] key) {
        return key;
    }

    @Override
    public byte[] encode(ReservationEntry entry) {
        StateBytes out = StateBytes.toWrite(VERSION);
        if (entry instanceof Reserved reserved) {
            write(out, reserved.reservation());
        } else if (entry instanceof Expiries expiries) {
            write(out, expiries);
        } else {
            write(out, ((Bounds) entry).summary());
        }
        return out.written();
    }

    @Override
    public ReservationEntry decode(byte[] key, byte[] value, int length) {
        StateBytes in = StateBytes.toRead(value, length, VERSION, "an entry of the store of reservations");
        if (KeyCodec.isNumber(key)) {
            return readExpiries(in);
        }
        return isReservation(key) ? new Reserved(readReservation(in)) : new Bounds(readBounds(in));
    }

    /** Decodes the value of a key. */
    public ReservationEntry decode(byte[] key, byte[] value) {
        return decode(key, value, value.length);
    }

    // Entries are added to the expiries and taken from them one by one.
    @Override
    public boolean isKeptDecoded(ReservationEntry entry) {
        return !(entry instanceof Reserved);
    }

    @Override
    public int heapBytes(ReservationEntry entry) {
        return EXPIRIES_BYTES
                + (entry instanceof Expiries expiries
                        ? expiries.entries().size() * (BYTES_PER_EXPIRY + BYTES_OF_KEY)
                        : 0);
    }

    private void write(StateBytes out, ReservationRecord reservation) {
        out.write(reservation.number());
        out.write(reservation.cost());
        out.writeSigned(reservation.fromMs());
        out.write(reservation.durationMs());
        out.writeByte((reservation.ending().isPresent() ? ENDED : 0)
                | (reservation.first().isPresent() ? ANSWERED : 0));
        reservation.ending().ifPresent(how -> {
            out.write(how.kind().name());
            out.write(how.cost());
            out.writeSigned(how.atMs());
        });
        out.write(reservation.held().size());
        reservation.held().forEach(held -> write(out, held));
        reservation.first().ifPresent(first -> {
            IdempotentAnswerCodec.write(first.content(), out);
            out.write(encoded(first));
        });
    }

    private byte[] encoded(FirstAnswer first) {
        if (first instanceof EncodedFirstAnswer encoded) {
            return encoded.encoded();
        }
        StateBytes out = StateBytes.toWritePart();
        answers.write(first.answer(), out);
        return out.written();
    }

    private static void write(StateBytes out, HeldCharge held) {
        out.write(KeyCodec.encode(held.key()));
        boolean hasSlots =
                held instanceof HeldCharge.Leased leased && leased.slots().isPresent();
        out.writeByte((held.observes() ? OBSERVES : 0)
                | (held instanceof HeldCharge.Leased ? LEASED : 0)
                | (hasSlots ? SLOTS : 0));
        if (held instanceof HeldCharge.Leased leased) {
            out.writeSigned(leased.chargedAtMs());
            out.write(leased.parts().size());
            for (LeasePart part : leased.parts()) {
                out.write(part.leaseId());
                out.write(part.tokens());
                out.write(part.reports());
            }
            leased.slots().ifPresent(slots -> {
                out.write(slots.slotMs());
                out.writeSigned(slots.endMs());
            });
        } else if (held instanceof HeldCharge.Counted counted) {
            out.writeSigned(counted.chargedAtMs());
            out.write(counted.slotMs());
            out.write(counted.origins().size());
            counted.origins().forEach(out::write);
        }
    }

    private ReservationRecord readReservation(StateBytes in) {
        long number = in.read();
        long cost = in.read();
        long fromMs = in.readSigned();
        long durationMs = in.read();
        int flags = in.readByte();
        Optional<ReservationRecord.Ending> ending = (flags & ENDED) == 0
                ? Optional.empty()
                : Optional.of(
                        new ReservationRecord.Ending(RequestKind.valueOf(in.readText()), in.read(), in.readSigned()));
        List<HeldCharge> held = new ArrayList<>();
        for (long left = in.read(); left > 0; left--) {
            held.add(readCharge(in));
        }
        Optional<FirstAnswer> first = (flags & ANSWERED) == 0
                ? Optional.empty()
                : Optional.of(new EncodedFirstAnswer(IdempotentAnswerCodec.readContent(in), in.readBytes(), answers));
        return new ReservationRecord(number, first, cost, fromMs, durationMs, held, ending);
    }

    private static HeldCharge readCharge(StateBytes in) {
        StateKey key = KeyCodec.decode(in.readBytes());
        int flags = in.readByte();
        boolean observes = (flags & OBSERVES) != 0;
        long chargedAtMs = in.readSigned();
        if ((flags & LEASED) != 0) {
            List<LeasePart> parts = new ArrayList<>();
            for (long left = in.read(); left > 0; left--) {
                parts.add(new LeasePart(in.read(), in.read(), in.read()));
            }
            Optional<HeldCharge.LentSlotsEnd> slots = (flags & SLOTS) == 0
                    ? Optional.empty()
                    : Optional.of(new HeldCharge.LentSlotsEnd(in.read(), in.readSigned()));
            return new HeldCharge.Leased(key, observes, chargedAtMs, parts, slots);
        }
        long slotMs = in.read();
        List<Long> origins = new ArrayList<>();
        for (long left = in.read(); left > 0; left--) {
            origins.add(in.read());
        }
        return new HeldCharge.Counted(key, observes, chargedAtMs, slotMs, origins);
    }

    private static void write(StateBytes out, Expiries expiries) {
        out.write(expiries.entries().size());
        for (ExpiryEntry entry : expiries.entries()) {
            out.write(entry.number());
            out.writeSigned(entry.endMs());
            out.write(entry.key().client());
            out.write(entry.key().requestId());
        }
    }

    private static Expiries readExpiries(StateBytes in) {
        List<ExpiryEntry> entries = new ArrayList<>();
        for (long left = in.read(); left > 0; left--) {
            long number = in.read();
            long endMs = in.readSigned();
            entries.add(
                    new ExpiryEntry(new RequestKey(in.readText(), RequestKind.CONSUME, in.readText()), number, endMs));
        }
        return new Expiries(List.copyOf(entries));
    }

    private static void write(StateBytes out, ReservationSummary summary) {
        out.write(summary.nextNumber());
        out.write(summary.observed());
        out.writeSigned(summary.earliestMs());
        out.writeSigned(summary.earliestBeforeMs());
        out.write(summary.lanes().size());
        summary.lanes().forEach((lane, bounds) -> {
            out.write(lane);
            out.write(bounds.first());
            out.write(bounds.end());
        });
    }

    private static ReservationSummary readBounds(StateBytes in) {
        long nextNumber = in.read();
        long observed = in.read();
        long earliestMs = in.readSigned();
        long earliestBeforeMs = in.readSigned();
        Map<Integer, ReservationSummary.Lane> lanes = new TreeMap<>();
        for (long left = in.read(); left > 0; left--) {
            int lane = (int) in.read();
            lanes.put(lane, new ReservationSummary.Lane(in.read(), in.read()));
        }
        return new ReservationSummary(nextNumber, observed, earliestMs, earliestBeforeMs, lanes);
    }
}
