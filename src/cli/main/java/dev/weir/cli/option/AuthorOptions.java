package dev.weir.cli.option;

import dev.weir.console.InputException;
import dev.weir.wire.ChangeAuthor;
import java.util.Optional;
import picocli.CommandLine.Option;

/** The options for the author and the reason of a change, which the history records. */
public final class AuthorOptions {

    @Option(
            names = "--author",
            paramLabel = "NAME",
            description = "The author of the change, for the history (default: the user of this process).")
    private String author;

    @Option(names = "--reason", paramLabel = "TEXT", description = "The reason for the change, for the history.")
    private String reason;

    /** Returns the name of the user of this process; empty if unknown. */
    public static Optional<String> user() {
        return Optional.ofNullable(System.getProperty("user.name"))
                .filter(name -> !name.isBlank() && !name.equals("?"));
    }

    /** @throws InputException if the author or the reason is invalid */
    public ChangeAuthor changedBy() {
        try {
            return new ChangeAuthor(Optional.ofNullable(author).or(AuthorOptions::user), Optional.ofNullable(reason));
        } catch (IllegalArgumentException e) {
            throw new InputException("--author, --reason: " + e.getMessage(), e);
        }
    }
}
