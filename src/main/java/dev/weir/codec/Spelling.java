package dev.weir.codec;

import java.util.Collection;

/** Guesses which word somebody meant. */
final class Spelling {

    private static final int MAX_DISTANCE = 2;

    private Spelling() {}

    /** The known word nearest to {@code word}, null if none is within two edits. */
    static String nearest(String word, Collection<String> known) {
        String nearest = null;
        int least = MAX_DISTANCE + 1;
        for (String candidate : known) {
            boolean near = Math.abs(candidate.length() - word.length()) < least;
            int distance = near ? distance(word, candidate) : least;
            if (distance < least && distance < candidate.length()) {
                least = distance;
                nearest = candidate;
            }
        }
        return nearest;
    }

    /** How many characters must be put in, left out or replaced (Levenshtein). */
    private static int distance(String from, String to) {
        int[] row = new int[to.length() + 1];
        for (int j = 0; j <= to.length(); j++) {
            row[j] = j;
        }
        for (int i = 1; i <= from.length(); i++) {
            int diagonal = row[0];
            row[0] = i;
            for (int j = 1; j <= to.length(); j++) {
                int replaced = diagonal + (from.charAt(i - 1) == to.charAt(j - 1) ? 0 : 1);
                diagonal = row[j];
                row[j] = Math.min(replaced, Math.min(row[j], row[j - 1]) + 1);
            }
        }
        return row[to.length()];
    }
}
