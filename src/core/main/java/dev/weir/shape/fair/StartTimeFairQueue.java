package dev.weir.shape.fair;

import dev.weir.shape.fair.FlowOrder.MemberTag;
import dev.weir.shape.fair.FlowOrder.Tags;
import dev.weir.shape.rules.QueueRules;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;

/**
 * A scheduler that divides service among members by weight: start-time fair queueing (P. Goyal, H. Vin, H. Cheng:
 * <i>Start-time fair queueing</i>, SIGCOMM 1996).
 *
 * <pre>
 *   served next:   the smallest start; of equal ones, the one that was set first
 *   virtual time = start of the request that was served last
 *   finish       = start + cost / weight         when a request is served, by the weight at that time
 *   start        = finish of the member's last request, if it lies ahead of the virtual time
 *                  otherwise, the latest start or finish of all members, but at most cost / weight of its first request
 *                  after the virtual time
 * </pre>
 *
 * <p>Let two members f and m have waiting requests throughout an interval. Let W be the service that a member gets in it,
 * w its weight and c its largest cost. Then |W_f / w_f − W_m / w_m| ≤ c_f / w_f + c_m / w_m. Proof: the start of a
 * waiting member is at or after the virtual time v, by at most c / w. So from v1 to v2, the member's start advances by
 * v2 − v1, with a difference of at most c / w. It also advances by exactly W / w.
 *
 * <p>Goyal lets a member that returns after its finish, or is new, start at the virtual time itself. But then the
 * virtual time stands still as long as new members keep arriving, and the members that wait get nothing: their share is
 * proven only for a set of members that does not grow. So here a member joins at the end of the round that is under
 * way. It pays for its first request in advance, as in self-clocked fair queueing (S. Golestani, INFOCOM 1994), if the
 * round is longer than that. Each start lies in the range in which the bound holds.
 *
 * <p>An example with weights of 1:
 *
 * <pre>
 *   arrives                                      served            virtual time
 *   a, costs of 4      start 0                   a: 0 → 4          0
 *   b, costs of 1      start 0 + 1               b: 1 → 2          1
 *   c, costs of 3      start 1 + 3               b: 2 → 3          2
 *   d, costs of 9      start 4                   b: 3 → 4          3
 *                                                a: 4 → 8          4         since its 4 is the oldest
 *                                                c: 4 → 7          4
 * </pre>
 *
 * <p>A member that waits may be held, so that others are served meanwhile. It keeps its tag. Goyal's rule applies when it
 * is readmitted: its start is that of its tag, but not before the virtual time. So it is not served for the time in
 * which it was held, and its start lies in the same range as before. The bound holds for each interval in which neither
 * member is held.
 *
 * <p>If a request occupies slots, its service is known only when it has ended. Then the service that is expected is charged
 * at its start, and {@linkplain #correct corrected} at its end, as in Kubernetes' API priority and fairness (KEP-1040).
 * The tag of the member moves by the difference divided by its weight; it can then lie before the virtual time. Let K be
 * the most service, expected or real, of a member's requests that are in progress at the same time; it is at most the
 * number of slots times the longest duration. Let G be the slot-time that a member has used, and let f wait throughout an
 * interval. Then G_m / w_m − G_f / w_f ≤ 4 (K_f / w_f + K_m / w_m), however wrong the expectations are. Proof: the tag of
 * a member moves by G / w, apart from the requests in progress at the ends of the interval, which are at most K / w at
 * each. When m is served, its tag is not after that of f; until the next time, it grows by at most K_m / w_m, and the tag
 * of f shrinks by at most K_f / w_f. At the beginning, the tags are at most as far apart on the other side, as above. No
 * bound is independent of the slots: that of generalised processor sharing on several servers grows with their number
 * even if durations are known (A. Parekh, R. Gallager, 1993, for one server; J. Blanquer, B. Özden, SIGCOMM 2001).
 *
 * <p>A member that waits has one tag, that of its head. One that has left keeps its tag only as long as its finish lies
 * ahead of the virtual time, so that it gains nothing by leaving; and none if it was never served. When nobody waits,
 * all start again at 0. Each call takes amortized O(log members).
 *
 * <p>Times are exact: fractions are of the member's own weight. A member that starts at another's time, or whose weight
 * has changed, starts at most 1 / (720,720 · weight) later.
 *
 * @param <K> the type of members
 */
