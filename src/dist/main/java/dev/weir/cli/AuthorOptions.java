package dev.weir.cli;

import dev.weir.wire.ChangeAuthor;
import java.util.Optional;
import picocli.CommandLine.Option;

/** The author of a change and the reason, for the history. */
final class AuthorOptions {

    @Option(
            names = "--author",
            paramLabel = "NAME",
            description = "Who makes the change, for the history (default: the user of this process).")
    private String author;

    @Option(names = "--reason", paramLabel = "TEXT", description = "Why, for the history.")
    private String reason;

    /** The operating system's name of the user; empty if unknown. */
    static Optional<String> user() {
        return Optional.ofNullable(System.getProperty("user.name"))
                .filter(name -> !name.isBlank() && !name.equals("?"));
    }

    /** @throws InputException if an option is at fault */
    ChangeAuthor changedBy() {
        try {
            return new ChangeAuthor(Optional.ofNullable(author).or(AuthorOptions::user), Optional.ofNullable(reason));
        } catch (IllegalArgumentException e) {
            throw new InputException("--author, --reason: " + e.getMessage(), e);
        }
    }
}
