package dev.weir.storage;

/**
 * How often hashes were added, so that the absence of a key is known without a read: a hash that was not added belongs
 * to no key that was. It uses 11 to 22 bytes of heap for each hash while it grows, up to 64 after most were removed, and
 * at least 8 KiB.
 */
// A hash table with linear probing, whose entries are deleted by moving later ones into the gap [1]. An entry is the
// upper
// 48 bits of a hash and a count of 16 bits. A count that was once at its most is no longer known, and stays. A hash
// begins at the entry that its upper bits select, so growing needs the entries only.
//
// [1] D. E. Knuth, "The Art of Computer Programming", volume 3, section 6.4, algorithms L and R, 1998.
final class HashCounts {

    private static final int LEAST_SIZE = 1 << 10;
    private static final int MOST_SIZE = 1 << 30;
    private static final long COUNT = 0xFFFF;

    private long[] entries = new long[LEAST_SIZE]; // 0 if unused
    private int used;

    /** Returns whether a hash was added more often than it was removed. It can be true for other hashes, too. */
    boolean mayContain(long hash) {
        return entries[find(hash)] != 0;
    }

    /** Adds a hash. */
    void add(long hash) {
        int at = find(hash);
        if (entries[at] == 0) {
            entries[at] = hash & ~COUNT | 1;
            used++;
            if (used > entries.length / 4 * 3 && entries.length < MOST_SIZE) {
                resize(2 * entries.length);
            }
        } else if (count(at) < COUNT) {
            entries[at]++;
        }
    }

    /** Removes a hash that was added. */
    void remove(long hash) {
        int at = find(hash);
        if (count(at) == COUNT) {
            return;
        }
        entries[at]--;
        if (count(at) == 0) {
            delete(at);
            used--;
            if (used < entries.length / 8 && entries.length > LEAST_SIZE) {
                resize(entries.length / 2);
            }
        }
    }

    private long count(int at) {
        return entries[at] & COUNT;
    }

    /** Returns the position of a hash or, if it is absent, of the unused entry at which it would be added. */
    private int find(long hash) {
        int at = start(hash);
        while (entries[at] != 0 && ((entries[at] ^ hash) & ~COUNT) != 0) {
            at = next(at);
        }
        return at;
    }

    private int start(long hash) {
        return (int) (hash >>> Long.numberOfLeadingZeros(entries.length) + 1);
    }

    private int next(int at) {
        return at + 1 & entries.length - 1;
    }

    private void delete(int at) {
        int gap = at;
        entries[gap] = 0;
        for (int later = next(gap); entries[later] != 0; later = next(later)) {
            int start = start(entries[later]);
            boolean isReached = gap <= later ? start <= gap || start > later : start <= gap && start > later;
            if (isReached) {
                entries[gap] = entries[later];
                entries[later] = 0;
                gap = later;
            }
        }
    }

    private void resize(int size) {
        long[] before = entries;
        entries = new long[size];
        for (long entry : before) {
            if (entry != 0) {
                entries[find(entry)] = entry;
            }
        }
    }
}
