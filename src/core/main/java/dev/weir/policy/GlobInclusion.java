package dev.weir.policy;

import java.util.ArrayDeque;
import java.util.BitSet;
import java.util.Deque;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/**
 * Decides whether each text that one pattern matches is matched by another one. Both are finite automata whose states
 * are the positions before their tokens. One character of the narrower pattern is read at a time, together with the set
 * of positions that the wider one can have reached (subset construction on the fly). The narrower pattern is included if
 * and only if, wherever it ends, that set contains the end. Characters that occur in neither pattern behave alike, so one of
 * them represents all.
 *
 * <pre>
 *   /api/**  includes  /api/v1/*        *  does not include  **, which also matches a slash
 * </pre>
 *
 * <p>All comparisons of an instance share a number of steps. After that, patterns are not included. Not thread-safe.
 */
final class GlobInclusion {

    /** Enough for the policies of a cluster, and done within seconds. */
    static final int DEFAULT_STEPS = 5_000_000;

    /** The most steps of one comparison. */
    private static final int MAX_STEPS = 50_000;

    private int stepsLeft;

    /** A position of the narrower pattern, and those that the wider one can have reached. */
    private record Place(int at, BitSet reached) {}

    /** @param steps how many characters are read in all comparisons together */
    GlobInclusion(int steps) {
        stepsLeft = steps;
    }

    /** Returns whether {@code wide} includes {@code narrow}; false also if there are too few steps to decide it. */
    boolean holds(List<Glob.Token> wide, List<Glob.Token> narrow) {
        int leftAfter = Math.max(0, stepsLeft - MAX_STEPS);
        int[] alphabet = alphabet(wide, narrow);
        Deque<Place> open = new ArrayDeque<>();
        Set<Place> seen = new HashSet<>();
        BitSet start = new BitSet();
        start.set(0);
        add(new Place(0, withBehindRuns(start, wide)), open, seen);
        while (!open.isEmpty()) {
            Place place = open.remove();
            if (place.at == narrow.size()) {
                if (!place.reached.get(wide.size())) {
                    return false;
                }
                continue;
            }
            Glob.Token token = narrow.get(place.at);
            if (isRun(token)) {
                add(new Place(place.at + 1, place.reached), open, seen);
            }
            for (int character : alphabet) {
                if (matches(token, character)) {
                    if (--stepsLeft <= leftAfter) {
                        return false;
                    }
                    BitSet next = advance(place.reached, wide, character);
                    add(new Place(isRun(token) ? place.at : place.at + 1, next), open, seen);
                }
            }
        }
        return true;
    }

    /** Returns the characters of both patterns, the slash, and one other. */
    private static int[] alphabet(List<Glob.Token> wide, List<Glob.Token> narrow) {
        Set<Integer> characters = new HashSet<>();
        characters.add((int) '/');
        for (List<Glob.Token> tokens : List.of(wide, narrow)) {
            for (Glob.Token token : tokens) {
                if (token.wildcard() == Glob.Wildcard.NONE) {
                    characters.add(token.literal());
                }
            }
        }
        int other = 'a';
        while (characters.contains(other)) {
            other++;
        }
        characters.add(other);
        return characters.stream().mapToInt(Integer::intValue).sorted().toArray();
    }

    private static void add(Place place, Deque<Place> open, Set<Place> seen) {
        if (seen.add(place)) {
            open.add(place);
        }
    }

    private static BitSet advance(BitSet reached, List<Glob.Token> wide, int character) {
        BitSet next = new BitSet();
        for (int at = reached.nextSetBit(0); at >= 0 && at < wide.size(); at = reached.nextSetBit(at + 1)) {
            if (matches(wide.get(at), character)) {
                next.set(isRun(wide.get(at)) ? at : at + 1);
            }
        }
        return withBehindRuns(next, wide);
    }

    /** Adds the positions behind runs, since a run can be empty. */
    private static BitSet withBehindRuns(BitSet reached, List<Glob.Token> wide) {
        for (int at = reached.nextSetBit(0); at >= 0 && at < wide.size(); at = reached.nextSetBit(at + 1)) {
            if (isRun(wide.get(at))) {
                reached.set(at + 1);
            }
        }
        return reached;
    }

    private static boolean isRun(Glob.Token token) {
        return token.wildcard() == Glob.Wildcard.RUN || token.wildcard() == Glob.Wildcard.RUN_IN_SEGMENT;
    }

    private static boolean matches(Glob.Token token, int character) {
        return switch (token.wildcard()) {
            case NONE -> token.literal() == character;
            case ONE, RUN_IN_SEGMENT -> character != '/';
            case RUN -> true;
        };
    }
}
