package dev.weir.shape.backlog;

import dev.weir.shape.backlog.BucketContents.FlowTime;
import dev.weir.shape.rules.Flow;
import dev.weir.shape.rules.InFlightRules;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * How long an attempt is expected to occupy its slots: a moving average of those of its flow that have ended, each with
 * a weight of 1/8 (V. Jacobson: <i>Congestion avoidance and control</i>, SIGCOMM 1988). It is kept for the {@value
 * #MAX_FLOWS} flows whose attempts ended last. For another one, the average of all attempts of the bucket is used; before
 * the first has ended, {@value #FIRST_MS} ms, or the {@code ack-timeout} if that is shorter.
 *
 * <pre>
 *   first attempt lasts 800 ms    average 800
 *   the next one       1600 ms    average 800 + (1600 − 800) / 8 = 900
 * </pre>
 *
 * <p>Averages are kept in eighths of a millisecond, and are exact functions of the attempts that have ended, in their
 * order.
 */
final class ServiceTimes {

    static final int MAX_FLOWS = 16;
    static final long FIRST_MS = 1_000;

    private static final int SHIFT = 3;

    private Map<Flow, Long> ofFlows = Map.of(); // in eighths; the one that changed last is last
    private long ofAll; // in eighths; 0 if no attempt has ended

    ServiceTimes() {}

    /** Restores what {@link #summary} returned. */
    void restore(List<FlowTime> summary) {
        for (FlowTime time : summary) {
            makeRoom();
            if (time.flow().isPresent()) {
                ofFlows.put(time.flow().get(), time.eighths());
            } else {
                ofAll = time.eighths();
            }
        }
    }

    /** Returns all averages. */
    List<FlowTime> summary() {
        List<FlowTime> all = new ArrayList<>(size());
        if (ofAll > 0) {
            all.add(FlowTime.ofAll(ofAll));
        }
        ofFlows.forEach((flow, eighths) -> all.add(FlowTime.of(flow, eighths)));
        return all;
    }

    /** Returns the number of averages. */
    int size() {
        return ofFlows.size() + (ofAll > 0 ? 1 : 0);
    }

    /** Returns how long the next attempt of a flow is expected to last, in milliseconds: 1 to {@code max-duration}. */
    long expectedMs(Flow flow, InFlightRules rules) {
        long eighths = ofFlows.getOrDefault(flow, ofAll);
        long ms = eighths > 0 ? eighths >> SHIFT : Math.min(FIRST_MS, rules.ackTimeoutMs());
        return Math.max(1, Math.min(ms, rules.maxDurationMs()));
    }

    /** Records that an attempt of a flow has ended. */
    void record(Flow flow, long lastedMs) {
        makeRoom();
        ofAll = next(ofAll, lastedMs);
        Long before = ofFlows.remove(flow);
        ofFlows.put(flow, next(before == null ? 0 : before, lastedMs));
        if (ofFlows.size() > MAX_FLOWS) {
            ofFlows.remove(ofFlows.keySet().iterator().next());
        }
    }

    /** Makes room for the first average. Most buckets have none, and there are many buckets. */
    private void makeRoom() {
        if (ofFlows.isEmpty()) {
            ofFlows = new LinkedHashMap<>();
        }
    }

    private static long next(long eighths, long lastedMs) {
        long sample = Math.max(1, lastedMs);
        return eighths == 0 ? sample << SHIFT : eighths + sample - (eighths >> SHIFT);
    }

    /** Forgets all of them. */
    void clear() {
        ofFlows = Map.of();
        ofAll = 0;
    }
}
