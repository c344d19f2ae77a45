package dev.weir.shape;

import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;

/**
 * Which of several members is served next, so that each gets its share: start-time fair queueing (Goyal, Vin, Cheng,
 * 1996). Between any two members that wait throughout, what they were served, divided by their weights, differs by no
 * more than the largest cost of each divided by its weight.
 *
 * <pre>
 *   start  = max(virtual time, finish of the member's last)     when its head comes to the front
 *   finish = start + cost / weight                              when it is served, by the weight of that moment
 *   served next: the smallest start;   virtual time = the start of the last one served
 * </pre>
 *
 * <p>A member has one tag, that of its head, so a changed weight acts on all that waits behind. A member that was away
 * starts at the virtual time: it banks nothing; one that comes back at once goes on where it was. Every call is
 * O(log members).
 *
 * @param <K> names a member
 */
final class StartTimeFairQueue<K> {

    /** One token at weight 1, in virtual time. What is smaller is rounded up. */
    static final long TOKEN = 1L << 16;

    /** The virtual time is set back before it could overflow. */
    private static final long REBASE_AT = 1L << 61;

    /** A member's tag; {@code order} settles ties by who came first. */
    private record Tag<K>(long start, long order, K member) implements Comparable<Tag<K>> {
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
    private long virtualTime;
    private long orders;

    /** The member to be served next, null if none waits. */
    K first() {
        return byStart.isEmpty() ? null : byStart.first().member;
    }

    boolean isWaiting(K member) {
        return waiting.containsKey(member);
    }

    boolean isEmpty() {
        return waiting.isEmpty();
    }

    /** Whether it remembers nobody, so that a new one would do the same. */
    boolean isForgettable() {
        return waiting.isEmpty() && away.isEmpty();
    }

    /** Lets a member in that was away. */
    void enter(K member) {
        Tag<K> last = away.remove(member);
        if (last != null) {
            awayByFinish.remove(last);
        }
        put(member, last == null ? virtualTime : Math.max(virtualTime, last.start));
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
        virtualTime = Math.max(virtualTime, tag.start);
        long finish = tag.start + length(cost, weight);
        if (waitsOn) {
            put(member, finish);
        } else {
            remember(member, finish);
        }
        forgetPast();
        if (virtualTime > REBASE_AT) {
            rebase();
        }
    }

    /** Lets a waiting member go that was not served; it keeps its place if it comes back. */
    void leave(K member) {
        Tag<K> tag = take(member);
        remember(member, tag.start);
        forgetPast();
    }

    private static long length(long cost, long weight) {
        return cost > REBASE_AT / TOKEN ? REBASE_AT / weight : (cost * TOKEN + weight - 1) / weight;
    }

    private Tag<K> take(K member) {
        Tag<K> tag = waiting.remove(member);
        byStart.remove(tag);
        return tag;
    }

    private void put(K member, long start) {
        Tag<K> tag = new Tag<>(start, orders++, member);
        waiting.put(member, tag);
        byStart.add(tag);
    }

    private void remember(K member, long finish) {
        Tag<K> tag = new Tag<>(finish, orders++, member);
        away.put(member, tag);
        awayByFinish.add(tag);
    }

    /** Forgets those whose finish the virtual time has passed: they would start at the virtual time. */
    private void forgetPast() {
        if (waiting.isEmpty()) { // nobody is owed anything: all begin anew
            away.clear();
            awayByFinish.clear();
            virtualTime = 0;
            return;
        }
        while (!awayByFinish.isEmpty() && awayByFinish.first().start <= virtualTime) {
            away.remove(awayByFinish.pollFirst().member);
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
        tags.replaceAll((member, tag) -> new Tag<>(tag.start - by, tag.order, member));
        sorted.addAll(tags.values());
    }
}
