package dev.weir.client.release;

import java.util.LinkedHashSet;

/** The most recently added elements, up to a bound; the oldest is removed first. */
final class BoundedRecentSet<T> {

    private final LinkedHashSet<T> done = new LinkedHashSet<>();
    private final int bound;

    BoundedRecentSet(int bound) {
        this.bound = bound;
    }

    void add(T one) {
        done.remove(one);
        done.add(one);
        if (done.size() > bound) {
            var oldest = done.iterator();
            oldest.next();
            oldest.remove();
        }
    }

    boolean contains(T one) {
        return done.contains(one);
    }
}
