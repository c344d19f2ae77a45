package dev.weir.policy;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.List;

/**
 * A pattern over a whole value: {@code *} is any run of characters without a slash, {@code **} any run, {@code ?} one
 * character that is no slash, {@code \} takes the next character as it is. A character is a Unicode code point. A text
 * costs at most its length times the pattern's, whatever the pattern.
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
    private final int literals; // the code points of the literal prefix
    private final boolean literal;
    private final Wildcard onlyLast; // null unless the last token is the only wildcard

    /**
     * Reads a pattern.
     *
     * @throws IllegalArgumentException if the pattern is too long, ends in a lone backslash, or has half of a surrogate pair
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
        this.literals = prefix.codePointCount(0, prefix.length());
        this.literal = literals == tokens.size();
        this.onlyLast = literals == tokens.size() - 1 ? tokens.get(tokens.size() - 1).wildcard : null;
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
     * Whether some text may match this pattern and another one. A pattern with wildcards is compared with another one by what precedes
     * the first wildcard, so the answer may be true although no text matches both; it is never false if one does.
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
        return onlyLast == null ? matchesFrom(start, text) : isStoodFor(onlyLast, text, start);
    }

    /** Whether a wildcard stands for all that follows in the text. */
    private static boolean isStoodFor(Wildcard wildcard, String text, int start) {
        return switch (wildcard) {
            case RUN -> true;
            case RUN_IN_SEGMENT -> text.indexOf('/', start) < 0;
            case ONE, NONE ->
                start < text.length()
                        && text.charAt(start) != '/'
                        && text.offsetByCodePoints(start, 1) == text.length();
        };
    }

    /** Follows all places that the pattern may have reached, one character of the text at a time. */
    private boolean matchesFrom(int start, String text) {
        BitSet reached = new BitSet(tokens.size() + 1);
        BitSet next = new BitSet(tokens.size() + 1);
        reach(reached, literals);
        for (int i = start; i < text.length() && !reached.isEmpty(); i = text.offsetByCodePoints(i, 1)) {
            int c = text.codePointAt(i);
            next.clear();
            for (int at = reached.nextSetBit(0); at >= 0; at = reached.nextSetBit(at + 1)) {
                if (at == tokens.size()) {
                    continue;
                }
                Token token = tokens.get(at);
                switch (token.wildcard) {
                    case NONE -> {
                        if (c == token.literal) {
                            reach(next, at + 1);
                        }
                    }
                    case ONE -> {
                        if (c != '/') {
                            reach(next, at + 1);
                        }
                    }
                    case RUN_IN_SEGMENT -> {
                        if (c != '/') {
                            reach(next, at);
                        }
                    }
                    case RUN -> reach(next, at);
                }
            }
            BitSet before = reached;
            reached = next;
            next = before;
        }
        return reached.get(tokens.size());
    }

    /** Marks a place, and those behind it that need no character. */
    private void reach(BitSet places, int place) {
        int at = place;
        places.set(at);
        while (at < tokens.size() && isRun(tokens.get(at)) && !places.get(at + 1)) {
            places.set(++at);
        }
    }

    private static boolean isRun(Token token) {
        return token.wildcard == Wildcard.RUN || token.wildcard == Wildcard.RUN_IN_SEGMENT;
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
                    tokens.add(new Token(twice ? Wildcard.RUN : Wildcard.RUN_IN_SEGMENT, c));
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
