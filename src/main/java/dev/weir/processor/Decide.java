package dev.weir.processor;

import dev.weir.config.WeirConfig;
import dev.weir.policy.Admission;
import dev.weir.policy.Decider;
import dev.weir.policy.Decision;
import dev.weir.policy.FirstAnswers;
import dev.weir.policy.Request;
import dev.weir.policy.Ruling;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.streams.processor.Cancellable;
import org.apache.kafka.streams.processor.PunctuationType;
import org.apache.kafka.streams.processor.api.Processor;
import org.apache.kafka.streams.processor.api.ProcessorContext;
import org.apache.kafka.streams.processor.api.Record;

/** Answers each request with a decision, or sends it to the queue that will. */
public final class Decide implements Processor<byte[], Request, byte[], Object> {

    private final LivePolicies policies;
    private final WeirConfig.State config;
    private final LiveCounts counts;
    private final StoreNames stores;
    private final Outlets outlets;
    private ProcessorContext<byte[], Object> context;
    private StoreStates states;
    private StateSweep sweep;
    private Cancellable sweeping;

    /** The stores: what was used of the policies, the segments of logs, and first answers. */
    public record StoreNames(String states, String segments, String answers) {}

    /** The nodes that take what comes out. */
    public record Outlets(String decisions, String admissions) {}

    public Decide(
            LivePolicies policies, LiveCounts counts, WeirConfig.State config, StoreNames stores, Outlets outlets) {
        this.policies = policies;
        this.counts = counts;
        this.config = config;
        this.stores = stores;
        this.outlets = outlets;
    }

    @Override
    public void init(ProcessorContext<byte[], Object> processorContext) {
        context = processorContext;
        HotStates store = context.getStateStore(stores.states);
        FirstAnswers firstAnswers = StoreFirstAnswers.open(context.getStateStore(stores.answers), config);
        states = new StoreStates(store, context.getStateStore(stores.segments), firstAnswers);
        sweep = new StateSweep(
                store, states, config.sweepKeys(), config.forgetAfter().toMillis());
        if (sweeping != null) {
            sweeping.cancel(); // of a task that failed and is revived
        }
        sweeping = context.schedule(config.sweepEvery(), PunctuationType.WALL_CLOCK_TIME, sweep::run);
    }

    @Override
    public void process(Record<byte[], Request> request) {
        sweep.observe(request.value().timestampMs());
        Ruling ruling = Decider.decide(request.value(), policies.table(), states);
        if (ruling instanceof Decision decision) {
            counts.decided(decision);
            counts.answered(context.currentSystemTimeMs() - request.timestamp());
            context.forward(request.withValue(decision), outlets.decisions);
        } else {
            admit(request, (Admission) ruling);
        }
    }

    /** The headers go with the admission, and from there with the release. */
    private void admit(Record<byte[], Request> request, Admission admission) {
        List<Admission.Header> headers = new ArrayList<>();
        for (Header header : request.headers()) {
            headers.add(new Admission.Header(header.key(), header.value()));
        }
        byte[] queue = admission.queue().getBytes(StandardCharsets.UTF_8);
        context.forward(new Record<>(queue, admission.withHeaders(headers), request.timestamp()), outlets.admissions);
    }
}
