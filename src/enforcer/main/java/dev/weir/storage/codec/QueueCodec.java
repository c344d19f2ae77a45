package dev.weir.storage.codec;

import dev.weir.fault.UnreadableException;
import dev.weir.shape.command.QueueCommand;
import dev.weir.shape.command.QueueOrders;
import dev.weir.shape.effect.QueueState;
import dev.weir.shape.rules.Flow;
import dev.weir.shape.rules.InFlightCaps;
import dev.weir.shape.rules.InFlightRules;
import dev.weir.shape.rules.Pacing;
import dev.weir.shape.rules.QueueRules;
import dev.weir.shape.rules.QueueTotal;
import dev.weir.shape.rules.TierShare;
import dev.weir.shape.rules.TotalRate;
import dev.weir.shape.store.QueueEntry;
import dev.weir.shape.store.QueueStore.ExpiryTimer;
import dev.weir.shape.store.QueueStore.Place;
import dev.weir.shape.store.ScheduleKey;
import dev.weir.shape.total.InFlightLoan;
import dev.weir.shape.total.LedgerState;
import dev.weir.shape.total.OutflowState;
import dev.weir.wire.AdmissionAvro;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.TreeMap;

/**
 * Encodes the values of the queues' stores. Numbers are encoded as in {@link StateBytes}; signed ones are marked ±.
 *
 * <pre>
 *   entry    version  0  number  enqueuedAt±  expiresAt±  flags  expiry timer (with flag 1: interval index)  admission
 *            version  1  other end of the gap
 *            version  2  attempt  failures  phase  error (0, or 1 text)  (as in 0, from number on)
 *   phase    0 slots started-at± until±, 1 if it is claimed, charge, or else  1 until±
 *   place    version  tier  value  position
 *   key of a schedule  version  time  number
 *   queue    version  id  version  limit  per  burst  capacity  max-wait  look-ahead
 *            tiers (n × name priority± weight least share)  fair-by  key (n × name)
 *            flags  total (with flag 1: flags, with flag 1: limit per, with flag 2: slots, capacity)
 *            in flight (with flag 2: slots ack-timeout max-duration max-attempts retry-backoff caps)  epoch  loan
 *   loan     number slots; the number of the last one to a removed queue: version number
 *   ledger   outflow  number of the last loan  n × partition loan over
 *   caps     n × tier slots, slots of a client (0 for no bound)
 *   orders   version  flags  origins of those of pause, drain (flags 1, 2)  with flag 4: number  origin of a purge
 *   origin   author (0, or 1 text)  reason  at±
 *   outflow  version  arrival± part  last±  sequence  clock±
 * </pre>
 */
public final class QueueCodec {

    private static final int VERSION = 1;
    private static final int WAITING = 0;
    private static final int GAP = 1;
    private static final int ATTEMPTED = 2;

    private static final int IN_FLIGHT = 0;
    private static final int BACKOFF = 1;

    private static final int HAS_TOTAL = 1;
    private static final int HAS_IN_FLIGHT = 2;

    private static final int PAUSED = 1;
    private static final int DRAINING = 2;
    private static final int PURGE = 4;

    private static final int TOTAL_RATE = 1;
    private static final int TOTAL_SLOTS = 2;

    private static final int EXPIRY_TIMER = 1;
    private static final int TICKET = 2;

    private final AdmissionAvro admissions = new AdmissionAvro();

    public byte[] encode(QueueEntry entry) {
        StateBytes out = StateBytes.toWrite(VERSION);
        if (entry instanceof QueueEntry.Waiting waiting) {
            out.writeByte(WAITING);
            write(waiting, out);
        } else if (entry instanceof QueueEntry.Attempted attempted) {
            out.writeByte(ATTEMPTED);
            out.write(attempted.attempt());
            out.write(attempted.failures());
            write(attempted.phase(), out);
            out.writeByte(attempted.error() == null ? 0 : 1);
            if (attempted.error() != null) {
                out.write(attempted.error());
            }
            write(attempted.request(), out);
        } else if (entry instanceof QueueEntry.Gap gap) {
            out.writeByte(GAP);
            out.write(gap.otherEnd());
        }
        return out.written();
    }

