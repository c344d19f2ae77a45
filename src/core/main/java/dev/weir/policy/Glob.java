package dev.weir.policy;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * A pattern over a whole value: {@code *} is any run of characters without a slash, {@code **} any run, {@code ?} one
 * character that is no slash, {@code \} takes the next character as it is. A character is a Unicode code point. A match
 * takes a few operations for each character of the text and 64 characters of the pattern, whatever the pattern.
 */
public final class Glob {

    /** The longest pattern, in code points. */
    public static final int MAX_LENGTH = 256;

    private enum Wildcard {
        NONE,
        ONE,
        RUN_IN_SEGMENT,
        RUN
    }

    private record Token(Wildcard wildcard, int literal) {}

    private final String pattern;
    private final List<Token> tokens;
    private final String literalPrefix;
    private final int literalPrefixLength; // the code points of the literal prefix
    private final boolean literal;
    private final Wildcard trailingWildcard; // null unless the last token is the only wildcard

    // the places in front of tokens, as bits; the place behind the last token is there too
    private final int words;
    private final Map<Integer, long[]> positions = new HashMap<>(); // of each literal character
    private final long[] none;
    private final long[] one;
    private final long[] run;
    private final long[] runInSegment;

    /**
     * Reads a pattern.
     *
     * @throws IllegalArgumentException if the pattern is too long, ends in a lone backslash, or has half of a surrogate
     *     pair
     */
    public Glob(String pattern) {
        if (pattern.codePointCount(0, pattern.length()) > MAX_LENGTH) {
            throw new IllegalArgumentException("a pattern has at most " + MAX_LENGTH + " characters");
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
        boolean isFollowed = !literal && trailingWildcard == null; // else the literal prefix decides
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

    /** Whether the pattern has no wildcard, so that only {@link #literalPrefix} itself matches. */
    public boolean isLiteral() {
        return literal;
    }

    /** What every matching value starts with. */
    public String literalPrefix() {
        return literalPrefix;
    }

    /**
     * Whether some text may match this pattern and another one. A pattern with wildcards is compared with another one
     * by what precedes the first wildcard, so the answer may be true although no text matches both; it is never false
     * if one does.
     */
    boolean mayOverlap(Glob other) {
        if (isLiteral()) {
            return other.matches(literalPrefix);
        }
        return other.isLiteral()
                ? matches(other.literalPrefix)
                : literalPrefix.startsWith(other.literalPrefix) || other.literalPrefix.startsWith(literalPrefix);
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

    /** Whether a wildcard stands for all that follows in the text. */
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
     * Follows all places that the pattern may have reached, one character of the text at a time: a place is a bit, and
     * a character moves all of them with a few operations on each word (R. Baeza-Yates, G. Gonnet: <i>A new approach to
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

    /** Returns whether any place is reached. */
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

    /** A run may be empty. Of two tokens in a row, one is no run. */
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
            throw new IllegalArgumentException("a pattern must not have half of a surrogate pair");
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

    /** Runs in a row are one: the one that takes more. */
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
