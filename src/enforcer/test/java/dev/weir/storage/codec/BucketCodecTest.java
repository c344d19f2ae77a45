package dev.weir.storage.codec;

import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.shape.backlog.BucketContents;
import dev.weir.shape.backlog.BucketContents.AttemptSummary;
import dev.weir.shape.backlog.BucketContents.BoundsSummary;
import dev.weir.shape.backlog.BucketContents.ExpiryTimerCount;
import dev.weir.shape.backlog.BucketContents.FlowSummary;
import dev.weir.shape.backlog.BucketContents.FlowTime;
import dev.weir.shape.backlog.BucketContents.GenerationSummary;
import dev.weir.shape.backlog.ScheduleSummary;
import dev.weir.shape.effect.BucketState;
import dev.weir.shape.fair.FlowOrder;
import dev.weir.shape.fair.FlowOrder.MemberTag;
import dev.weir.shape.fair.FlowOrder.PriorityOrder;
import dev.weir.shape.fair.FlowOrder.SingleFlow;
import dev.weir.shape.fair.FlowOrder.TaggedFlows;
import dev.weir.shape.fair.FlowOrder.Tags;
import dev.weir.shape.fair.FlowOrder.TierOrder;
import dev.weir.shape.fair.FlowOrder.TierOwed;
import dev.weir.shape.rules.BucketId;
import dev.weir.shape.rules.Flow;
import dev.weir.shape.rules.Pacing;
import dev.weir.shape.store.ScheduleKey;
import dev.weir.shape.timer.TimerKey;
import dev.weir.shape.total.OutflowState;
import dev.weir.storage.QueueKeys;
import dev.weir.time.DueTime;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

class BucketCodecTest {

    private static final BucketId ID = new BucketId("q", List.of("destination", "example.com"));
    private static final long MS = 1_795_219_200_000L;
    private static final OutflowState OUTFLOW =
            new OutflowState(new Pacing.Arrival(MS * 1_000_000 + 1, 12), MS * 1_000_000, 77, MS * 1_000_000 - 5);

    private static FlowSummary single(String client, long expiresAtMs, long latestMs) {
        return new FlowSummary(
                new Flow("", client),
                1,
                2,
                new FlowSummary.FirstRequest(3, 2, 1_000, MS, expiresAtMs),
                new FlowSummary.LastRequest(3, 2, 1_000),
                latestMs,
                null);
    }

    private static FlowSummary several(GenerationSummary older, GenerationSummary newer) {
        BoundsSummary bounds = new BoundsSummary(17, 6, older, newer);
        return new FlowSummary(
                new Flow("złoty", "c"),
                4,
                11,
                new FlowSummary.FirstRequest(3, 2, 0, 0, 1),
                new FlowSummary.LastRequest(9, 5, Long.MAX_VALUE),
                2,
                bounds);
    }

    private static final List<AttemptSummary> ATTEMPTS = List.of(
            new AttemptSummary(
                    new Flow("gold", "c"), 1L << 40, 1L << 41, 3, 2, AttemptSummary.Stage.IN_FLIGHT, MS + 30_000, MS),
            new AttemptSummary(new Flow("", ""), 7, 9, 0, 0, AttemptSummary.Stage.BACKOFF, MS + 1_000, 0),
            new AttemptSummary(new Flow("gold", "d"), 0, 0, 1, 0, AttemptSummary.Stage.DUE, 0, 0));

