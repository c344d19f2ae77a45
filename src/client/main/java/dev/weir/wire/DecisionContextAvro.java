package dev.weir.wire;

import dev.weir.event.DecisionContext;
import dev.weir.event.DecisionOrder;

/** The codec of the last fields of a decision or an admission: the order and the checksum of the policies. */
final class DecisionContextAvro {

    private DecisionContextAvro() {}

    static void write(DecisionContext context, BytesEncoder out) {
        if (out.writePresent(context.order())) {
            out.write(context.order().afterOffset());
            out.write(context.order().step());
        }
        out.writeOptional(context.policiesChecksum());
    }

    static DecisionContext read(dev.weir.avro.DecisionOrder order, Long policiesChecksum) {
        return order == null && policiesChecksum == null
                ? DecisionContext.UNKNOWN
                : new DecisionContext(
                        order == null ? null : new DecisionOrder(order.getAfterOffset(), order.getStep()),
                        policiesChecksum);
    }
}
