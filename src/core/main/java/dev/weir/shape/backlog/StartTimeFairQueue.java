package dev.weir.shape.backlog;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;

/**
 * Which of several members is served next, so that each gets its share: start-time fair queueing (Goyal, Vin, Cheng,
 * 1996), by the clock of the fluid that it imitates. Between any two members that wait throughout, from the first time
 * that the one which got less was served, what they were served, divided by their weights, differs by no more than the
 * largest cost of each divided by its weight.
 *
 * <pre>
 *   start  = max(virtual time, finish of the member's last)     when its head comes to the front
 *   finish = start + cost / weight                              when it is served, by the weight of that moment
 *   served next: the smallest start
 *   virtual time = the mean, by weight, of the starts of all that wait
 *                  and the finishes that lie ahead of it of those away
 * </pre>
 *
 * <p>Goyal's virtual time is the start of the last one served. It stands still while members that were never seen come
 * with a request each, and whoever waits with a start ahead of it starves. So here every service moves it on, by
 * cost / (sum of weights), as in WF2Q+ (Bennett, Zhang, 1996): what some are ahead of it the others are behind, which
 * is to say that it is their mean. Those away count while their finish lies ahead, for the fluid (Parekh, Gallager,
 * 1993) serves them still; without them the virtual time would overtake the fluid's. A member served one request each,
 * at weight 1:
 *
 * <pre>
 *   a comes, with many more     start 0         a leaves, cost 4: 0 → 4            virtual time 4
 *   b comes                     start 4         a leaves, cost 4: 4 → 8            (8 + 4) / 2 = 6
 *   c comes                     start 6         b leaves, cost 1: 4 → 5, behind    (8 + 6) / 2 = 7
 *   d comes                     start 7         c leaves, cost 3: 6 → 9, ahead     (8 + 9 + 7) / 3 = 8
 *   e comes                     start 8         d leaves, cost 1: 7 → 8, level     (8 + 9 + 8) / 3 = 8 1/3
 *   f comes                     start 8 1/3     a is next: e came to 8 after it
 * </pre>
 *
 * <p>A member has one tag, that of its head, so a changed weight acts on all that waits behind. A member that was away
 * starts at the virtual time: it banks nothing; one that comes back at once goes on where it was. One that comes waits
 * until those behind have drawn level, and they are behind by what others are ahead: in all it waits for no more than
 * one largest cost of each other member. A call is O(log members), on the average of all calls.
 *
 * @param <K> names a member
 */
public final class StartTimeFairQueue<K> {

    /** One token at weight 1, in virtual time: at the largest weight, what is rounded up is less than a thousandth. */
    public static final long TOKEN = 1L << 24;

    /** The virtual time is set back before it could overflow. */
    private static final long REBASE_AT = 1L << 61;

    /** A member's tag; {@code order} settles ties by who came first. */
    private record Tag<K>(long start, long weight, long order, K member) implements Comparable<Tag<K>> {
        @Override
        public int compareTo(Tag<K> other) {
            int byStart = Long.compare(start, other.start);
            return byStart != 0 ? byStart : Long.compare(order, other.order);
        }
    }

    private final Map<K, Tag<K>> waiting = new HashMap<>();
    private final TreeSet<Tag<K>> byStart = new TreeSet<>();
    private final Map<K, Tag<K>> away = new HashMap<>(); // whose last finish lies ahead of the virtual time
    private final TreeSet<Tag<K>> awayByFinish = new TreeSet<>();
    private long virtualTime; // the mean, rounded down
    private long weights; // of those that wait or are away
    private long ahead; // sum of weight * (tag - virtual time) of the same: 0 but for rounding and changed weights
    private long nextOrder;

    StartTimeFairQueue() {}

    /** Continues from what {@link #state} returned. */
    static StartTimeFairQueue<String> of(BucketContents.Tags state) {
        StartTimeFairQueue<String> queue = new StartTimeFairQueue<>();
        queue.virtualTime = state.virtualTime();
        queue.ahead = state.ahead();
        for (BucketContents.MemberTag member : state.members()) {
            Tag<String> tag = new Tag<>(member.start(), member.weight(), queue.nextOrder++, member.member());
            (member.isAway() ? queue.away : queue.waiting).put(member.member(), tag);
            (member.isAway() ? queue.awayByFinish : queue.byStart).add(tag);
            queue.weights += member.weight();
        }
        return queue;
    }

    /** All that later calls depend on. */
    static BucketContents.Tags state(StartTimeFairQueue<String> queue) {
        List<Tag<String>> tags = new ArrayList<>(queue.waiting.values());
        tags.addAll(queue.away.values());
        tags.sort(Comparator.comparingLong(Tag::order));
        List<BucketContents.MemberTag> members = new ArrayList<>(tags.size());
        for (Tag<String> tag : tags) {
            boolean isAway = !queue.waiting.containsKey(tag.member);
            members.add(new BucketContents.MemberTag(tag.member, tag.start, tag.weight, isAway));
        }
        return new BucketContents.Tags(queue.virtualTime, queue.ahead, members);
    }