public final class StartTimeFairQueue<K> {

    /** The largest cost; a larger one counts as this. */
    static final long MAX_COST = QueueRules.MAX_SERVICE;

    /**
     * The tag of a member.
     *
     * @param isFinish whether the time is the finish of a request that was served
     * @param order breaks ties by which tag is older
     */
    public record Tag<K>(VirtualTime time, boolean isFinish, long order, K member) implements Comparable<Tag<K>> {
        @Override
        public int compareTo(Tag<K> other) {
            int byTime = time.compareTo(other.time);
            return byTime != 0 ? byTime : Long.compare(order, other.order);
        }

        /** Returns whether this tag is older than another, so that it is served first if both have the same time. */
        public boolean isOlderThan(Tag<K> other) {
            return order < other.order;
        }
    }

    /** The members that wait and are held. */
    private static final class Held<K> {
        final Map<K, Tag<K>> tags = new HashMap<>();
        final TreeSet<Tag<K>> byStart = new TreeSet<>();
    }

    private final Map<K, Tag<K>> waiting = new HashMap<>(); // and are not held
    private final TreeSet<Tag<K>> byStart = new TreeSet<>();
    private final Map<K, Tag<K>> away = new HashMap<>(); // those whose last finish lies ahead of the virtual time
    private final TreeSet<Tag<K>> awayByFinish = new TreeSet<>();
    private Held<K> held; // null if none is
    private VirtualTime virtualTime = VirtualTime.ZERO;
    private long nextOrder;

    StartTimeFairQueue() {}

    /** Returns a queue that continues from what {@link #state} returned. */
    static StartTimeFairQueue<String> of(Tags state) {
        StartTimeFairQueue<String> queue = new StartTimeFairQueue<>();
        queue.virtualTime = new VirtualTime(0, state.part(), state.weight());
        for (MemberTag member : state.members()) {
            VirtualTime time = new VirtualTime(member.ahead(), member.part(), member.weight());
            queue.put(member.member(), time, member.isFinish(), member.isAway());
            if (member.isHeld()) {
                queue.hold(member.member());
            }
        }
        return queue;
    }

    /** Returns everything that later calls depend on. */
    static Tags state(StartTimeFairQueue<String> queue) {
        List<Tag<String>> tags = new ArrayList<>(queue.waiting.values());
        if (queue.held != null) {
            queue.held.tags.values().forEach(tag -> tags.add(queue.atPresent(tag)));
        }
        tags.addAll(queue.away.values());
        tags.sort(Comparator.comparingLong(Tag::order));
        List<MemberTag> members = new ArrayList<>(tags.size());
        for (Tag<String> tag : tags) {
            members.add(new MemberTag(
                    tag.member,
                    tag.time.whole() - queue.virtualTime.whole(),
                    tag.time.part(),
                    tag.time.weight(),
                    tag.isFinish,
                    queue.away.containsKey(tag.member),
                    queue.isHeld(tag.member)));
        }
        return new Tags(queue.virtualTime.part(), queue.virtualTime.weight(), members);
    }

    /** Returns the member to be served next, null if none waits, or all that wait are held. */
    public K first() {
        return byStart.isEmpty() ? null : byStart.first().member;
    }

    /**
     * Returns the start of a member's head or, for a member that does not wait, the start that it would get if it
     * entered now.
     *
     * @param cost as in {@link #enter}
     * @param weight as in {@link #enter}
     */
    public VirtualTime start(K member, long cost, long weight) {
        Tag<K> tag = waiting.getOrDefault(member, away.get(member));
        return tag == null ? newStart(cost, weight) : tag.time;
    }

