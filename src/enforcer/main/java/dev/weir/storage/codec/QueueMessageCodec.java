package dev.weir.storage.codec;

import dev.weir.event.Rejection;
import dev.weir.fault.UnreadableException;
import dev.weir.limit.Limit;
import dev.weir.shape.Shaper;
import dev.weir.shape.command.QueueCommand;
import dev.weir.shape.command.QueueCommand.Action;
import dev.weir.shape.effect.QueueMessage;
import dev.weir.shape.rules.BucketId;
import dev.weir.shape.rules.Flow;
import dev.weir.shape.rules.InFlightRules;
import dev.weir.shape.rules.Pacing;
import dev.weir.shape.rules.QueuePartition;
import dev.weir.shape.rules.TotalRate;
import dev.weir.shape.total.GrantedRun;
import dev.weir.shape.total.InFlightClaim;
import dev.weir.shape.total.InFlightDemand;
import dev.weir.shape.total.InFlightGrant;
import dev.weir.shape.total.InFlightGrant.Recall;
import dev.weir.shape.total.InFlightLoan;
import dev.weir.shape.total.TotalGrant;
import dev.weir.shape.total.TotalReport;
import dev.weir.shape.total.TotalReport.LeasedTime;
import dev.weir.wire.AdmissionAvro;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.UUID;

/**
 * The codec of {@link QueueMessage}s. The first byte is the type of a message; that of Avro's single-object encoding is
 * the type of an admission. Numbers are encoded as in {@link StateBytes}; signed ones are marked ±, and those of eight
 * bytes !.
 *
 * <pre>
 *   marker     0     task!!  sent-at±  partition
 *   report     1     queue  partition  rate  lag  waiting  grant  returned (0 or 1 × from± until±)
 *                    demands (n × tier clients  largest-clients (n × client keys)  next-cost largest-cost
 *                    steps (n × from± tokens)  slots of the next one and of all)  most slots (0 for no bound)  loan  over
 *   grant      2     queue  partition  number  sent-at±  rate  waiting-elsewhere
 *                    weights (n × tier client weight)  runs (n × start± part tokens)
 *                    loan  recall (0 none, 1 freed, 2 all)
 *   rate       0 or 1 × limit per
 *   loan       number slots
 *   command    3     queue  key (n × text)  action (0 pause, 1 drain, 2 resume, 3 purge)  origin
 *                    (as in {@link QueueCodec})
 *   admission  0xC3  see {@link AdmissionAvro}
 * </pre>
 */
public final class QueueMessageCodec {

    private static final int MARKER = 0;
    private static final int REPORT = 1;
    private static final int GRANT = 2;
    private static final int COMMAND = 3;

    /** The maximum number of runs in a message. */
    private static final int MAX_RUNS = 100_000;

    /** The maximum number of names and values in the key of a command; no key has so many. */
    private static final int MAX_KEY_TEXTS = 64;

    private static final List<Recall> RECALLS = List.of(Recall.NONE, Recall.FREED, Recall.ALL);
    private static final List<Action> ACTIONS = List.of(Action.PAUSE, Action.DRAIN, Action.RESUME, Action.PURGE);

    private static final long MAX_TIME_NANOS = Shaper.MAX_TIME_MS * 1_000_000;

    private final AdmissionAvro admissions = new AdmissionAvro();

    public byte[] encode(QueueMessage message) {
        if (message instanceof QueueMessage.Admitted admitted) {
            return admissions.encode(admitted.admission());
        }
        if (message instanceof QueueMessage.Marker marker) {
            return encode(marker);
        }
        if (message instanceof QueueMessage.Commanded commanded) {
            return encode(commanded.command());
        }
        return message instanceof QueueMessage.Reported reported
                ? encode(reported.report())
                : encode(((QueueMessage.Granted) message).grant());
    }

    /** @throws UnreadableException if the bytes are not a message, or a number is out of its range */
    public QueueMessage decode(byte[] bytes) throws UnreadableException {
        int type = bytes == null || bytes.length == 0 ? -1 : bytes[0];
        if (type < MARKER || type > COMMAND) {
            return new QueueMessage.Admitted(admissions.decode(bytes));
        }
        try {
            return switch (type) {
                case MARKER -> decodeMarker(bytes);
                case REPORT -> decodeReport(bytes);
                case GRANT -> decodeGrant(bytes);
                default -> decodeCommand(bytes);
            };
        } catch (IllegalStateException | IllegalArgumentException e) {
            throw new UnreadableException(Rejection.NOT_AVRO, e);
        }
    }

