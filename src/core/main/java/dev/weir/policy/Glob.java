package dev.weir.policy;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * A pattern for whole values: {@code *} matches any run of characters without a slash, {@code **} any run, {@code ?}
 * one character other than a slash, and {@code \} makes the next character literal. A character is a Unicode code
 * point. Matching a text of n characters against a pattern of m takes O(n · ⌈m / 64⌉), whatever the pattern.
 */
public final class Glob {

    /** The longest pattern, in code points. */
    public static final int MAX_LENGTH = 256;

    enum Wildcard {
        NONE,
        ONE,
        RUN_IN_SEGMENT,
        RUN
    }

    record Token(Wildcard wildcard, int literal) {}

    private final String pattern;
    private final List<Token> tokens;
    private final String literalPrefix;
    private final int literalPrefixLength; // in code points
    private final boolean literal;
    private final Wildcard trailingWildcard; // null unless the last token is the only wildcard

    // Positions before tokens, and the one behind the last token, as bits.
    private final int words;
    private final Map<Integer, long[]> positions = new HashMap<>(); // of each literal character
    private final long[] none;
    private final long[] one;
    private final long[] run;
    private final long[] runInSegment;

    /**
     * Parses a pattern.
     *
     * @throws IllegalArgumentException if the pattern is too long, ends in a single backslash, or has an
     *     unpaired surrogate
     */
    public Glob(String pattern) {
        if (pattern.codePointCount(0, pattern.length()) > MAX_LENGTH) {
            throw new IllegalArgumentException("a pattern must have at most " + MAX_LENGTH + " characters");
        }
        this.pattern = pattern;
        this.tokens = tokens(pattern);
        StringBuilder prefix = new StringBuilder();
        for (Token token : tokens) {
            if (token.wildcard != Wildcard.NONE) {
                break;
            }
            prefix.appendCodePoint(token.literal);
        }
        this.literalPrefix = prefix.toString();
        this.literalPrefixLength = prefix.codePointCount(0, prefix.length());
        this.literal = literalPrefixLength == tokens.size();
        this.trailingWildcard =
                literalPrefixLength == tokens.size() - 1 ? tokens.get(tokens.size() - 1).wildcard : null;
        boolean isFollowed = !literal && trailingWildcard == null; // otherwise, the literal prefix suffices
        this.words = isFollowed ? (tokens.size() >> 6) + 1 : 0;
        this.none = new long[words];
        this.one = new long[words];
        this.run = new long[words];
        this.runInSegment = new long[words];
        for (int i = 0; i < tokens.size() && isFollowed; i++) {
            Token token = tokens.get(i);
            set(
                    switch (token.wildcard) {
                        case NONE -> positions.computeIfAbsent(token.literal, c -> new long[words]);
                        case ONE -> one;
                        case RUN -> run;
                        case RUN_IN_SEGMENT -> runInSegment;
                    },
                    i);
        }
    }

    /** Returns whether the pattern has no wildcard, so that only {@link #literalPrefix} itself matches. */
    public boolean isLiteral() {
        return literal;
    }

    /** Returns the prefix of all matching values: the characters before the first wildcard. */
    public String literalPrefix() {
        return literalPrefix;
    }

    /**
     * Returns whether some text may match both patterns. Two patterns with wildcards are compared only by their literal
     * prefixes, so the result can be true although no text matches both; it is never false if one does.
     */
    boolean mayOverlap(Glob other) {
        if (isLiteral()) {
            return other.matches(literalPrefix);
        }
        return other.isLiteral()
                ? matches(other.literalPrefix)
                : literalPrefix.startsWith(other.literalPrefix) || other.literalPrefix.startsWith(literalPrefix);
    }

    /**
     * Returns whether this pattern matches each text that another one matches. Returns false if it does not, or if the
     * comparison takes too many steps.
     */
    boolean includes(Glob other, GlobInclusion comparison) {
        if (equals(other)) {
            return true;
        }
        return other.isLiteral()
                ? matches(other.literalPrefix)
                : !isLiteral()
                        && other.literalPrefix.startsWith(literalPrefix)
                        && comparison.holds(tokens, other.tokens);
    }

    /** Returns a text that this pattern matches: runs are replaced by a text without slashes, {@code ?} by its start. */
    String example(String filler) {
        StringBuilder text = new StringBuilder();
        for (Token token : tokens) {
            switch (token.wildcard) {
                case NONE -> text.appendCodePoint(token.literal);
                case ONE -> text.appendCodePoint(filler.codePointAt(0));
                case RUN_IN_SEGMENT, RUN -> text.append(filler);
            }
        }
        return text.toString();
    }