    private void write(QueueEntry.Waiting waiting, StateBytes out) {
        out.write(waiting.number());
        out.writeSigned(waiting.enqueuedAtMs());
        out.writeSigned(waiting.expiresAtMs());
        out.writeByte((waiting.hasTicket() ? TICKET : 0) | (waiting.expiryTimer() == null ? 0 : EXPIRY_TIMER));
        if (waiting.expiryTimer() != null) {
            out.write(waiting.expiryTimer().interval());
            out.write(waiting.expiryTimer().index());
        }
        out.write(admissions.encode(waiting.admission()));
    }

    private static void write(QueueEntry.Phase phase, StateBytes out) {
        if (phase instanceof QueueEntry.Phase.InFlight lasting) {
            out.writeByte(IN_FLIGHT);
            out.write(lasting.slots());
            out.writeSigned(lasting.startedAtMs());
            out.writeSigned(lasting.untilMs());
            out.writeByte(lasting.isClaimed() ? 1 : 0);
            out.write(lasting.charge());
        } else {
            out.writeByte(BACKOFF);
            out.writeSigned(phase.untilMs());
        }
    }

    public QueueEntry decodeEntry(byte[] bytes) {
        StateBytes in = StateBytes.toRead(bytes, VERSION, "a queue's state");
        return switch (in.readByte()) {
            case GAP -> new QueueEntry.Gap(in.read());
            case ATTEMPTED -> readAttempted(in);
            default -> readWaiting(in);
        };
    }

    private QueueEntry.Attempted readAttempted(StateBytes in) {
        int attempt = (int) in.read();
        int failures = (int) in.read();
        QueueEntry.Phase phase = readPhase(in);
        String error = in.readByte() == 0 ? null : in.readText();
        return new QueueEntry.Attempted(readWaiting(in), attempt, failures, phase, error);
    }

    private static QueueEntry.Phase readPhase(StateBytes in) {
        return in.readByte() == IN_FLIGHT
                ? new QueueEntry.Phase.InFlight(
                        in.read(), in.readSigned(), in.readSigned(), in.readByte() == 1, in.read())
                : new QueueEntry.Phase.Backoff(in.readSigned());
    }

    private QueueEntry.Waiting readWaiting(StateBytes in) {
        long number = in.read();
        long enqueuedAtMs = in.readSigned();
        long expiresAtMs = in.readSigned();
        int flags = in.readByte();
        ExpiryTimer expiryTimer = (flags & EXPIRY_TIMER) == 0 ? null : new ExpiryTimer(in.read(), in.read());
        try {
            return new QueueEntry.Waiting(
                    admissions.decode(in.readBytes()),
                    number,
                    enqueuedAtMs,
                    expiresAtMs,
                    (flags & TICKET) != 0,
                    expiryTimer);
        } catch (UnreadableException e) {
            throw new IllegalStateException("the admission of a waiting request cannot be decoded", e);
        }
    }

    public static byte[] encode(Place place) {
        StateBytes out = StateBytes.toWrite(VERSION);
        out.write(place.flow().tier());
        out.write(place.flow().value());
        out.write(place.position());
        return out.written();
    }

    public static Place decodePlace(byte[] bytes) {
        StateBytes in = StateBytes.toRead(bytes, VERSION, "a queue's state");
        return new Place(new Flow(in.readText(), in.readText()), in.read());
    }

    public static byte[] encode(ScheduleKey key) {
        StateBytes out = StateBytes.toWrite(VERSION);
        out.write(key.atMs());
        out.write(key.number());
        return out.written();
    }

    public static ScheduleKey decodeScheduleKey(byte[] bytes) {
        StateBytes in = StateBytes.toRead(bytes, VERSION, "a queue's state");
        return new ScheduleKey(in.read(), in.read());
    }