    private static byte[] encode(QueueMessage.Marker marker) {
        StateBytes out = StateBytes.toWrite(MARKER);
        out.writeFixed(marker.task().getMostSignificantBits());
        out.writeFixed(marker.task().getLeastSignificantBits());
        out.writeSigned(marker.sentMs());
        out.write(marker.partition());
        return out.written();
    }

    private static QueueMessage decodeMarker(byte[] bytes) {
        StateBytes in = StateBytes.toRead(bytes, MARKER, "a marker");
        UUID task = new UUID(in.readFixed(), in.readFixed());
        return new QueueMessage.Marker(task, in.readSigned(), partition(in));
    }

    private static byte[] encode(QueueCommand command) {
        StateBytes out = StateBytes.toWrite(COMMAND);
        out.write(command.target().queue());
        out.write(command.target().key().size());
        command.target().key().forEach(out::write);
        out.writeByte(ACTIONS.indexOf(command.action()));
        QueueCodec.write(command.origin(), out);
        return out.written();
    }

    private static QueueMessage decodeCommand(byte[] bytes) {
        StateBytes in = StateBytes.toRead(bytes, COMMAND, "a command");
        String queue = in.readText();
        List<String> key = new ArrayList<>();
        for (long left = count(in, 0, MAX_KEY_TEXTS); left > 0; left--) {
            key.add(in.readText());
        }
        int action = in.readByte();
        if (key.size() % 2 != 0 || action < 0 || action >= ACTIONS.size()) {
            throw new IllegalStateException("a command with action " + action + " and " + key.size() + " texts");
        }
        BucketId target = new BucketId(queue, key);
        return new QueueMessage.Commanded(new QueueCommand(target, ACTIONS.get(action), QueueCodec.readOrigin(in)));
    }

    private static byte[] encode(TotalReport report) {
        StateBytes out = StateBytes.toWrite(REPORT);
        out.write(report.place().queue());
        out.write(report.place().partition());
        write(report.rate(), out);
        out.write(report.lagMs());
        out.write(report.waiting());
        out.write(report.grant());
        out.write(report.returned().isPresent() ? 1 : 0);
        report.returned().ifPresent(time -> {
            out.writeSigned(time.fromNanos());
            out.writeSigned(time.untilNanos());
        });
        out.write(report.demands().size());
        report.demands().forEach(demand -> {
            out.write(demand.tier());
            out.write(demand.clients());
            out.write(demand.largestClients().size());
            demand.largestClients().forEach(client -> {
                out.write(client.client());
                out.write(client.keys());
            });
            out.write(demand.nextCost());
            out.write(demand.largestCost());
            out.write(demand.steps().size());
            demand.steps().forEach(step -> {
                out.writeSigned(step.fromNanos());
                out.write(step.tokens());
            });
            out.write(demand.inFlight().next());
            out.write(demand.inFlight().sum());
        });
        write(report.claim(), out);
        return out.written();
    }

    private static byte[] encode(TotalGrant grant) {
        StateBytes out = StateBytes.toWrite(GRANT);
        out.write(grant.place().queue());
        out.write(grant.place().partition());
        out.write(grant.number());
        out.writeSigned(grant.sentAtMs());
        write(grant.rate(), out);
        out.write(grant.waitingElsewhere());
        out.write(grant.weights().size());
        grant.weights().forEach(client -> {
            out.write(client.flow().tier());
            out.write(client.flow().value());
            out.write(client.weight());
        });
        out.write(grant.runs().size());
        grant.runs().forEach(run -> {
            out.writeSigned(run.start().nanos());
            out.write(run.start().part());
            out.write(run.tokens());
        });
        write(grant.inFlight().loan(), out);
        out.write(RECALLS.indexOf(grant.inFlight().recall()));
        return out.written();
    }

    private static void write(Optional<TotalRate> rate, StateBytes out) {
        out.write(rate.isPresent() ? 1 : 0);
        rate.ifPresent(each -> {
            out.write(each.limit());
            out.write(each.perMs());
        });
    }

    private static Optional<TotalRate> rate(StateBytes in) {
        Optional<TotalRate> rate = count(in) == 0 ? Optional.empty() : Optional.of(new TotalRate(count(in), count(in)));
        rate.ifPresent(TotalRate::pacing); // checks its range
        return rate;
    }

    private static void write(InFlightClaim claim, StateBytes out) {
        out.write(claim.most().orElse(0));
        write(claim.loan(), out);
        out.write(claim.over());
    }

