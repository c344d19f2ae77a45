package dev.weir.wire;

import java.util.Optional;

/**
 * Who changed a policy or queue, and why. Nothing checks the author beyond what the way of the change checks: over HTTP
 * the token, on the topic the right to write.
 *
 * @param author at most {@value #MAX_AUTHOR} characters; empty if not known
 * @param reason at most {@value #MAX_REASON} characters; empty if none was given
 */
public record ChangeAuthor(Optional<String> author, Optional<String> reason) {

    public static final int MAX_AUTHOR = 200;
    public static final int MAX_REASON = 512;

    /** By an author who is not known. */
    public static final ChangeAuthor UNKNOWN = new ChangeAuthor(Optional.empty(), Optional.empty());

    /** @throws IllegalArgumentException if one is blank, too long, or has a control character */
    public ChangeAuthor {
        author.ifPresent(text -> require("author", text, MAX_AUTHOR));
        reason.ifPresent(text -> require("reason", text, MAX_REASON));
    }

    /** As a record has it; what is at fault there is left out, since the change holds all the same. */
    static ChangeAuthor recorded(String author, String reason) {
        return new ChangeAuthor(
                Optional.ofNullable(author).filter(text -> fault(text, MAX_AUTHOR) == null),
                Optional.ofNullable(reason).filter(text -> fault(text, MAX_REASON) == null));
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
        return text.chars().anyMatch(Character::isISOControl) ? "must not have control characters" : null;
    }
}