    /**
     * Returns the start that a member which does not wait would get if it entered when the next member has been served.
     *
     * @param nextCost the cost of the next member's head
     * @param nextWeight the weight of the next member
     */
    public VirtualTime startAfterNext(K member, long cost, long weight, long nextCost, long nextWeight) {
        VirtualTime next = byStart.first().time;
        Tag<K> tag = away.get(member);
        return tag != null && tag.time.isAfter(next)
                ? tag.time
                : newStart(next, VirtualTime.latest(endOfRound(), finish(next, nextCost, nextWeight)), cost, weight);
    }

    /** Returns the tag of a waiting member's head; null if the member does not wait. */
    public Tag<K> tag(K member) {
        return waiting.get(member);
    }

    /** Returns whether no member waits. */
    boolean isEmpty() {
        return waiting.isEmpty() && held == null;
    }

    /** Returns the number of tags: of members that wait, and of members that are away with a finish ahead. */
    int tagCount() {
        return waiting.size() + away.size() + (held == null ? 0 : held.tags.size());
    }

    /** Returns the start of the request that was served last; 0 when none waits. */
    VirtualTime virtualTime() {
        return virtualTime;
    }

    /**
     * Adds a member that did not wait.
     *
     * @param cost tokens of its first request, 0 or more
     * @param weight 1 to {@link VirtualTime#MAX_WEIGHT}
     */
    void enter(K member, long cost, long weight) {
        if (away.containsKey(member)) {
            put(member, takeAway(member).time, true, false);
        } else {
            put(member, newStart(cost, weight), false, false);
        }
    }

    private Tag<K> takeAway(K member) {
        Tag<K> tag = away.remove(member);
        awayByFinish.remove(tag);
        return tag;
    }

    /** Returns the start of a member without a tag. */
    private VirtualTime newStart(long cost, long weight) {
        return newStart(virtualTime, endOfRound(), cost, weight);
    }

    private static VirtualTime newStart(VirtualTime now, VirtualTime endOfRound, long cost, long weight) {
        VirtualTime paid = now.roundedDownTo(weight).plus(Math.min(cost, MAX_COST));
        return VirtualTime.latest(now.roundedUpTo(weight), VirtualTime.earliest(endOfRound.roundedUpTo(weight), paid));
    }

    private VirtualTime endOfRound() {
        VirtualTime endOfRound = virtualTime;
        if (!byStart.isEmpty()) {
            endOfRound = VirtualTime.latest(endOfRound, byStart.last().time);
        }
        if (!awayByFinish.isEmpty()) {
            endOfRound = VirtualTime.latest(endOfRound, awayByFinish.last().time);
        }
        if (held != null) {
            endOfRound = VirtualTime.latest(endOfRound, held.byStart.last().time);
        }
        return endOfRound;
    }

    private static VirtualTime finish(VirtualTime start, long cost, long weight) {
        return start.roundedUpTo(weight).plus(Math.min(cost, MAX_COST));
    }

    /**
     * Records the service of a waiting member's head.
     *
     * @param cost tokens, 0 or more
     * @param weight 1 to {@link VirtualTime#MAX_WEIGHT}
     * @param waitsOn whether the member has more requests
     */
    void serve(K member, long cost, long weight, boolean waitsOn) {
        serveAt(waiting.get(member).time, member, cost, weight, waitsOn);
    }

    /** Like {@link #serve}, for a member that need not be the first: the virtual time does not pass others that wait. */
    void serveOutOfTurn(K member, long cost, long weight, boolean waitsOn) {
        serveAt(byStart.first().time, member, cost, weight, waitsOn);
    }