    private static InFlightClaim claim(StateBytes in) {
        long most = count(in, 0, InFlightRules.MOST);
        return new InFlightClaim(most == 0 ? OptionalLong.empty() : OptionalLong.of(most), loan(in), slots(in));
    }

    private static void write(InFlightLoan loan, StateBytes out) {
        out.write(loan.number());
        out.write(loan.slots());
    }

    private static InFlightLoan loan(StateBytes in) {
        return new InFlightLoan(count(in), slots(in));
    }

    private static long slots(StateBytes in) {
        return count(in, 0, Limit.MAX_LEVEL);
    }

    private static QueueMessage decodeReport(byte[] bytes) {
        StateBytes in = StateBytes.toRead(bytes, REPORT, "a report");
        QueuePartition place = new QueuePartition(in.readText(), partition(in));
        Optional<TotalRate> rate = rate(in);
        long lagMs = count(in);
        long waiting = count(in);
        long grant = count(in);
        Optional<LeasedTime> returned =
                count(in) == 0 ? Optional.empty() : Optional.of(new LeasedTime(in.readSigned(), in.readSigned()));
        List<TotalReport.Demand> demands = new ArrayList<>();
        for (long left = count(in, 0, TotalReport.MAX_DEMANDS); left > 0; left--) {
            demands.add(new TotalReport.Demand(
                    in.readText(),
                    count(in),
                    clients(in),
                    tokens(in),
                    tokens(in),
                    steps(in),
                    new InFlightDemand(slots(in), slots(in))));
        }
        return new QueueMessage.Reported(
                new TotalReport(place, rate, lagMs, waiting, grant, returned, demands, claim(in)));
    }

    private static List<TotalReport.ClientKeys> clients(StateBytes in) {
        List<TotalReport.ClientKeys> clients = new ArrayList<>();
        for (long left = count(in, 0, TotalReport.MAX_CLIENTS); left > 0; left--) {
            clients.add(new TotalReport.ClientKeys(in.readText(), count(in, 1, Integer.MAX_VALUE)));
        }
        return clients;
    }

    private static List<TotalReport.Step> steps(StateBytes in) {
        List<TotalReport.Step> steps = new ArrayList<>();
        for (long left = count(in, 0, TotalReport.MAX_STEPS); left > 0; left--) {
            steps.add(new TotalReport.Step(time(in), tokens(in)));
        }
        return steps;
    }

    private static QueueMessage decodeGrant(byte[] bytes) {
        StateBytes in = StateBytes.toRead(bytes, GRANT, "a grant");
        QueuePartition place = new QueuePartition(in.readText(), partition(in));
        long number = count(in);
        long sentAtMs = in.readSigned();
        Optional<TotalRate> rate = rate(in);
        long waitingElsewhere = count(in);
        List<TotalGrant.ClientWeight> weights = new ArrayList<>();
        for (long left = count(in, 0, TotalGrant.MAX_WEIGHTS); left > 0; left--) {
            weights.add(new TotalGrant.ClientWeight(new Flow(in.readText(), in.readText()), Math.max(1, count(in))));
        }
        List<GrantedRun> runs = new ArrayList<>();
        for (long left = count(in, 0, MAX_RUNS); left > 0; left--) {
            runs.add(new GrantedRun(new Pacing.Arrival(time(in), count(in)), tokens(in)));
        }
        InFlightGrant inFlight = new InFlightGrant(loan(in), RECALLS.get((int) count(in, 0, RECALLS.size() - 1)));
        return new QueueMessage.Granted(
                new TotalGrant(place, number, sentAtMs, rate, waitingElsewhere, weights, runs, inFlight));
    }

    private static long count(StateBytes in) {
        return count(in, 0, Long.MAX_VALUE);
    }

    private static long tokens(StateBytes in) {
        return count(in, 1, Limit.MAX_LEVEL);
    }

    private static long count(StateBytes in, long least, long most) {
        long count = in.read();
        if (count < least || count > most) {
            throw new IllegalStateException("a number must be " + least + " to " + most + ", is " + count);
        }
        return count;
    }

    private static long time(StateBytes in) {
        long nanos = in.readSigned();
        if (nanos > MAX_TIME_NANOS) {
            throw new IllegalStateException(nanos + " ns is not a time");
        }
        return nanos;
    }

    private static int partition(StateBytes in) {
        long partition = count(in);
        if (partition > Integer.MAX_VALUE) {
            throw new IllegalStateException(partition + " is not a valid partition");
        }
        return (int) partition;
    }
}