    @Test
    void states_survive_a_round_trip() {
        List<FlowSummary> flows = List.of(
                single("never", DueTime.NEVER, DueTime.NEVER),
                single("soon", MS + 500, MS + 500),
                single("by expiry timer only", MS - 500, Long.MIN_VALUE),
                single("large", 0, DueTime.NEVER),
                several(new GenerationSummary(1, 9, MS * 1_000_000, MS * 1_000_000 - 7), GenerationSummary.EMPTY),
                several(
                        new GenerationSummary(0, 0, Long.MIN_VALUE, Long.MIN_VALUE),
                        new GenerationSummary(3, 1L << 35, 5, Long.MIN_VALUE)));
        Tags tags = new Tags(
                720_719,
                10_000,
                List.of(
                        new MemberTag("a", 1L << 61, 7, 10_000, true, true, false),
                        new MemberTag("b", -5, 0, 1, true, false, true),
                        new MemberTag("", 0, 3, 7, false, false, false)));
        FlowOrder order = new TaggedFlows(
                List.of(new TierOrder("", tags)),
                List.of(new PriorityOrder(Integer.MIN_VALUE, tags)),
                List.of(new TierOwed("", -(1L << 60), true), new TierOwed("gold", 7, false)));
        FlowOrder single = new SingleFlow(-(1L << 60), 1 << 21);
        List<FlowTime> times = List.of(FlowTime.ofAll(1L << 40), FlowTime.of(new Flow("gold", "c"), 8));
        List<ExpiryTimerCount> expiryTimers = List.of(new ExpiryTimerCount(MS / 100, 9, 2, 5));
        List<TimerKey> timers = List.of(
                new TimerKey("q", null, 3, MS * 1_000_000, 62, 1L << 40), new TimerKey("q", "gold", 3, MS, 2, 0));
        for (BucketState state : List.of(
                new BucketState(ID, 1, 1_000, 1, OUTFLOW, null, List.of()),
                new BucketState(ID, 1, 1_000, 1, OUTFLOW, null, List.of())
                        .withSchedule(new ScheduleSummary(1_000_000, Optional.of(new ScheduleKey(1L << 41, 7)))),
                new BucketState(ID, Long.MAX_VALUE, 1, 1L << 40, OUTFLOW, BucketContents.EMPTY, timers),
                new BucketState(ID, 5, 7, 9, OUTFLOW, new BucketContents(flows, null, List.of()), timers),
                new BucketState(
                        ID, 5, 7, 9, OUTFLOW, new BucketContents(flows.subList(4, 5), single, expiryTimers), timers),
                new BucketState(ID, 5, 7, 9, OUTFLOW, new BucketContents(flows, order, expiryTimers), List.of()),
                new BucketState(
                        ID,
                        5,
                        7,
                        9,
                        OUTFLOW,
                        new BucketContents(flows, true, order, List.of(), ATTEMPTS, times),
                        timers),
                new BucketState(
                        ID,
                        5,
                        7,
                        9,
                        OUTFLOW,
                        new BucketContents(List.of(), false, null, List.of(), ATTEMPTS, List.of()),
                        timers))) {
            assertThat(BucketCodec.decode(ID, BucketCodec.encode(state))).isEqualTo(state);
        }
    }

    /** The state is written with each release, so its size matters. */
    @Test
    void a_bucket_with_one_waiting_request_takes_less_than_80_bytes() {
        BucketContents contents =
                new BucketContents(List.of(single("client-1", MS + 60_000, MS + 60_000)), null, List.of());
        assertThat(BucketCodec.encode(new BucketState(ID, 5, 1_000, 1, OUTFLOW, contents, List.of())))
                .hasSizeLessThan(80);
    }

    @Test
    void the_order_of_the_bytes_of_timers_is_that_of_epoch_start_width_and_index() {
        List<TimerKey> keys = List.of(
                new TimerKey("a", null, 0, 0, 0, 0),
                new TimerKey("a", null, 0, 0, 0, 256),
                new TimerKey("a", null, 0, 0, 2, 1),
                new TimerKey("a", null, 0, 300, 0, 1),
                new TimerKey("a", null, 1, 2, 0, 0),
                new TimerKey("a", "", 0, 0, 0, 0),
                new TimerKey("a", "free", 0, 0, 0, 0),
                new TimerKey("a", "gold", 0, 0, 0, 0),
                new TimerKey("ab", null, 0, 0, 0, 0));
        List<byte[]> bytes = keys.stream().map(QueueKeys::timer).toList();
        assertThat(bytes).isSortedAccordingTo(Arrays::compareUnsigned).doesNotHaveDuplicates();
    }
}
