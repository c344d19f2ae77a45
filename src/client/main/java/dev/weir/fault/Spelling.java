package dev.weir.fault;

import java.util.Collection;

/** Finds the known word that a misspelled word most likely stands for. */
public final class Spelling {

    private static final int MAX_DISTANCE = 2;
    private static final int TOO_FAR = MAX_DISTANCE + 1;

    /** The maximum number of known words that are compared. */
    private static final int MAX_TRIED = 1_000;

    private Spelling() {}

    /**
     * Returns the known word that is nearest to a word.
     *
     * @param word the misspelled word
     * @param known the known words. Of those with a similar length, only the first thousand are compared
     * @return the nearest word; null if none is within two edits
     */
    public static String nearest(String word, Collection<String> known) {
        String nearest = null;
        int least = TOO_FAR;
        int tried = 0;
        for (String candidate : known) {
            boolean near = Math.abs(candidate.length() - word.length()) < least;
            if (near && ++tried > MAX_TRIED) {
                break;
            }
            int distance = near ? distance(word, candidate) : least;
            if (distance < least && distance < candidate.length()) {
                least = distance;
                nearest = candidate;
            }
        }
        return nearest;
    }

    /**
     * Returns the number of characters that must be inserted, deleted or replaced (Levenshtein distance), or
     * {@link #TOO_FAR} if it is more than two. Only positions that are at most two apart are compared (Ukkonen 1985),
     * so the time is linear in the length.
     */
    private static int distance(String from, String to) {
        int[] row = new int[to.length() + 1];
        for (int j = 0; j <= to.length(); j++) {
            row[j] = Math.min(j, TOO_FAR);
        }
        for (int i = 1; i <= from.length(); i++) {
            int first = Math.max(1, i - MAX_DISTANCE);
            int last = Math.min(to.length(), i + MAX_DISTANCE);
            int diagonal = row[first - 1];
            row[first - 1] = first == 1 ? Math.min(i, TOO_FAR) : TOO_FAR;
            int least = row[first - 1];
            for (int j = first; j <= last; j++) {
                int replaced = diagonal + (from.charAt(i - 1) == to.charAt(j - 1) ? 0 : 1);
                diagonal = row[j];
                row[j] = Math.min(Math.min(replaced, TOO_FAR), Math.min(row[j], row[j - 1]) + 1);
                least = Math.min(least, row[j]);
            }
            if (least >= TOO_FAR) {
                return TOO_FAR;
            }
        }
        return row[to.length()];
    }
}
