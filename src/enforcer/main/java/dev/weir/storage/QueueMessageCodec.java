package dev.weir.storage;

import dev.weir.event.Rejection;
import dev.weir.shape.QueueMessage;
import dev.weir.shape.backlog.Pacing;
import dev.weir.shape.total.SlotGrant;
import dev.weir.shape.total.SlotReport;
import dev.weir.shape.total.SlotRun;
import dev.weir.wire.AdmissionAvro;
import dev.weir.wire.UnreadableException;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;

/**
 * The codec of {@link QueueMessage}s. The first byte is the type of a message; that of Avro's single-object encoding is
 * the type of an admission. Numbers are encoded as in {@link StateBytes}; signed ones are marked ±, and those of eight
 * bytes !.
 *
 * <pre>
 *   marker     0     task!!  sent-at±  partition
 *   report     1     queue  partition  limit  per  lag  waiting  slots  covered-until±
 *                    demands (n × tier keys tokens largest-cost)
 *   grant      2     queue  partition  sent-at±  limit  per  waiting-elsewhere  runs (n × start± part slots)
 *   admission  0xC3  see {@link AdmissionAvro}
 * </pre>
 */
public final class QueueMessageCodec {

    private static final int MARKER = 0;
    private static final int REPORT = 1;
    private static final int GRANT = 2;

    /** The maximum number of demands or runs in a message. */
    private static final int MAX_ITEMS = 100_000;

    private final AdmissionAvro admissions = new AdmissionAvro();

    public byte[] encode(QueueMessage message) {
        if (message instanceof QueueMessage.Admitted admitted) {
            return admissions.encode(admitted.admission());
        }
        if (message instanceof QueueMessage.Marker marker) {
            return encode(marker);
        }
        return message instanceof QueueMessage.Reported reported
                ? encode(reported.report())
                : encode(((QueueMessage.Granted) message).grant());
    }

    /** @throws UnreadableException if the bytes are not a message, or a number is out of its range */
    public QueueMessage decode(byte[] bytes) throws UnreadableException {
        int type = bytes == null || bytes.length == 0 ? -1 : bytes[0];
        if (type < MARKER || type > GRANT) {
            return new QueueMessage.Admitted(admissions.decode(bytes));
        }
        try {
            return type == MARKER ? decodeMarker(bytes) : type == REPORT ? decodeReport(bytes) : decodeGrant(bytes);
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

    private static byte[] encode(SlotReport report) {
        StateBytes out = StateBytes.toWrite(REPORT);
        out.write(report.queue());
        out.write(report.partition());
        out.write(report.limit());
        out.write(report.perMs());
        out.write(report.lagMs());
        out.write(report.waiting());
        out.write(report.slots());
        out.writeSigned(report.coveredUntilNanos());
        out.write(report.demands().size());
        report.demands().forEach(demand -> {
            out.write(demand.tier());
            out.write(demand.keys());
            out.write(demand.tokens());
            out.write(demand.largestCost());
        });
        return out.written();
    }

    private static byte[] encode(SlotGrant grant) {
        StateBytes out = StateBytes.toWrite(GRANT);
        out.write(grant.queue());
        out.write(grant.partition());
        out.writeSigned(grant.sentAtMs());
        out.write(grant.limit());
        out.write(grant.perMs());
        out.write(grant.waitingElsewhere());
        out.write(grant.runs().size());
        grant.runs().forEach(run -> {
            out.writeSigned(run.start().nanos());
            out.write(run.start().part());
            out.write(run.slots());
        });
        return out.written();
    }

    private static QueueMessage decodeReport(byte[] bytes) {
        StateBytes in = StateBytes.toRead(bytes, REPORT, "a report");
        String queue = in.readText();
        int partition = partition(in);
        long limit = count(in);
        long perMs = count(in);
        long lagMs = count(in);
        long waiting = count(in);
        long slots = count(in);
        long coveredUntilNanos = in.readSigned();
        List<SlotReport.Demand> demands = new ArrayList<>();
        for (long left = items(in); left > 0; left--) {
            demands.add(new SlotReport.Demand(in.readText(), count(in), count(in), count(in)));
        }
        Pacing.of(limit, perMs, 1);
        return new QueueMessage.Reported(
                new SlotReport(queue, partition, limit, perMs, lagMs, waiting, slots, coveredUntilNanos, demands));
    }

    private static QueueMessage decodeGrant(byte[] bytes) {
        StateBytes in = StateBytes.toRead(bytes, GRANT, "a grant");
        String queue = in.readText();
        int partition = partition(in);
        long sentAtMs = in.readSigned();
        long limit = count(in);
        long perMs = count(in);
        long waitingElsewhere = count(in);
        List<SlotRun> runs = new ArrayList<>();
        for (long left = items(in); left > 0; left--) {
            runs.add(new SlotRun(new Pacing.Arrival(in.readSigned(), count(in)), count(in)));
        }
        Pacing.of(limit, perMs, 1);
        return new QueueMessage.Granted(
                new SlotGrant(queue, partition, sentAtMs, limit, perMs, waitingElsewhere, runs));
    }

    private static long items(StateBytes in) {
        long items = count(in);
        if (items > MAX_ITEMS) {
            throw new IllegalStateException("the message has " + items + " items; the maximum is " + MAX_ITEMS);
        }
        return items;
    }

    private static long count(StateBytes in) {
        long count = in.read();
        if (count < 0) {
            throw new IllegalStateException("a count must not be negative, is " + count);
        }
        return count;
    }

    private static int partition(StateBytes in) {
        long partition = count(in);
        if (partition > Integer.MAX_VALUE) {
            throw new IllegalStateException(partition + " is not a valid partition");
        }
        return (int) partition;
    }
}
