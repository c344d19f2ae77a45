package dev.weir.wire;

import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;

/**
 * Who changed a policy or queue, and why. The author is as trustworthy as the way of the change: over HTTP, the token
 * is checked; on the topic, only the permission to write.
 *
 * @param author at most {@value #MAX_AUTHOR} characters; empty if unknown
 * @param reason at most {@value #MAX_REASON} characters; empty if none was given
 */
public record ChangeAuthor(Optional<String> author, Optional<String> reason) {

    /** The maximum length of an author, in characters. */
    public static final int MAX_AUTHOR = 200;

    /** The maximum length of a reason, in characters. */
    public static final int MAX_REASON = 512;

    private static final String AUTHOR_HEADER = "weir.change-author";
    private static final String REASON_HEADER = "weir.change-reason";

    /** An unknown author without a reason. */
    public static final ChangeAuthor UNKNOWN = new ChangeAuthor(Optional.empty(), Optional.empty());

    /**
     * Checks the values.
     *
     * @param author at most {@value #MAX_AUTHOR} characters; empty if unknown
     * @param reason at most {@value #MAX_REASON} characters; empty if none was given
     * @throws IllegalArgumentException if a value is blank or too long, or contains a control character
     */
    public ChangeAuthor {
        author.ifPresent(text -> require("author", text, MAX_AUTHOR));
        reason.ifPresent(text -> require("reason", text, MAX_REASON));
    }

    /** Returns the author that a record names. Invalid values are omitted, because the change is valid nevertheless. */
    static ChangeAuthor recorded(String author, String reason) {
        return new ChangeAuthor(
                Optional.ofNullable(author).filter(text -> fault(text, MAX_AUTHOR) == null),
                Optional.ofNullable(reason).filter(text -> fault(text, MAX_REASON) == null));
    }

    /**
     * Returns the values as headers of a request that frees usage.
     *
     * @return the values by the names of the headers: {@code weir.change-author} and {@code weir.change-reason}
     */
    public Map<String, String> headers() {
        Map<String, String> headers = new TreeMap<>();
        author.ifPresent(text -> headers.put(AUTHOR_HEADER, text));
        reason.ifPresent(text -> headers.put(REASON_HEADER, text));
        return headers;
    }

    private static void require(String what, String text, int most) {
        String fault = fault(text, most);
        if (fault != null) {
            throw new IllegalArgumentException("the " + what + " " + fault);
        }
    }

    private static String fault(String text, int most) {
        if (text.isBlank()) {
            return "must not be blank";
        }
        if (text.length() > most) {
            return "must have at most " + most + " characters, has " + text.length();
        }
        return text.chars().anyMatch(Character::isISOControl) ? "must not contain control characters" : null;
    }
}
