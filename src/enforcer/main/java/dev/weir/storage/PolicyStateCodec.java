package dev.weir.storage;

import dev.weir.decision.state.PolicyState;
import dev.weir.event.StateKey;
import dev.weir.limit.LimitAccount;
import dev.weir.limit.SegmentedState;
import dev.weir.limit.SlidingWindowLog.Log;
import dev.weir.limit.Slots;
import dev.weir.limit.segment.LogSegment;
import dev.weir.storage.codec.CorrectionsCodec;
import dev.weir.storage.codec.StateCodec;
import dev.weir.storage.codec.WriteBackCodec;
import dev.weir.wire.KeyCodec;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.state.KeyValueStore;

/**
 * The codec of policy states. States with logs, which can be long, are cached in decoded form.
 *
 * @param segments the store of the full segments of the logs
 */
record PolicyStateCodec(KeyValueStore<Bytes, byte[]> segments) implements WriteBackCodec<StateKey, PolicyState> {

    private static final int STATE_BYTES = 128;
    private static final int ACCOUNT_BYTES = 176;
    private static final int LOG_BYTES = 240;
    private static final int BYTES_PER_LOG_ENTRY = 16;
    private static final int BYTES_PER_CORRECTION = 112;
    private static final int BYTES_PER_ORIGIN = 24;
    private static final int BYTES_PER_DELAYED = 56; // with a reference

    @Override
    public byte[] encodeKey(StateKey key) {
        return KeyCodec.encode(key);
    }

    @Override
    public byte[] encode(PolicyState state) {
        return StateCodec.encode(state);
    }

    @Override
    public PolicyState decode(byte[] key, byte[] state, int length) {
        return StateCodec.decode(state, length, logId -> new StoredSegments(segments, key, logId));
    }

    @Override
    public boolean isKeptDecoded(PolicyState state) {
        for (LimitAccount<?> account : state.allAccounts()) {
            if (account.state() instanceof SegmentedState) {
                return true;
            }
        }
        return !state.retired().isEmpty() || !state.delayed().isEmpty();
    }

    @Override
    public int heapBytes(PolicyState state) {
        int bytes = STATE_BYTES;
        for (LimitAccount<?> account : state.allAccounts()) {
            bytes += ACCOUNT_BYTES + (account.state() instanceof SegmentedState one ? heapBytes(one) : 0);
            bytes += BYTES_PER_CORRECTION * CorrectionsCodec.size(account.state());
        }
        for (SegmentedState one : state.retired()) {
            bytes += heapBytes(one);
        }
        bytes += BYTES_PER_ORIGIN * state.reserved().origins().size();
        return bytes + BYTES_PER_DELAYED * state.delayed().size();
    }

    /** Returns the size including the segment that the log or the slots cache. */
    private static int heapBytes(SegmentedState state) {
        if (state instanceof Slots slots) {
            int cached = slots.root().size() > 0 ? LogSegment.CAPACITY : 0;
            return LOG_BYTES
                    + BYTES_PER_LOG_ENTRY
                            * (slots.recent().size() + slots.root().size() + cached);
        }
        Log log = (Log) state;
        int entriesOfSegments = log.headNumber() < log.segments().end() ? LogSegment.CAPACITY : 0;
        return LOG_BYTES + BYTES_PER_LOG_ENTRY * (log.tail().size() + entriesOfSegments);
    }
}
