package dev.weir.cli;

import dev.weir.codec.ChangedBy;
import java.util.Optional;
import picocli.CommandLine.Option;

/** Who changes rules, and why: recorded in the history. */
final class AuthorOptions {

    @Option(
            names = "--author",
            paramLabel = "NAME",
            description = "Who makes the change, for the history (default: the user of this process).")
    private String author;

    @Option(names = "--reason", paramLabel = "TEXT", description = "Why, for the history.")
    private String reason;

    /** The user of this process, if the machine tells. */
    static Optional<String> user() {
        return Optional.ofNullable(System.getProperty("user.name"))
                .filter(name -> !name.isBlank() && !name.equals("?"));
    }

    /** @throws InputException if an option is at fault */
    ChangedBy changedBy() {
        try {
            return new ChangedBy(Optional.ofNullable(author).or(AuthorOptions::user), Optional.ofNullable(reason));
        } catch (IllegalArgumentException e) {
            throw new InputException("--author, --reason: " + e.getMessage(), e);
        }
    }
}
