package dev.weir.policy;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.SortedSet;
import java.util.TreeSet;

/**
 * A condition on a field's value: that it equals a text ({@code tier} is {@code free}), or starts with it
 * ({@code endpoint} starts with {@code /articles/}).
 *
 * @param whole whether the value must equal the text
 */
// Ordered, not hashed, so that collections stay fast whatever the texts.
record IndexTerm(String field, boolean whole, String text) implements Comparable<IndexTerm> {

    private static final Comparator<IndexTerm> ORDER = Comparator.comparing(IndexTerm::text)
            .thenComparing(IndexTerm::whole)
            .thenComparing(IndexTerm::field);

    private static IndexTerm of(String field, Glob glob) {
        return new IndexTerm(field, glob.isLiteral(), glob.literalPrefix());
    }

    /** Returns whether each value of the field meets the condition. */
    boolean meetsAll() {
        return text.isEmpty() && !whole;
    }

    /** Returns the term as a word that no other term of the field has. */
    String word() {
        return (whole ? '=' : '^') + text;
    }

    /** Returns the terms of each field of a matcher. Fields are in alphabetical order. */
    static List<SortedSet<IndexTerm>> byField(RequestMatcher match) {
        List<SortedSet<IndexTerm>> all = new ArrayList<>();
        match.conditions().forEach((field, globs) -> {
            SortedSet<IndexTerm> terms = new TreeSet<>();
            globs.forEach(glob -> terms.add(of(field, glob)));
            all.add(terms);
        });
        return all;
    }

    @Override
    public int compareTo(IndexTerm other) {
        return ORDER.compare(this, other);
    }
}
