package dev.weir.codec;

import dev.weir.policy.DecisionContext;
import dev.weir.policy.DecisionOrder;

/** The last fields of a decision or an admission: the order and the checksum of the policies. */
final class ContextAvro {

    private ContextAvro() {}

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
