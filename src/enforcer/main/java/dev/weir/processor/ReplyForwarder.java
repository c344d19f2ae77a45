package dev.weir.processor;

import dev.weir.event.Decision;
import dev.weir.metrics.EnforcerMetrics;
import java.util.OptionalInt;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.streams.processor.api.ProcessorContext;
import org.apache.kafka.streams.processor.api.Record;

/**
 * Forwards a decision to the topic of replies as well, if its request has selected a partition there. An invalid
 * selection is counted and otherwise ignored.
 *
 * @param node the name of the node that receives the {@link DecisionReply}s
 */
record ReplyForwarder(
        ProcessorContext<byte[], Object> context, String node, ReplyPartitions partitions, EnforcerMetrics metrics) {

    /** Forwards a decision. {@code record} has the key, timestamp and headers that it is written with. */
    void forward(Record<byte[], ?> record, Decision decision) {
        Header header = record.headers().lastHeader(ReplyPartitions.HEADER);
        if (header == null) {
            return;
        }
        OptionalInt partition = partitions.selected(header);
        if (partition.isPresent()) {
            context.forward(record.withValue(new DecisionReply(decision, partition.getAsInt())), node);
        } else {
            metrics.replyIgnored();
        }
    }
}