    private void serveAt(VirtualTime start, K member, long cost, long weight, boolean waitsOn) {
        virtualTime = VirtualTime.latest(virtualTime, start);
        Tag<K> tag = take(member);
        expirePastTags();
        VirtualTime finish = finish(tag.time, cost, weight);
        if (waitsOn) {
            put(member, finish, true, false);
        } else {
            remember(member, finish);
        }
    }

    /**
     * Changes what a member has been charged for past service.
     *
     * @param change what is added to the cost of its requests that were served; negative if they cost less
     * @param weight as in {@link #serve}
     */
    void correct(K member, long change, long weight) {
        if (change == 0 || isEmpty()) {
            return; // nobody is owed service
        }
        if (isHeld(member)) {
            hold(member, moved(atPresent(takeHeld(member)), change, weight));
        } else if (waiting.containsKey(member)) {
            put(moved(take(member), change, weight));
        } else {
            VirtualTime finish = away.containsKey(member) ? takeAway(member).time : virtualTime;
            remember(member, moved(finish, change, weight));
        }
    }

    private static VirtualTime moved(VirtualTime time, long change, long weight) {
        return time.roundedUpTo(weight).plus(change);
    }

    private static <K> Tag<K> moved(Tag<K> tag, long change, long weight) {
        return new Tag<>(moved(tag.time, change, weight), tag.isFinish || change > 0, tag.order, tag.member);
    }

    private void put(Tag<K> tag) {
        waiting.put(tag.member, tag);
        byStart.add(tag);
    }

    /** Has a waiting member not be served until it is {@linkplain #readmit readmitted}. */
    void hold(K member) {
        hold(member, take(member));
    }

    private void hold(K member, Tag<K> tag) {
        if (held == null) {
            held = new Held<>();
        }
        held.tags.put(member, tag);
        held.byStart.add(tag);
    }

    /** Has a waiting member be served again. Does nothing if it is not held. */
    void readmit(K member) {
        if (isHeld(member)) {
            put(atPresent(takeHeld(member)));
        }
    }

    /** Returns whether a member waits and is held. */
    boolean isHeld(K member) {
        return held != null && held.tags.containsKey(member);
    }

    private Tag<K> takeHeld(K member) {
        Tag<K> tag = held.tags.remove(member);
        held.byStart.remove(tag);
        if (held.tags.isEmpty()) {
            held = null;
        }
        return tag;
    }

    /** Returns the tag that a held member has if it is readmitted now. */
    private Tag<K> atPresent(Tag<K> tag) {
        return virtualTime.isAfter(tag.time) ? new Tag<>(virtualTime, tag.isFinish, tag.order, tag.member) : tag;
    }

    /** Removes a waiting member that was not served. */
    void leave(K member) {
        Tag<K> tag = isHeld(member) ? takeHeld(member) : take(member);
        if (tag.isFinish) {
            remember(member, tag.time);
        } else {
            startAgainIfEmpty();
        }
    }

    private Tag<K> take(K member) {
        Tag<K> tag = waiting.remove(member);
        byStart.remove(tag);
        return tag;
    }

    private void put(K member, VirtualTime time, boolean isFinish, boolean isAway) {
        Tag<K> tag = new Tag<>(time, isFinish, nextOrder++, member);
        (isAway ? away : waiting).put(member, tag);
        (isAway ? awayByFinish : byStart).add(tag);
    }

    /** Keeps a tag that lies ahead, unless nobody waits. */
    private void remember(K member, VirtualTime finish) {
        if (finish.isAfter(virtualTime)) {
            put(member, finish, true, true);
        }
        startAgainIfEmpty();
    }

    private void startAgainIfEmpty() {
        if (isEmpty()) { // no member is owed service
            away.clear();
            awayByFinish.clear();
            virtualTime = VirtualTime.ZERO;
        }
    }

    private void expirePastTags() {
        while (!awayByFinish.isEmpty() && !awayByFinish.first().time.isAfter(virtualTime)) {
            away.remove(awayByFinish.pollFirst().member);
        }
    }
}
