package dev.weir.policy;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.SortedMap;

/**
 * What is filed under words, found by a text that starts with them: a step for each place where words go apart, however
 * many there are. A node stands for a start that some words share.
 *
 * <pre>
 *   /api/1, /api/12, /api/2      "" ─ /api/ ─┬─ /api/1 ─── /api/12
 *                                            └─ /api/2
 * </pre>
 *
 * @param length of the start
 * @param label its last part, which the node before does not have
 * @param value what is filed under it, null if it is only shared
 * @param childChars the first characters of the nodes behind, ascending
 * @param children those, in that order
 */
// Nothing is hashed, so nobody can choose values that are slow to find.
@SuppressWarnings("ArrayRecordComponent") // built once, never compared
record RadixTree<V>(int length, String label, V value, char[] childChars, RadixTree<V>[] children) {

    /** The tree of all words that {@code filed} has. */
    static <V> RadixTree<V> of(SortedMap<String, V> filed) {
        return node("", 0, filed, List.copyOf(filed.keySet()));
    }

    /**
     * The node behind this one that {@code text}, which starts as this one does, starts with too; null if there is
     * none.
     */
    RadixTree<V> child(String text) {
        if (length == text.length() || childChars.length == 0) {
            return null;
        }
        int index = Arrays.binarySearch(childChars, text.charAt(length));
        if (index < 0) {
            return null;
        }
        RadixTree<V> node = children[index];
        return text.startsWith(node.label, length) ? node : null;
    }

    /** @param words those that start so, ascending */
    private static <V> RadixTree<V> node(String start, int from, SortedMap<String, V> filed, List<String> words) {
        int length = start.length();
        StringBuilder next = new StringBuilder();
        List<RadixTree<V>> nodes = new ArrayList<>();
        int begin = !words.isEmpty() && words.get(0).length() == length ? 1 : 0;
        while (begin < words.size()) {
            char c = words.get(begin).charAt(length);
            int end = begin + 1;
            while (end < words.size() && words.get(end).charAt(length) == c) {
                end++;
            }
            next.append(c);
            String shared = shared(words.get(begin), words.get(end - 1));
            nodes.add(node(shared, length, filed, words.subList(begin, end)));
            begin = end;
        }
        @SuppressWarnings("unchecked")
        RadixTree<V>[] behind = nodes.toArray(RadixTree[]::new);
        return new RadixTree<>(
                length, start.substring(from), filed.get(start), next.toString().toCharArray(), behind);
    }

    private static String shared(String one, String other) {
        int length = 0;
        while (length < Math.min(one.length(), other.length()) && one.charAt(length) == other.charAt(length)) {
            length++;
        }
        return one.substring(0, length);
    }
}
