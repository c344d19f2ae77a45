package dev.weir.shape.fair;

import java.util.List;

/** The state of a {@link FairScheduler} on which the order of later releases depends. */
public sealed interface FlowOrder {

    /**
     * A single flow waits, and has been served since it waits.
     *
     * @param ahead how far its start is ahead of the virtual time, times its weight: the cost of the request that was
     *     served last, unless that was corrected
     * @param weight the weight of the flow
     */
    record SingleFlow(long ahead, long weight) implements FlowOrder {}

    /**
     * Several flows wait, or have waited.
     *
     * @param owed the state of the waiting tiers with a least share
     */
    record TaggedFlows(List<TierOrder> tiers, List<PriorityOrder> priorities, List<TierOwed> owed)
            implements FlowOrder {}

    /**
     * The state of a tier in {@link MinShares}.
     *
     * @param hundredths the service that it is owed; negative if it got more than its share
     * @param isHeld whether it waits for slots
     */
    record TierOwed(String tier, long hundredths, boolean isHeld) {}

    /** The flows of one tier, by the value of the field by which they share. */
    record TierOrder(String tier, Tags flows) {}

    /** The tiers of one priority. */
    record PriorityOrder(int priority, Tags tiers) {}

    /**
     * The state of a {@link StartTimeFairQueue}. Whole tokens count from those of its virtual time.
     *
     * @param part the part of the virtual time after its whole tokens, as in {@link VirtualTime}
     * @param weight the weight of the virtual time
     * @param members the tags, by ascending order
     */
    record Tags(long part, long weight, List<MemberTag> members) {}

    /**
     * The tag of one member.
     *
     * @param ahead the whole tokens of its time; negative if it was charged less than expected and lies in the past
     * @param part the part after them
     * @param weight the weight of its time
     * @param isFinish whether the time is the finish of a request that was served
     * @param isAway whether none of its requests wait
     * @param isHeld whether it is not served at present
     */
    record MemberTag(
            String member, long ahead, long part, long weight, boolean isFinish, boolean isAway, boolean isHeld) {}
}
