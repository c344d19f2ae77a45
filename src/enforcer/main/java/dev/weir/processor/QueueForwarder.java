package dev.weir.processor;

import dev.weir.event.Admission;
import dev.weir.event.Decision;
import dev.weir.event.Release;
import dev.weir.shape.Outlet;
import dev.weir.shape.total.SlotGrant;
import dev.weir.shape.total.SlotMessenger;
import dev.weir.shape.total.SlotReport;
import java.nio.charset.StandardCharsets;
import java.util.function.LongSupplier;
import org.apache.kafka.streams.processor.api.ProcessorContext;
import org.apache.kafka.streams.processor.api.Record;

/**
 * Forwards the output of a task's queues with queue time as the timestamp: decisions and releases with the key and
 * headers of their request, and slot messages to the task of another partition or of this one.
 *
 * @param nowMs returns the queue time in milliseconds
 */
record QueueForwarder(
        ProcessorContext<byte[], Object> context, Shape.Outlets outlets, EnforcerMetrics metrics, LongSupplier nowMs)
        implements Outlet, SlotMessenger {

    /** A message is read only after its transaction is committed. */
    private static final long EXPECTED_DELAY_MS = 150;

    @Override
    public void emitDecision(Admission of, Decision decision) {
        metrics.decidedByQueue(decision);
        forward(of, decision.withContext(of.context()), outlets.decisions());
    }

    @Override
    public void emitRelease(Admission of, Release release) {
        metrics.released(release, nowMs.getAsLong());
        forward(of, release, outlets.releases());
    }

    private void forward(Admission of, Object value, String node) {
        byte[] key = of.request().client().getBytes(StandardCharsets.UTF_8);
        context.forward(new Record<>(key, value, nowMs.getAsLong(), CarriedHeaders.to(of.headers())), node);
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
