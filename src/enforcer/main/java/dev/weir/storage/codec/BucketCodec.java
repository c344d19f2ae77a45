package dev.weir.storage.codec;

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
import dev.weir.shape.store.ScheduleKey;
import dev.weir.shape.timer.TimerKey;
import dev.weir.shape.total.OutflowState;
import dev.weir.time.DueTime;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * Encodes the state of a bucket. The state is written with each release, so the format is short for flows in which one
 * request waits. Numbers are encoded as in {@link StateBytes}; signed ones are marked ±.
 *
 * <pre>
 *   bucket   version  limit  per  burst  outflow (as in {@link QueueCodec})
 *            timers (n × has tier, tier if so, epoch start width index)  flags
 *            with flag 1: flows (n × flow)  expiry timers (n × bucket next live cursor)
 *            with flag 2: tiers (n × name tags)  priorities (n × priority± tags)  owed (n × tier hundredths±, 1 if held)
 *            with flag 4: tokens of a single flow ahead±, weight
 *            with flag 8: attempts (n × tier value position number cost slots stage until± start±)
 *            with flag 16: times (n × has flow, tier value if so, eighths)
 *            with flag 32: the requests that wait for their time, the time and number of the first
 *            flag 64: the order of the flows counts the time of slots
 *   flow     tier  value  flags  first  cost  number  enqueuedAt±
 *            expiresAt± without flag 1  latest expiry± without flag 2
 *            without flag 4: size − 1, last − first, tokens, tail number − number, tail cost,
 *                            counted tokens, start of the newer generation − first, older and newer generation
 *   generation  flags  with flag 8: least cost, largest cost − least cost
 *            in time± and after expiry±, in nanoseconds, without flags 1 (never expires) and 16 (unknown)
 *   tags     part  weight  n × (name  whole tokens±  part  weight  1 if a finish + 2 if away + 4 if held)
 * </pre>
 *
 * Expiry times are relative to {@code enqueuedAt}.
 */
public final class BucketCodec {

    private static final int VERSION = 1;
    private static final int LISTED = 1;
    private static final int TAGGED = 2;
    private static final int SINGLE_FLOW = 4;
    private static final int ATTEMPTS = 8;
    private static final int TIMES = 16;
    private static final int SCHEDULED = 32;
    private static final int SLOT_TIME = 64;

    private static final List<AttemptSummary.Stage> STAGES =
            List.of(AttemptSummary.Stage.IN_FLIGHT, AttemptSummary.Stage.BACKOFF, AttemptSummary.Stage.DUE);

    private static final int NEVER_EXPIRES = 1;
    private static final int LATEST_IS_HEAD = 2;
    private static final int SINGLE = 4;
    private static final int COSTS = 8;
    private static final int UNKNOWN = 16;

    private static final long NANOS_PER_MS = 1_000_000;

    private static final int FINISH = 1;
    private static final int AWAY = 2;
    private static final int HELD = 4;

    private BucketCodec() {}

    public static byte[] encode(BucketState state) {
        StateBytes out = StateBytes.toWrite(VERSION);
        out.write(state.limit());
        out.write(state.perMs());
        out.write(state.burst());
        QueueCodec.write(state.outflow(), out);
        out.write(state.timers().size());
        for (TimerKey timer : state.timers()) {
            out.writeByte(timer.tier() == null ? 0 : 1);
            if (timer.tier() != null) {
                out.write(timer.tier());
            }
            out.write(timer.epoch());
            out.write(timer.startNanos());
            out.writeByte(timer.widthBits());
            out.write(timer.index());
        }
        BucketContents contents = state.contents();
        FlowOrder order = contents == null ? null : contents.order();
        boolean hasAttempts = contents != null && !contents.attempts().isEmpty();
        boolean hasTimes = contents != null && !contents.times().isEmpty();
        out.writeByte((contents == null ? 0 : LISTED)
                | (hasAttempts ? ATTEMPTS : 0)
                | (hasTimes ? TIMES : 0)
                | (contents != null && contents.isSlotTime() ? SLOT_TIME : 0)
                | (state.schedule().first().isPresent() ? SCHEDULED : 0)
                | (order instanceof TaggedFlows ? TAGGED : order instanceof SingleFlow ? SINGLE_FLOW : 0));
        if (contents != null) {
            out.write(contents.flows().size());
            contents.flows().forEach(flow -> write(flow, out));
            out.write(contents.expiryTimers().size());
            for (ExpiryTimerCount timer : contents.expiryTimers()) {
                out.write(timer.interval());
                out.write(timer.next());
                out.write(timer.live());
                out.write(timer.cursor());
            }
        }
        if (order instanceof TaggedFlows tagged) {
            write(tagged, out);
        } else if (order instanceof SingleFlow single) {
            out.writeSigned(single.ahead());
            out.write(single.weight());
        }
        if (hasAttempts) {
            write(contents.attempts(), out);
        }
        if (hasTimes) {
            writeTimes(contents.times(), out);
        }
        state.schedule().first().ifPresent(first -> {
            out.write(state.schedule().requests());
            out.write(first.atMs());
            out.write(first.number());
        });
        return out.written();
    }

