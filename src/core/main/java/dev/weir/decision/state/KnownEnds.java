package dev.weir.decision.state;

import java.util.OptionalLong;

/**
 * When ended reservations would have ended, by the numbers of the reservations: of most that were ended since the start,
 * so that they can be deleted without being read. What is missing must be read. Uses up to 16 MiB.
 */
// Numbers are given out in order. So a number is at the place of its lowest bits, and one that is missing was replaced
// by
// another, later or earlier by a multiple of the size. The size follows that of the table.
//
//   8 places: 17 at 1, 18 at 2; 25 replaces 17, unless there are enough reservations to double the places
final class KnownEnds {

    private static final int LEAST_PLACES = 1 << 8;
    private static final int MOST_PLACES = 1 << 20;

    private long[] numbers = new long[LEAST_PLACES]; // 0 in unused places
    private long[] endsMs = new long[LEAST_PLACES];

    /**
     * Stores an end.
     *
     * @param size the number of reservations in the table
     */
    void put(long number, long endMs, long size) {
        while (isTaken(number) && numbers.length < Math.min(MOST_PLACES, 2 * size)) {
            resize(2 * numbers.length);
        }
        int place = place(number);
        numbers[place] = number;
        endsMs[place] = endMs;
    }

    private boolean isTaken(long number) {
        long there = numbers[place(number)];
        return there != 0 && there != number;
    }

    private int place(long number) {
        return (int) number & (numbers.length - 1);
    }

    private void resize(int places) {
        long[] before = numbers;
        long[] endsBeforeMs = endsMs;
        numbers = new long[places];
        endsMs = new long[places];
        for (int i = 0; i < before.length; i++) {
            if (before[i] != 0) {
                numbers[place(before[i])] = before[i];
                endsMs[place(before[i])] = endsBeforeMs[i];
            }
        }
    }

    /** Returns an end, empty if it is unknown. */
    OptionalLong get(long number) {
        int place = place(number);
        return numbers[place] == number ? OptionalLong.of(endsMs[place]) : OptionalLong.empty();
    }

    /** Removes an end, if there is one. */
    void remove(long number) {
        int place = place(number);
        numbers[place] = numbers[place] == number ? 0 : numbers[place];
    }

    /** Frees the memory. There must be no ends. */
    void shrink() {
        if (numbers.length > LEAST_PLACES) {
            numbers = new long[LEAST_PLACES];
            endsMs = new long[LEAST_PLACES];
        }
    }
}
