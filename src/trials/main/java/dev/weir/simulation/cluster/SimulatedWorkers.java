package dev.weir.simulation.cluster;

import dev.weir.event.Acknowledgement;
import dev.weir.event.Acknowledgement.Result;
import dev.weir.event.Receipt;
import dev.weir.event.Release;
import dev.weir.event.Request;
import dev.weir.event.RequestKind;
import dev.weir.fault.UnreadableException;
import dev.weir.simulation.cluster.SimulatedPartition.Entry;
import dev.weir.simulation.cluster.SimulatedProducers.Sent;
import dev.weir.simulation.schedule.SchedulePlan;
import dev.weir.simulation.schedule.ScheduleTrace;
import dev.weir.wire.ReleaseCodec;
import dev.weir.wire.RequestCodec;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import org.apache.kafka.common.header.internals.RecordHeaders;

/**
 * Workers that process the releases of queues with slots. They claim, prolong and complete attempts, late and twice; some
 * die with their jobs. Others answer for them, and for attempts that have not been released yet, and some clients cancel
 * what is in flight.
 */
public final class SimulatedWorkers {

    private static final RequestCodec REQUEST = new RequestCodec();
    private static final ReleaseCodec RELEASE = new ReleaseCodec();
    private static final Request.Source NOWHERE = new Request.Source(0, 0);
    private static final String STRANGER = "mallory";

    private final Random random;
    private final SimulatedCluster cluster;
    private final ScheduleTrace trace;
    private final boolean misplaces;
    private final int partitions;
    private final long[] read; // the next offset of each partition
    private final List<Release> jobs = new ArrayList<>(); // with some that are answered already
    private final Deque<Sent> answers = new ArrayDeque<>();

    public SimulatedWorkers(Random random, SimulatedCluster cluster, SchedulePlan plan, ScheduleTrace trace) {
        this.random = random;
        this.cluster = cluster;
        this.trace = trace;
        misplaces = plan.traffic().misplaces();
        partitions = plan.size().partitions();
        read = new long[partitions];
    }

    /** Returns the next answer of a worker; empty if none answers now. */
    public Optional<Sent> next() {
        if (answers.isEmpty() && (jobs.isEmpty() || random.nextBoolean())) {
            readOne().ifPresent(this::begin);
        } else if (answers.isEmpty()) {
            proceed(jobs.get(random.nextInt(jobs.size())));
        }
        return Optional.ofNullable(answers.poll());
    }

    /** Returns an answer that an attempt is done; empty if all that are released have one. */
    public Optional<Sent> complete() {
        for (Optional<Release> release = readOne(); release.isPresent(); release = readOne()) {
            jobs.add(release.get());
        }
        jobs.forEach(job -> answer(completion(job, Result.DONE)));
        jobs.clear();
        return Optional.ofNullable(answers.poll());
    }

    private Optional<Release> readOne() {
        for (int partition = 0; partition < partitions; partition++) {
            SimulatedPartition releases = cluster.partition(SimulatedTaskSlot.TOPICS.releases(), partition);
            for (Entry entry = releases.next(read[partition]); entry != null; entry = releases.next(read[partition])) {
                read[partition] = entry.offset() + 1;
                Release release = decode(entry);
                if (release.attempt() != null) {
                    return Optional.of(release);
                }
            }
        }
        return Optional.empty();
    }

    private static Release decode(Entry entry) {
        try {
            return RELEASE.decode(entry.value());
        } catch (UnreadableException e) {
            throw new IllegalStateException("a release cannot be read", e);
        }
    }

    private void begin(Release release) {
        if (random.nextInt(8) == 0) {
            trace.count("WORKER_DIES");
            return;
        }
        jobs.add(release);
        if (random.nextBoolean()) {
            answer(extension(release));
        } else if (random.nextInt(6) == 0) {
            answer(cancellation(release));
        } else if (random.nextInt(6) == 0) {
            trace.count("FORGED_ANSWER");
            answer(done(release, STRANGER, release.attempt().receipt()));
        } else if (random.nextInt(6) == 0) {
            trace.count("EARLY_ANSWER");
            Receipt receipt = Receipt.parse(release.attempt().receipt());
            Receipt later = new Receipt(
                    receipt.queue(),
                    receipt.key(),
                    receipt.flow(),
                    receipt.position(),
                    receipt.source(),
                    receipt.attempt() + 1);
            answer(done(release, release.client(), later.text()));
        }
    }

    private void proceed(Release job) {
        if (random.nextInt(4) == 0) {
            answer(extension(job));
            return;
        }
        Request completion = completion(job, Result.values()[random.nextInt(3)]);
        int draw = random.nextInt(10);
        if (draw == 0) {
            trace.count("ANSWER_LOST");
        } else {
            answer(completion);
        }
        if (draw == 1) {
            trace.count("ANSWER_DOUBLED");
            answer(completion);
        }
        if (draw != 2) { // otherwise, it is answered once more later
            jobs.remove(job);
        }
    }

    private static Request extension(Release release) {
        return acknowledgement(
                release,
                release.client(),
                RequestKind.EXTEND,
                new Acknowledgement(release.attempt().receipt(), null, null, null));
    }

    private static Request cancellation(Release release) {
        return Request.builder(release.requestId(), release.client())
                .kind(RequestKind.CANCEL)
                .queue(release.queue())
                .source(NOWHERE)
                .build();
    }

    private Request completion(Release release, Result result) {
        Long retryAfterMs = result == Result.RETRY && random.nextBoolean() ? (Long) (long) random.nextInt(300) : null;
        return acknowledgement(
                release,
                release.client(),
                RequestKind.COMPLETE,
                new Acknowledgement(release.attempt().receipt(), result, retryAfterMs, null));
    }

    private static Request done(Release release, String client, String receipt) {
        return acknowledgement(
                release, client, RequestKind.COMPLETE, new Acknowledgement(receipt, Result.DONE, null, null));
    }

    private static Request acknowledgement(Release release, String client, RequestKind kind, Acknowledgement content) {
        return Request.builder(release.requestId(), client)
                .kind(kind)
                .acknowledgement(content)
                .source(NOWHERE)
                .build();
    }

    private void answer(Request answer) {
        byte[] key = answer.client().getBytes(StandardCharsets.UTF_8);
        boolean isMisplaced = misplaces && random.nextInt(3) == 0;
        answers.add(new Sent(
                isMisplaced ? null : key,
                REQUEST.encode(answer),
                new RecordHeaders(),
                isMisplaced ? (Integer) random.nextInt(partitions) : null));
    }
}