    /** @throws IllegalStateException if the bytes are not a bucket's state, that is, if the store is damaged */
    public static BucketState decode(BucketId id, byte[] bytes) {
        StateBytes in = StateBytes.toRead(bytes, VERSION, "a bucket's state");
        long limit = in.read();
        long perMs = in.read();
        long burst = in.read();
        OutflowState outflow = QueueCodec.readOutflow(in);
        List<TimerKey> timers = new ArrayList<>(1);
        for (long left = in.read(); left > 0; left--) {
            String tier = in.readByte() == 0 ? null : in.readText();
            timers.add(new TimerKey(id.queue(), tier, in.read(), in.read(), in.readByte(), in.read()));
        }
        int flags = in.readByte();
        BucketContents contents = (flags & LISTED) == 0 ? null : readContents(in, flags);
        ScheduleSummary schedule = (flags & SCHEDULED) == 0
                ? ScheduleSummary.NONE
                : new ScheduleSummary(in.read(), Optional.of(new ScheduleKey(in.read(), in.read())));
        return new BucketState(id, limit, perMs, burst, outflow, contents, schedule, timers);
    }

    private static BucketContents readContents(StateBytes in, int bucketFlags) {
        List<FlowSummary> flows = new ArrayList<>(1);
        for (long left = in.read(); left > 0; left--) {
            flows.add(readFlow(in));
        }
        List<ExpiryTimerCount> expiryTimers = new ArrayList<>(0);
        for (long left = in.read(); left > 0; left--) {
            expiryTimers.add(new ExpiryTimerCount(in.read(), in.read(), in.read(), in.read()));
        }
        FlowOrder order = readOrder(in, bucketFlags);
        List<AttemptSummary> attempts = (bucketFlags & ATTEMPTS) == 0 ? List.of() : readAttempts(in);
        List<FlowTime> times = (bucketFlags & TIMES) == 0 ? List.of() : readTimes(in);
        return new BucketContents(flows, (bucketFlags & SLOT_TIME) != 0, order, expiryTimers, attempts, times);
    }

    private static void writeTimes(List<FlowTime> times, StateBytes out) {
        out.write(times.size());
        for (FlowTime time : times) {
            out.writeByte(time.flow().isPresent() ? 1 : 0);
            time.flow().ifPresent(flow -> {
                out.write(flow.tier());
                out.write(flow.value());
            });
            out.write(time.eighths());
        }
    }

    private static List<FlowTime> readTimes(StateBytes in) {
        List<FlowTime> times = new ArrayList<>();
        for (long left = in.read(); left > 0; left--) {
            boolean isOfFlow = in.readByte() == 1;
            times.add(
                    isOfFlow
                            ? FlowTime.of(new Flow(in.readText(), in.readText()), in.read())
                            : FlowTime.ofAll(in.read()));
        }
        return times;
    }

    private static void write(List<AttemptSummary> attempts, StateBytes out) {
        out.write(attempts.size());
        for (AttemptSummary attempt : attempts) {
            out.write(attempt.flow().tier());
            out.write(attempt.flow().value());
            out.write(attempt.position());
            out.write(attempt.number());
            out.write(attempt.cost());
            out.write(attempt.slots());
            out.writeByte(STAGES.indexOf(attempt.stage()));
            out.writeSigned(attempt.untilMs());
            out.writeSigned(attempt.startedAtMs());
        }
    }

