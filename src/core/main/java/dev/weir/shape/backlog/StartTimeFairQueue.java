package dev.weir.shape.backlog;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;

/**
 * A scheduler that divides service among members by weight: start-time fair queueing (P. Goyal, H. Vin, H. Cheng:
 * <i>Start-time fair queueing</i>, SIGCOMM 1996), with the virtual time of the fluid server that it approximates.
 *
 * <p>For any two members that have requests waiting throughout an interval which starts no earlier than the first
 * service of the one that got less, the services that they get, each divided by its member's weight, differ by at most
 * the sum of their largest costs, each divided by its member's weight.
 *
 * <pre>
 *   start  = max(virtual time, finish of the member's last request)   when a request becomes the member's head
 *   finish = start + cost / weight                                    when it is served, by the weight at that time
 *   served next: the smallest start
 *   virtual time = the mean, by weight, of the starts of all waiting members
 *                  and of the finishes, if they lie ahead of it, of members that are away
 * </pre>
 *
 * <p>Goyal's virtual time is the start of the request served last. It stands still while new members arrive with one
 * request each, and a waiting member with a later start starves. So here each service advances it by cost / (sum of
 * weights), as in WF2Q+ (J. Bennett, H. Zhang: <i>Hierarchical packet fair queueing algorithms</i>, SIGCOMM 1996). Then
 * some members are ahead of it by as much as the others are behind, that is, it is their mean. A member that is away
 * counts while its finish lies ahead, because the fluid server (A. Parekh, R. Gallager, 1993) would still be serving
 * it; otherwise the virtual time would overtake that of the fluid server.
 *
 * <p>An example with weights of 1, in which a new member with one request arrives before each service:
 *
 * <pre>
 *   arrives                      served                                  virtual time afterwards
 *   a, with many   start 0       head of a, cost 4: 0 → 4                4
 *   b              start 4       head of a, cost 4: 4 → 8                (8 + 4) / 2 = 6
 *   c              start 6       b, cost 1: 4 → 5, behind                (8 + 6) / 2 = 7
 *   d              start 7       c, cost 3: 6 → 9, ahead                 (8 + 9 + 7) / 3 = 8
 *   e              start 8       d, cost 1: 7 → 8, level                 (8 + 9 + 8) / 3 = 8 1/3
 *   f              start 8 1/3   next is a, which has start 8 for longer than e
 * </pre>
 *
 * <p>A member has one tag, that of its head, so a changed weight applies to all requests behind it. A member that was
 * away starts at the virtual time, so it cannot save up service; one that returns at once continues where it was. A new
 * member waits until the members behind the virtual time have caught up. They are behind by as much as others are
 * ahead, so it waits for at most the largest cost of each other member. Each call takes amortized O(log members).
 *
 * @param <K> the type of members
 */
public final class StartTimeFairQueue<K> {

    /** One token at weight 1, in virtual time. At the largest weight, rounding up adds less than a thousandth. */
    public static final long TOKEN = 1L << 24;

    /** The virtual time is rebased before it could overflow. */
    private static final long REBASE_AT = 1L << 61;

    /** The tag of a member; {@code order} breaks ties by which tag is older. */
    private record Tag<K>(long start, long weight, long order, K member) implements Comparable<Tag<K>> {
        @Override
        public int compareTo(Tag<K> other) {
            int byStart = Long.compare(start, other.start);
            return byStart != 0 ? byStart : Long.compare(order, other.order);
        }
    }

    private final Map<K, Tag<K>> waiting = new HashMap<>();
    private final TreeSet<Tag<K>> byStart = new TreeSet<>();
    private final Map<K, Tag<K>> away = new HashMap<>(); // those whose last finish lies ahead of the virtual time
    private final TreeSet<Tag<K>> awayByFinish = new TreeSet<>();
    private long virtualTime; // the mean, rounded down
    private long weights; // of those that wait or are away
    private long ahead; // sum of weight * (tag - virtual time) of the same: 0 but for rounding and changed weights
    private long nextOrder;

    StartTimeFairQueue() {}

    /** Returns a queue that continues from what {@link #state} returned. */
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

    /** Returns everything that later calls depend on. */
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

    /** Returns the member to be served next, null if none waits. */
    K first() {
        return byStart.isEmpty() ? null : byStart.first().member;
    }

    /**
     * Returns the start of a member's head or, for a member that does not wait, the start that it would get if it
     * entered now.
     */
    long start(K member) {
        Tag<K> tag = waiting.get(member);
        tag = tag == null ? away.get(member) : tag;
        return tag == null ? virtualTime : tag.start;
    }

    /** Returns whether the tag of a waiting member is older than that of another, so that it is served first if both are equal. */
    boolean isOlder(K member, K other) {
        return waiting.get(member).order < waiting.get(other).order;
    }

    boolean isEmpty() {
        return waiting.isEmpty();
    }

    /** Returns whether there are no tags, so that a new queue would behave the same. */
    boolean hasNoTags() {
        return waiting.isEmpty() && away.isEmpty();
    }

    /** Returns the number of tags: of members that wait, and of members that are away with a finish ahead. */
    int tagCount() {
        return waiting.size() + away.size();
    }

    /** Returns the start of a new member; 0 when none waits. */
    long virtualTime() {
        return virtualTime;
    }

    /**
     * Adds a member that did not wait.
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
     * Records the service of a waiting member's head.
     *
     * @param cost tokens, 0 or more
     * @param weight 1 or more
     * @param waitsOn whether the member has more requests
     */
    void serve(K member, long cost, long weight, boolean waitsOn) {
        Tag<K> tag = take(member);
        if (tag.start > virtualTime) { // possible only if the mean was cut off
            virtualTime = tag.start;
            ahead = 0;
            expirePastTags();
        }
        long finish = tag.start + length(cost, weight);
        if (waitsOn) {
            put(member, finish, weight);
        } else {
            remember(member, finish, weight);
        }
        advance();
    }

    /** Removes a waiting member that was not served. It keeps its tag if it returns. */
    void leave(K member) {
        Tag<K> tag = take(member);
        remember(member, tag.start, tag.weight);
        advance();
    }

    /** Returns the virtual time that a request takes at a weight. */
    static long length(long cost, long weight) {
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

    /** Keeps only tags that lie ahead. Other members would start at the virtual time anyway. */
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

    /** Returns how far a tag is ahead of the virtual time, by weight, clamped so that it cannot overflow. */
    private long ahead(Tag<K> tag) {
        long most = REBASE_AT / tag.weight;
        return Math.max(-most, Math.min(most, tag.start - virtualTime)) * tag.weight;
    }

    /** Advances the virtual time to the mean, past the finishes that it reaches. It never decreases. */
    private void advance() {
        if (waiting.isEmpty()) { // no member is owed service, so all start at 0 again
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
            expirePastTags();
        }
        ahead = Math.max(ahead, -REBASE_AT);
        if (virtualTime > REBASE_AT) {
            rebase();
        }
    }

    private void expirePastTags() {
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