    public static byte[] encode(QueueState state) {
        QueueRules rules = state.rules();
        StateBytes out = StateBytes.toWrite(VERSION);
        out.write(rules.id());
        out.write(rules.version());
        out.write(rules.limit());
        out.write(rules.perMs());
        out.write(rules.burst());
        out.write(rules.capacity());
        out.write(rules.maxWaitMs());
        out.write(rules.lookAheadMs());
        out.write(rules.tiers().size());
        new TreeMap<>(rules.tiers()).forEach((tier, share) -> {
            out.write(tier);
            out.writeSigned(share.priority());
            out.write(share.weight());
            out.write(share.minPercent());
        });
        out.write(rules.fairBy());
        out.write(rules.key().size());
        rules.key().forEach(out::write);
        InFlightRules inFlight = rules.inFlight();
        out.writeByte((rules.total() == null ? 0 : HAS_TOTAL) | (inFlight == null ? 0 : HAS_IN_FLIGHT));
        if (rules.total() != null) {
            write(rules.total(), out);
        }
        if (inFlight != null) {
            out.write(inFlight.most());
            out.write(inFlight.ackTimeoutMs());
            out.write(inFlight.maxDurationMs());
            out.write(inFlight.maxAttempts());
            out.write(inFlight.retryBackoffMs());
            write(inFlight.caps(), out);
        }
        out.write(state.epoch());
        write(state.borrowed(), out);
        return out.written();
    }

    private static void write(QueueTotal total, StateBytes out) {
        out.writeByte(
                (total.rate().isPresent() ? TOTAL_RATE : 0) | (total.inFlight().isPresent() ? TOTAL_SLOTS : 0));
        total.rate().ifPresent(rate -> {
            out.write(rate.limit());
            out.write(rate.perMs());
        });
        total.inFlight().ifPresent(out::write);
        out.write(total.capacity());
    }

    private static QueueTotal readTotal(StateBytes in) {
        int flags = in.readByte();
        return new QueueTotal(
                (flags & TOTAL_RATE) == 0 ? Optional.empty() : Optional.of(new TotalRate(in.read(), in.read())),
                (flags & TOTAL_SLOTS) == 0 ? OptionalLong.empty() : OptionalLong.of(in.read()),
                in.read());
    }

    private static void write(InFlightLoan loan, StateBytes out) {
        out.write(loan.number());
        out.write(loan.slots());
    }

    private static InFlightLoan readLoan(StateBytes in) {
        return new InFlightLoan(in.read(), in.read());
    }

    public static QueueState decodeQueue(byte[] bytes) {
        StateBytes in = StateBytes.toRead(bytes, VERSION, "a queue's rules");
        String id = in.readText();
        long version = in.read();
        long limit = in.read();
        long perMs = in.read();
        long burst = in.read();
        long capacity = in.read();
        long maxWaitMs = in.read();
        long lookAheadMs = in.read();
        Map<String, TierShare> tiers = new HashMap<>();
        for (long left = in.read(); left > 0; left--) {
            tiers.put(in.readText(), new TierShare((int) in.readSigned(), (int) in.read(), (int) in.read()));
        }
        String fairBy = in.readText();
        List<String> key = new ArrayList<>();
        for (long left = in.read(); left > 0; left--) {
            key.add(in.readText());
        }
        int flags = in.readByte();
        QueueTotal total = (flags & HAS_TOTAL) == 0 ? null : readTotal(in);
        InFlightRules inFlight = (flags & HAS_IN_FLIGHT) == 0 ? null : readInFlight(in);
        QueueRules rules = new QueueRules(
                id,
                version,
                limit,
                perMs,
                burst,
                capacity,
                maxWaitMs,
                lookAheadMs,
                tiers,
                fairBy,
                key,
                total,
                inFlight);
        return new QueueState(rules, in.read(), readLoan(in));
    }

    public static byte[] encode(QueueOrders orders) {
        StateBytes out = StateBytes.toWrite(VERSION);
        out.writeByte((orders.paused().isPresent() ? PAUSED : 0)
                | (orders.draining().isPresent() ? DRAINING : 0)
                | (orders.purge().isPresent() ? PURGE : 0));
        orders.paused().ifPresent(origin -> write(origin, out));
        orders.draining().ifPresent(origin -> write(origin, out));
        orders.purge().ifPresent(purge -> {
            out.write(purge.below());
            write(purge.origin(), out);
        });
        return out.written();
    }