    private static List<AttemptSummary> readAttempts(StateBytes in) {
        List<AttemptSummary> attempts = new ArrayList<>();
        for (long left = in.read(); left > 0; left--) {
            Flow flow = new Flow(in.readText(), in.readText());
            attempts.add(new AttemptSummary(
                    flow,
                    in.read(),
                    in.read(),
                    in.read(),
                    in.read(),
                    STAGES.get(in.readByte()),
                    in.readSigned(),
                    in.readSigned()));
        }
        return attempts;
    }

    private static void write(FlowSummary flow, StateBytes out) {
        boolean neverExpires = flow.head().expiresAtMs() == DueTime.NEVER;
        boolean latestIsHead = flow.latestExpiryMs() == flow.head().expiresAtMs();
        boolean isSingle = flow.size() == 1;
        out.write(flow.flow().tier());
        out.write(flow.flow().value());
        out.writeByte(
                (neverExpires ? NEVER_EXPIRES : 0) | (latestIsHead ? LATEST_IS_HEAD : 0) | (isSingle ? SINGLE : 0));
        out.write(flow.head().position());
        out.write(flow.head().cost());
        out.write(flow.head().number());
        out.writeSigned(flow.head().enqueuedAtMs());
        if (!neverExpires) {
            out.writeSigned(flow.head().expiresAtMs() - flow.head().enqueuedAtMs());
        }
        if (!latestIsHead) {
            out.writeSigned(flow.latestExpiryMs() - flow.head().enqueuedAtMs()); // an overflow is undone by the reader
        }
        if (!isSingle) {
            out.write(flow.size() - 1);
            out.write(flow.tail().position() - flow.head().position());
            out.write(flow.tokens());
            out.write(flow.tail().number() - flow.head().number());
            out.write(flow.tail().cost());
            BoundsSummary bounds = flow.bounds();
            out.write(bounds.tokens());
            out.write(bounds.newerFrom() - flow.head().position());
            write(bounds.older(), flow, out);
            write(bounds.newer(), flow, out);
        }
    }

    private static void write(GenerationSummary generation, FlowSummary flow, StateBytes out) {
        boolean hasCosts = generation.leastCost() <= generation.largestCost();
        boolean isNever = generation.inTimeNanos() == DueTime.NEVER && generation.afterExpiryNanos() == DueTime.NEVER;
        boolean isUnknown =
                generation.inTimeNanos() == Long.MIN_VALUE && generation.afterExpiryNanos() == Long.MIN_VALUE;
        out.writeByte((hasCosts ? COSTS : 0) | (isNever ? NEVER_EXPIRES : 0) | (isUnknown ? UNKNOWN : 0));
        if (hasCosts) {
            out.write(generation.leastCost());
            out.write(generation.largestCost() - generation.leastCost());
        }
        if (!isNever && !isUnknown) {
            long sinceNanos = flow.head().enqueuedAtMs() * NANOS_PER_MS;
            out.writeSigned(generation.inTimeNanos() - sinceNanos); // overflows are undone by the reader
            out.writeSigned(generation.afterExpiryNanos() - sinceNanos);
        }
    }

    private static GenerationSummary readGeneration(long headEnqueuedAtMs, StateBytes in) {
        int flags = in.readByte();
        boolean hasCosts = (flags & COSTS) != 0;
        long least = hasCosts ? in.read() : GenerationSummary.EMPTY.leastCost();
        long largest = hasCosts ? least + in.read() : GenerationSummary.EMPTY.largestCost();
        if ((flags & (NEVER_EXPIRES | UNKNOWN)) != 0) {
            long nanos = (flags & UNKNOWN) != 0 ? Long.MIN_VALUE : DueTime.NEVER;
            return new GenerationSummary(least, largest, nanos, nanos);
        }
        long sinceNanos = headEnqueuedAtMs * NANOS_PER_MS;
        return new GenerationSummary(least, largest, sinceNanos + in.readSigned(), sinceNanos + in.readSigned());
    }

