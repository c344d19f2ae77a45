package dev.weir.decision;

import dev.weir.limit.LimitAccount;
import dev.weir.limit.LogSegment;
import dev.weir.limit.SegmentStore;
import dev.weir.limit.SlidingWindowLog.Log;
import java.util.HashMap;
import java.util.Map;

/** The segments of a log, overlaid with those of charges that are only tried. The log's own segments stay as they are. */
final class ScratchSegments implements SegmentStore {

    private final SegmentStore segments;
    private final Map<Long, LogSegment> written = new HashMap<>();

    private ScratchSegments(SegmentStore segments) {
        this.segments = segments;
    }

    /** Returns an account to which charges can be tried: they do not change the given account, nor its segments. */
    @SuppressWarnings("unchecked") // an account whose state is a Log has a limit for logs
    static LimitAccount<?> fork(LimitAccount<?> account) {
        return account.state() instanceof Log log
                ? new LimitAccount<>(
                        ((LimitAccount<Log>) account).limit(),
                        log.withSegments(log.id(), new ScratchSegments(log.segments())))
                : account;
    }

    @Override
    public LogSegment get(long number) {
        LogSegment own = written.get(number);
        return own == null ? segments.get(number) : own;
    }

    @Override
    public void put(long number, LogSegment segment) {
        written.put(number, segment);
    }

    /** Does nothing: a deleted segment is not read again. */
    @Override
    public void delete(long number) {}
}
