package dev.weir.processor;

import dev.weir.config.WeirConfig;
import dev.weir.policy.Decider;
import dev.weir.policy.Decision;
import dev.weir.policy.Request;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.processor.PunctuationType;
import org.apache.kafka.streams.processor.api.Processor;
import org.apache.kafka.streams.processor.api.ProcessorContext;
import org.apache.kafka.streams.processor.api.Record;
import org.apache.kafka.streams.state.KeyValueStore;

/** Answers each request with a decision. */
public final class Decide implements Processor<byte[], Request, byte[], Decision> {

    private final LivePolicies policies;
    private final WeirConfig.State config;
    private final String statesStore;
    private final String segmentsStore;
    private ProcessorContext<byte[], Decision> context;
    private StoreStates states;
    private StateSweep sweep;

    public Decide(LivePolicies policies, WeirConfig.State config, String statesStore, String segmentsStore) {
        this.policies = policies;
        this.config = config;
        this.statesStore = statesStore;
        this.segmentsStore = segmentsStore;
    }

    @Override
    public void init(ProcessorContext<byte[], Decision> processorContext) {
        context = processorContext;
        KeyValueStore<Bytes, byte[]> store = context.getStateStore(statesStore);
        states = new StoreStates(store, context.getStateStore(segmentsStore));
        sweep = new StateSweep(
                store, states, config.sweepKeys(), config.forgetAfter().toMillis());
        context.schedule(config.sweepEvery(), PunctuationType.WALL_CLOCK_TIME, now -> sweep.run());
    }

    @Override
    public void process(Record<byte[], Request> request) {
        sweep.observe(request.value().timestampMs());
        context.forward(request.withValue((Decision) Decider.decide(request.value(), policies.table(), states)));
    }
}
