package dev.weir.processor;

import dev.weir.event.DecisionContext;
import dev.weir.event.DecisionOrder;
import dev.weir.policy.PolicyTable;
import dev.weir.storage.DecisionOrderCodec;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.state.KeyValueStore;

/** The position of a task in the sequence of its decisions, restored from a store with what was committed. */
final class DecisionSequence {

    private static final Bytes KEY = Bytes.wrap(new byte[1]);

    private final KeyValueStore<Bytes, byte[]> store;
    private DecisionOrder stored;
    private long lastOffset;
    private int step;
    private DecisionContext inOrder = DecisionContext.UNKNOWN;

    DecisionSequence(KeyValueStore<Bytes, byte[]> store) {
        this.store = store;
        byte[] bytes = store.get(KEY);
        stored = bytes == null ? new DecisionOrder(-1, 0) : DecisionOrderCodec.decode(bytes);
        lastOffset = stored.afterOffset();
        step = stored.step();
    }

    /** Advances to a request of the task's own partition, which is taken in the order of its offset. */
    void advanceTo(long offset) {
        lastOffset = offset;
        step = 0;
    }

    /** The context of a decision that is taken in the order of the request's own offset. */
    DecisionContext inOrder(PolicyTable table) {
        Long last = inOrder.policiesChecksum();
        if (last == null || last != table.checksum()) {
            inOrder = new DecisionContext(null, table.checksum());
        }
        return inOrder;
    }

    /** The context of a decision that is taken now, not in the order of its own offset. */
    DecisionContext outOfOrder(PolicyTable table) {
        return new DecisionContext(next(), table.checksum());
    }

    /** The order of a decision that is taken now, not in the order of its own offset. */
    DecisionOrder next() {
        step++;
        return new DecisionOrder(lastOffset, step);
    }

    /** Writes the position to the store if it has changed. Call it before each commit. */
    void write() {
        DecisionOrder position = new DecisionOrder(lastOffset, step);
        if (!position.equals(stored)) {
            store.put(KEY, DecisionOrderCodec.encode(position));
            stored = position;
        }
    }
}