    public static QueueOrders decodeOrders(byte[] bytes) {
        StateBytes in = StateBytes.toRead(bytes, VERSION, "the commands for a queue");
        int flags = in.readByte();
        return new QueueOrders(
                (flags & PAUSED) == 0 ? Optional.empty() : Optional.of(readOrigin(in)),
                (flags & DRAINING) == 0 ? Optional.empty() : Optional.of(readOrigin(in)),
                (flags & PURGE) == 0
                        ? Optional.empty()
                        : Optional.of(new QueueOrders.Purge(in.read(), readOrigin(in))));
    }

    static void write(QueueCommand.Origin origin, StateBytes out) {
        out.writeByte(origin.author().isPresent() ? 1 : 0);
        origin.author().ifPresent(out::write);
        out.write(origin.reason());
        out.writeSigned(origin.atMs());
    }

    static QueueCommand.Origin readOrigin(StateBytes in) {
        Optional<String> author = in.readByte() == 0 ? Optional.empty() : Optional.of(in.readText());
        return new QueueCommand.Origin(author, in.readText(), in.readSigned());
    }

    private static void write(InFlightCaps caps, StateBytes out) {
        out.write(caps.ofTier().size());
        new TreeMap<>(caps.ofTier()).forEach((tier, most) -> {
            out.write(tier);
            out.write(most);
        });
        out.write(caps.ofClient().orElse(0));
    }

    private static InFlightRules readInFlight(StateBytes in) {
        return new InFlightRules(in.read(), in.read(), in.read(), (int) in.read(), in.read(), readCaps(in));
    }

    private static InFlightCaps readCaps(StateBytes in) {
        Map<String, Long> ofTier = new HashMap<>();
        for (long left = in.read(); left > 0; left--) {
            ofTier.put(in.readText(), in.read());
        }
        long ofClient = in.read();
        return new InFlightCaps(ofTier, ofClient == 0 ? OptionalLong.empty() : OptionalLong.of(ofClient));
    }

    public static byte[] encode(LedgerState ledger) {
        StateBytes out = StateBytes.toWrite(VERSION);
        write(ledger.granted(), out);
        out.write(ledger.lastLoan());
        out.write(ledger.lent().size());
        new TreeMap<>(ledger.lent()).forEach((partition, lent) -> {
            out.write(partition);
            write(lent.loan(), out);
            out.write(lent.over());
        });
        return out.written();
    }

    public static LedgerState decodeLedger(byte[] bytes) {
        StateBytes in = StateBytes.toRead(bytes, VERSION, "a ledger's state");
        OutflowState granted = readOutflow(in);
        long lastLoan = in.read();
        Map<Integer, LedgerState.Lent> lent = new HashMap<>();
        for (long left = in.read(); left > 0; left--) {
            lent.put((int) in.read(), new LedgerState.Lent(readLoan(in), in.read()));
        }
        return new LedgerState(granted, lastLoan, lent);
    }

    public static byte[] encodeLastLoan(long number) {
        StateBytes out = StateBytes.toWrite(VERSION);
        out.write(number);
        return out.written();
    }

    public static long decodeLastLoan(byte[] bytes) {
        return StateBytes.toRead(bytes, VERSION, "the number of a loan").read();
    }

    static void write(OutflowState outflow, StateBytes out) {
        out.writeSigned(outflow.arrival().nanos());
        out.write(outflow.arrival().part());
        out.writeSigned(outflow.lastNanos());
        out.write(outflow.sequence());
        out.writeSigned(outflow.clockNanos());
    }

    static OutflowState readOutflow(StateBytes in) {
        return new OutflowState(
                new Pacing.Arrival(in.readSigned(), in.read()), in.readSigned(), in.read(), in.readSigned());
    }
}
