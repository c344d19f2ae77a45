package dev.weir.policy;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.SortedMap;

/**
 * A radix tree (D. Morrison: <i>PATRICIA</i>, JACM 15(4), 1968) that maps words to values and finds all words that are
 * prefixes of a text. A node stands for a prefix shared by some words. A lookup takes one step per branching point on
 * its path, however many words there are.
 *
 * <pre>
 *   /api/1, /api/12, /api/2      "" ─ /api/ ─┬─ /api/1 ─── /api/12
 *                                            └─ /api/2
 * </pre>
 *
 * @param length the length of the node's prefix
 * @param label the last part of the prefix, which the parent does not have
 * @param value the value of the prefix, null if it is not a word
 * @param childChars the first characters of the children's labels, ascending
 * @param children the child nodes, in that order
 */
// Nothing is hashed, so a client cannot choose values that are slow to find.
@SuppressWarnings("ArrayRecordComponent") // built once, never compared
record RadixTree<V>(int length, String label, V value, char[] childChars, RadixTree<V>[] children) {

    /** Returns a tree of all entries of {@code filed}. */
    static <V> RadixTree<V> of(SortedMap<String, V> filed) {
        return node("", 0, filed, List.copyOf(filed.keySet()));
    }

    /**
     * Returns the child whose prefix {@code text} starts with, null if there is none. The text must start with this
     * node's prefix.
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

    /** @param words the words that start with {@code start}, ascending */
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
