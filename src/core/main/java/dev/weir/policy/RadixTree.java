package dev.weir.policy;

import java.util.Arrays;
import java.util.function.Consumer;

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
 * <p>Immutable: a change copies the nodes on the path of its word, and shares all others. Two trees with the same words
 * have the same nodes, whatever the changes that led to them.
 *
 * @param length the length of the node's prefix
 * @param label the last part of the prefix, which the parent does not have
 * @param value the value of the prefix, null if it is not a word
 * @param childChars the first characters of the children's labels, ascending
 * @param children the child nodes, in that order
 */
// Nothing is hashed, so a client cannot choose values that are slow to find.
@SuppressWarnings("ArrayRecordComponent") // not written after construction, never compared
public record RadixTree<V>(int length, String label, V value, char[] childChars, RadixTree<V>[] children) {

    private static final char[] NO_CHARS = {};
    private static final RadixTree<?>[] NO_CHILDREN = {};
    private static final RadixTree<?> EMPTY = leaf(0, "", null);

    /** Returns the root of a tree without words. */
    @SuppressWarnings("unchecked")
    public static <V> RadixTree<V> empty() {
        return (RadixTree<V>) EMPTY;
    }

    @SuppressWarnings("unchecked")
    private static <V> RadixTree<V> leaf(int length, String label, V value) {
        return new RadixTree<>(length, label, value, NO_CHARS, (RadixTree<V>[]) NO_CHILDREN);
    }

    /** Returns whether no word starts with the node's prefix. */
    boolean isEmpty() {
        return value == null && children.length == 0;
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

    /** Returns the value of a word, null if there is none. The word must start with this node's prefix. */
    public V get(String word) {
        RadixTree<V> at = this;
        while (at != null && at.length < word.length()) {
            at = at.child(word);
        }
        return at == null ? null : at.value;
    }

    /** Passes the values of all words to a receiver, in the order of the words. */
    public void forEach(Consumer<V> receiver) {
        if (value != null) {
            receiver.accept(value);
        }
        for (RadixTree<V> child : children) {
            child.forEach(receiver);
        }
    }

    /** Returns the value of the last word, null if there is none. */
    V last() {
        RadixTree<V> at = this;
        while (at.children.length > 0) {
            at = at.children[at.children.length - 1];
        }
        return at.value;
    }

    /**
     * Returns a copy in which a word has another value. The word must start with this node's prefix.
     *
     * @param newValue null to remove the word
     */
    public RadixTree<V> with(String word, V newValue) {
        if (word.length() == length) {
            return new RadixTree<>(length, label, newValue, childChars, children);
        }
        int index = Arrays.binarySearch(childChars, word.charAt(length));
        if (index < 0) {
            return newValue == null ? this : withChild(~index, leaf(word.length(), word.substring(length), newValue));
        }
        RadixTree<V> child = children[index];
        int shared = shared(child.label, word);
        if (shared == child.label.length()) {
            RadixTree<V> next = child.with(word, newValue);
            return next.isEmpty() ? withoutChild(index) : replaceChild(index, next.merged());
        }
        return newValue == null ? this : replaceChild(index, child.split(shared).with(word, newValue));
    }

    /** Returns how many characters a label and the part of a word behind this node's prefix have in common. */
    private int shared(String ofChild, String word) {
        int shared = 0;
        int most = Math.min(ofChild.length(), word.length() - length);
        while (shared < most && ofChild.charAt(shared) == word.charAt(length + shared)) {
            shared++;
        }
        return shared;
    }

    /** Returns a node for the first characters of the label, with this node as its only child. */
    private RadixTree<V> split(int at) {
        RadixTree<V> lower = new RadixTree<>(length, label.substring(at), value, childChars, children);
        return RadixTree.<V>leaf(length - label.length() + at, label.substring(0, at), null)
                .withChild(0, lower);
    }

    /** Returns the only child instead of a node that is not a word. */
    private RadixTree<V> merged() {
        if (value != null || children.length != 1) {
            return this;
        }
        RadixTree<V> only = children[0];
        return new RadixTree<>(only.length, label + only.label, only.value, only.childChars, only.children);
    }

    private RadixTree<V> withChild(int index, RadixTree<V> child) {
        char[] chars = new char[childChars.length + 1];
        System.arraycopy(childChars, 0, chars, 0, index);
        chars[index] = child.label.charAt(0);
        System.arraycopy(childChars, index, chars, index + 1, childChars.length - index);
        RadixTree<V>[] nodes = Arrays.copyOf(children, children.length + 1);
        System.arraycopy(children, index, nodes, index + 1, children.length - index);
        nodes[index] = child;
        return new RadixTree<>(length, label, value, chars, nodes);
    }

    private RadixTree<V> withoutChild(int index) {
        char[] chars = Arrays.copyOf(childChars, childChars.length - 1);
        System.arraycopy(childChars, index + 1, chars, index, chars.length - index);
        RadixTree<V>[] nodes = Arrays.copyOf(children, children.length - 1);
        System.arraycopy(children, index + 1, nodes, index, nodes.length - index);
        return new RadixTree<>(length, label, value, chars, nodes);
    }

    /** @param child starts with the same character as the replaced one */
    private RadixTree<V> replaceChild(int index, RadixTree<V> child) {
        RadixTree<V>[] nodes = children.clone();
        nodes[index] = child;
        return new RadixTree<>(length, label, value, childChars, nodes);
    }
}
