package dev.weir.processor;

import dev.weir.event.Admission;
import dev.weir.event.Decision;
import dev.weir.event.Release;
import dev.weir.shape.Outlet;
import dev.weir.shape.backlog.QueueRules;
import dev.weir.shape.total.SlotGrant;
import dev.weir.shape.total.SlotMessenger;
import dev.weir.shape.total.SlotReport;
import java.nio.charset.StandardCharsets;
import java.util.function.Function;
import java.util.function.LongSupplier;
import org.apache.kafka.streams.processor.api.ProcessorContext;
import org.apache.kafka.streams.processor.api.Record;

/**
 * Forwards the output of a task's queues with queue time as the timestamp: decisions, their replies and releases with
 * the key and headers of their request, and slot messages to the task of another partition or of this one.
 *
 * @param rules returns the rules of a queue by its id, null if it was deleted
 * @param nowMs returns the queue time in milliseconds
 */
record QueueForwarder(
        ProcessorContext<byte[], Object> context,
        Shape.Outlets outlets,
        ReplyForwarder replies,
        EnforcerMetrics metrics,
        Function<String, QueueRules> rules,
        LongSupplier nowMs)
        implements Outlet, SlotMessenger {

    /** A message is read only after its transaction is committed. */
    private static final long EXPECTED_DELAY_MS = 150;

    @Override
    public void emitDecision(Admission of, Decision decision) {
        metrics.decidedByQueue(decision);
        Decision decided = decision.withContext(of.context());
        Record<byte[], Object> record = record(of, decided);
        context.forward(record, outlets.decisions());
        replies.forward(record, decided);
    }

    @Override
    public void emitRelease(Admission of, Release release) {
        metrics.released(release, rules.apply(release.queue()), nowMs.getAsLong());
        context.forward(record(of, release), outlets.releases());
    }

    private Record<byte[], Object> record(Admission of, Object value) {
        byte[] key = of.request().client().getBytes(StandardCharsets.UTF_8);
        return new Record<>(key, value, nowMs.getAsLong(), CarriedHeaders.to(of.headers()));
    }

    @Override
    public int partition() {
        return context.taskId().partition();
    }

    @Override
    public long expectedDelayMs() {
        return EXPECTED_DELAY_MS;
    }

    @Override
    public void report(SlotReport report) {
        context.forward(new Record<>(null, report, nowMs.getAsLong()), outlets.slots());
    }

    @Override
    public void grant(SlotGrant grant) {
        context.forward(new Record<>(null, grant, nowMs.getAsLong()), outlets.slots());
    }
}