    public boolean matches(String text) {
        if (!text.startsWith(literalPrefix)) {
            return false;
        }
        int start = literalPrefix.length();
        if (literal) {
            return text.length() == start;
        }
        return trailingWildcard == null ? matchesFrom(start, text) : matchesRest(trailingWildcard, text, start);
    }

    /** Returns whether a single trailing wildcard matches the rest of the text. */
    private static boolean matchesRest(Wildcard wildcard, String text, int start) {
        return switch (wildcard) {
            case RUN -> true;
            case RUN_IN_SEGMENT -> text.indexOf('/', start) < 0;
            case ONE, NONE ->
                start < text.length()
                        && text.charAt(start) != '/'
                        && text.offsetByCodePoints(start, 1) == text.length();
        };
    }

    /**
     * Simulates the pattern as a non-deterministic automaton. Each position is a bit, and each character of the text
     * advances all positions with a few operations per 64-bit word (R. Baeza-Yates, G. Gonnet: <i>A new approach to
     * text searching</i>, CACM 35(10), 1992).
     */
    private boolean matchesFrom(int start, String text) {
        long[] reached = new long[words];
        set(reached, literalPrefixLength);
        advancePastRuns(reached);
        for (int i = start; i < text.length(); i = text.offsetByCodePoints(i, 1)) {
            int c = text.codePointAt(i);
            if (!advance(reached, positions.getOrDefault(c, none), c != '/')) {
                return false;
            }
        }
        return (reached[tokens.size() >> 6] & 1L << tokens.size()) != 0;
    }

    /** Advances the reached positions by one character. Returns false if none is left. */
    private boolean advance(long[] reached, long[] literalHere, boolean isInSegment) {
        long carry = 0;
        long any = 0;
        for (int word = 0; word < words; word++) {
            long at = reached[word];
            long steps = at & (literalHere[word] | (isInSegment ? one[word] : 0));
            long stays = at & (run[word] | (isInSegment ? runInSegment[word] : 0));
            reached[word] = steps << 1 | carry | stays;
            carry = steps >>> 63;
            any |= reached[word];
        }
        if (any != 0) {
            advancePastRuns(reached);
        }
        return any != 0;
    }

    /** Also marks the positions behind runs as reached, since a run can be empty. No two runs are adjacent. */
    private void advancePastRuns(long[] reached) {
        long carry = 0;
        for (int word = 0; word < words; word++) {
            long runs = reached[word] & (run[word] | runInSegment[word]);
            reached[word] |= runs << 1 | carry;
            carry = runs >>> 63;
        }
    }

    private static void set(long[] bits, int place) {
        bits[place >> 6] |= 1L << place;
    }

    private static List<Token> tokens(String pattern) {
        int[] characters = pattern.codePoints().toArray();
        if (Arrays.stream(characters).anyMatch(c -> c >= Character.MIN_SURROGATE && c <= Character.MAX_SURROGATE)) {
            throw new IllegalArgumentException("a pattern must not have an unpaired surrogate");
        }
        List<Token> tokens = new ArrayList<>(characters.length);
        for (int i = 0; i < characters.length; i++) {
            int c = characters[i];
            switch (c) {
                case '?' -> tokens.add(new Token(Wildcard.ONE, c));
                case '*' -> {
                    boolean twice = i + 1 < characters.length && characters[i + 1] == '*';
                    addRun(tokens, twice ? Wildcard.RUN : Wildcard.RUN_IN_SEGMENT);
                    i += twice ? 1 : 0;
                }
                case '\\' -> {
                    if (++i == characters.length) {
                        throw new IllegalArgumentException("a pattern must not end in a backslash: " + pattern);
                    }
                    tokens.add(new Token(Wildcard.NONE, characters[i]));
                }
                default -> tokens.add(new Token(Wildcard.NONE, c));
            }
        }
        return tokens;
    }

    /** Appends a run. Adjacent runs are merged into the one that matches more. */
    private static void addRun(List<Token> tokens, Wildcard wildcard) {
        Wildcard before = tokens.isEmpty() ? null : tokens.get(tokens.size() - 1).wildcard;
        if (before == Wildcard.RUN_IN_SEGMENT) {
            tokens.remove(tokens.size() - 1);
        }
        if (before != Wildcard.RUN) {
            tokens.add(new Token(wildcard, '*'));
        }
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof Glob glob && glob.pattern.equals(pattern);
    }

    @Override
    public int hashCode() {
        return pattern.hashCode();
    }

    @Override
    public String toString() {
        return pattern;
    }
}