    private static FlowSummary readFlow(StateBytes in) {
        Flow flow = new Flow(in.readText(), in.readText());
        int flags = in.readByte();
        long first = in.read();
        long cost = in.read();
        long number = in.read();
        long enqueuedAtMs = in.readSigned();
        long expiresAtMs = (flags & NEVER_EXPIRES) != 0 ? DueTime.NEVER : enqueuedAtMs + in.readSigned();
        long latestMs = (flags & LATEST_IS_HEAD) != 0 ? expiresAtMs : enqueuedAtMs + in.readSigned();
        boolean isSingle = (flags & SINGLE) != 0;
        long size = isSingle ? 1 : 1 + in.read();
        long last = isSingle ? first : first + in.read();
        long tokens = isSingle ? FlowSummary.cappedCost(cost) : in.read();
        long tailNumber = isSingle ? number : number + in.read();
        long tailCost = isSingle ? cost : in.read();
        BoundsSummary bounds = isSingle
                ? null
                : new BoundsSummary(
                        in.read(),
                        first + in.read(),
                        readGeneration(enqueuedAtMs, in),
                        readGeneration(enqueuedAtMs, in));
        return new FlowSummary(
                flow,
                size,
                tokens,
                new FlowSummary.FirstRequest(first, cost, number, enqueuedAtMs, expiresAtMs),
                new FlowSummary.LastRequest(last, tailCost, tailNumber),
                latestMs,
                bounds);
    }

    private static void write(TaggedFlows order, StateBytes out) {
        out.write(order.tiers().size());
        for (TierOrder tier : order.tiers()) {
            out.write(tier.tier());
            write(tier.flows(), out);
        }
        out.write(order.priorities().size());
        for (PriorityOrder priority : order.priorities()) {
            out.writeSigned(priority.priority());
            write(priority.tiers(), out);
        }
        out.write(order.owed().size());
        for (TierOwed owed : order.owed()) {
            out.write(owed.tier());
            out.writeSigned(owed.hundredths());
            out.writeByte(owed.isHeld() ? 1 : 0);
        }
    }

    private static FlowOrder readOrder(StateBytes in, int bucketFlags) {
        if ((bucketFlags & TAGGED) == 0) {
            return (bucketFlags & SINGLE_FLOW) == 0 ? null : new SingleFlow(in.readSigned(), in.read());
        }
        List<TierOrder> tiers = new ArrayList<>();
        for (long left = in.read(); left > 0; left--) {
            tiers.add(new TierOrder(in.readText(), readTags(in)));
        }
        List<PriorityOrder> priorities = new ArrayList<>();
        for (long left = in.read(); left > 0; left--) {
            priorities.add(new PriorityOrder((int) in.readSigned(), readTags(in)));
        }
        List<TierOwed> owed = new ArrayList<>(0);
        for (long left = in.read(); left > 0; left--) {
            owed.add(new TierOwed(in.readText(), in.readSigned(), in.readByte() == 1));
        }
        return new TaggedFlows(tiers, priorities, owed);
    }

    private static void write(Tags tags, StateBytes out) {
        out.write(tags.part());
        out.write(tags.weight());
        out.write(tags.members().size());
        for (MemberTag member : tags.members()) {
            out.write(member.member());
            out.writeSigned(member.ahead());
            out.write(member.part());
            out.write(member.weight());
            out.writeByte(
                    (member.isFinish() ? FINISH : 0) | (member.isAway() ? AWAY : 0) | (member.isHeld() ? HELD : 0));
        }
    }

    private static Tags readTags(StateBytes in) {
        long part = in.read();
        long weight = in.read();
        List<MemberTag> members = new ArrayList<>();
        for (long left = in.read(); left > 0; left--) {
            String member = in.readText();
            long ahead = in.readSigned();
            long memberPart = in.read();
            long memberWeight = in.read();
            int flags = in.readByte();
            members.add(new MemberTag(
                    member,
                    ahead,
                    memberPart,
                    memberWeight,
                    (flags & FINISH) != 0,
                    (flags & AWAY) != 0,
                    (flags & HELD) != 0));
        }
        return new Tags(part, weight, members);
    }
}
