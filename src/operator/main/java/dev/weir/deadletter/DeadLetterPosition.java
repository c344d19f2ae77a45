package dev.weir.deadletter;

import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The position of a dead letter in its topic. As text, it is the partition and the offset with a colon between them.
 *
 * @param partition the partition of the dead-letter topic
 * @param offset the offset in that partition
 */
public record DeadLetterPosition(int partition, long offset) {

    private static final Pattern TEXT = Pattern.compile("([0-9]{1,9}):([0-9]{1,18})");

    /** @throws IllegalArgumentException if the text is not a position */
    public static DeadLetterPosition parse(String text) {
        Matcher parts = TEXT.matcher(text);
        if (!parts.matches()) {
            throw new IllegalArgumentException(
                    "a dead letter is named by its partition and offset, such as 0:42, not '" + text + "'");
        }
        return new DeadLetterPosition(Integer.parseInt(parts.group(1)), Long.parseLong(parts.group(2)));
    }

    @Override
    public String toString() {
        return partition + ":" + offset;
    }
}
