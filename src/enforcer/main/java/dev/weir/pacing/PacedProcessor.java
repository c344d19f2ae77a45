package dev.weir.pacing;

import org.apache.kafka.streams.processor.api.Processor;
import org.apache.kafka.streams.processor.api.ProcessorContext;
import org.apache.kafka.streams.processor.api.Record;

/** A processor that reports its work to the {@link ThreadPace} of its thread. */
final class PacedProcessor<A, B, C, D> implements Processor<A, B, C, D> {

    private final Processor<A, B, C, D> processor;
    private final CommitPacing pacing;
    private ThreadPace pace; // null until it is initialized
    private ProcessorContext<C, D> context;

    PacedProcessor(Processor<A, B, C, D> processor, CommitPacing pacing) {
        this.processor = processor;
        this.pacing = pacing;
    }

    @Override
    public void init(ProcessorContext<C, D> ofTask) {
        pace = pacing.ofThread();
        context = ofTask;
        processor.init(new PacedContext<>(context, pace));
        if (processor instanceof CacheOwner owner) {
            pace.open(owner);
        }
    }

    @Override
    public void process(Record<A, B> record) {
        processor.process(record);
        pace.work(context);
    }

    @Override
    public void close() {
        if (pace != null) {
            pace.close(context, processor);
        }
        processor.close();
    }
}