    /** The member to be served next, null if none waits. */
    K first() {
        return byStart.isEmpty() ? null : byStart.first().member;
    }

    boolean isEmpty() {
        return waiting.isEmpty();
    }

    /** Whether it remembers nobody, so that a new one would do the same. */
    boolean hasNoTags() {
        return waiting.isEmpty() && away.isEmpty();
    }

    /** How many members it remembers, those that wait and those that were served ahead of their time. */
    int tagCount() {
        return waiting.size() + away.size();
    }

    /** Where a member starts that was never seen, 0 when none waits. */
    long virtualTime() {
        return virtualTime;
    }

    /**
     * Lets a member in that was away.
     *
     * @param weight 1 or more
     */
    void enter(K member, long weight) {
        Tag<K> last = away.remove(member);
        if (last != null) {
            awayByFinish.remove(last);
            discount(last);
        }
        put(member, last == null ? virtualTime : last.start, weight);
        advance();
    }

    /**
     * Serves a waiting member's head.
     *
     * @param cost in tokens, 0 or more
     * @param weight 1 or more
     * @param waitsOn whether the member has more
     */
    void serve(K member, long cost, long weight, boolean waitsOn) {
        Tag<K> tag = take(member);
        if (tag.start > virtualTime) { // the mean of those that wait is not less, unless it was cut off
            virtualTime = tag.start;
            ahead = 0;
            forgetPast();
        }
        long finish = tag.start + length(cost, weight);
        if (waitsOn) {
            put(member, finish, weight);
        } else {
            remember(member, finish, weight);
        }
        advance();
    }

    /** Lets a waiting member go that was not served; it keeps its place if it comes back. */
    void leave(K member) {
        Tag<K> tag = take(member);
        remember(member, tag.start, tag.weight);
        advance();
    }

    private static long length(long cost, long weight) {
        return cost > REBASE_AT / TOKEN ? REBASE_AT / weight : (cost * TOKEN + weight - 1) / weight;
    }

    private Tag<K> take(K member) {
        Tag<K> tag = waiting.remove(member);
        byStart.remove(tag);
        discount(tag);
        return tag;
    }

    private void put(K member, long start, long weight) {
        Tag<K> tag = new Tag<>(start, weight, nextOrder++, member);
        waiting.put(member, tag);
        byStart.add(tag);
        count(tag);
    }

    /** Only those ahead: the others would start at the virtual time anyway. */
    private void remember(K member, long finish, long weight) {
        if (finish > virtualTime) {
            Tag<K> tag = new Tag<>(finish, weight, nextOrder++, member);
            away.put(member, tag);
            awayByFinish.add(tag);
            count(tag);
        }
    }

    private void count(Tag<K> tag) {
        weights += tag.weight;
        ahead += ahead(tag);
    }

    private void discount(Tag<K> tag) {
        weights -= tag.weight;
        ahead -= ahead(tag);
    }

    /** By weight, cut off where it could overflow. */
    private long ahead(Tag<K> tag) {
        long most = REBASE_AT / tag.weight;
        return Math.max(-most, Math.min(most, tag.start - virtualTime)) * tag.weight;
    }

    /** Moves the virtual time up to the mean, over the finishes that lie on the way; never back. */
    private void advance() {
        if (waiting.isEmpty()) { // nobody is owed anything: all begin anew
            away.clear();
            awayByFinish.clear();
            virtualTime = 0;
            weights = 0;
            ahead = 0;
            return;
        }
        while (ahead >= weights) {
            long by = ahead / weights;
            if (!awayByFinish.isEmpty()) {
                by = Math.min(by, awayByFinish.first().start - virtualTime);
            }
            virtualTime += by;
            ahead -= by * weights;
            forgetPast();
        }
        ahead = Math.max(ahead, -REBASE_AT);
        if (virtualTime > REBASE_AT) {
            rebase();
        }
    }

    private void forgetPast() {
        while (!awayByFinish.isEmpty() && awayByFinish.first().start <= virtualTime) {
            Tag<K> tag = awayByFinish.pollFirst();
            away.remove(tag.member);
            discount(tag);
        }
    }

    private void rebase() {
        long by = virtualTime;
        virtualTime = 0;
        rebase(waiting, byStart, by);
        rebase(away, awayByFinish, by);
    }

    private static <K> void rebase(Map<K, Tag<K>> tags, Set<Tag<K>> sorted, long by) {
        sorted.clear();
        tags.replaceAll((member, tag) -> new Tag<>(tag.start - by, tag.weight, tag.order, member));
        sorted.addAll(tags.values());
    }
}
