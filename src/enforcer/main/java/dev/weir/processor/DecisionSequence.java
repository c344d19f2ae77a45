package dev.weir.processor;

import dev.weir.event.DecisionContext;
import dev.weir.event.DecisionOrder;
import dev.weir.policy.PolicyTable;
import dev.weir.storage.codec.DecisionOrderCodec;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.state.KeyValueStore;

/** The position of a task in the sequence of its decisions. It is stored, so it is restored to the last commit. */
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

    /** Advances to a request of the task's own partition. Such requests are read in offset order. */
    void advanceTo(long offset) {
        lastOffset = offset;
        step = 0;
    }

    /** Returns the context of a decision that is made when the request's offset is read. */
    DecisionContext inOrder(PolicyTable table) {
        Long last = inOrder.policiesChecksum();
        if (last == null || last != table.checksum()) {
            inOrder = new DecisionContext(null, table.checksum());
        }
        return inOrder;
    }

    /** Returns the context of a decision that is made now, not when the request's offset was read. */
    DecisionContext outOfOrder(PolicyTable table) {
        return new DecisionContext(next(), table.checksum());
    }

    /** Returns the position of a decision that is made now, not when the request's offset was read. */
    DecisionOrder next() {
        step++;
        return new DecisionOrder(lastOffset, step);
    }

    /** Writes the position to the store if it has changed. Must be called before each commit. */
    void write() {
        DecisionOrder position = new DecisionOrder(lastOffset, step);
        if (!position.equals(stored)) {
            store.put(KEY, DecisionOrderCodec.encode(position));
            stored = position;
        }
    }
}
