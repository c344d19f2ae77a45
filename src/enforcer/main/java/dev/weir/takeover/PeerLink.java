package dev.weir.takeover;

import java.util.concurrent.CompletableFuture;

/** Asks other instances for their announcements. */
@FunctionalInterface
public interface PeerLink {

    /**
     * Asks an instance for its announcement, as JSON.
     *
     * @param address {@code host:port}
     * @param known what it has announced before: it answers when it announces something else, or after a while. Empty for
     *     an answer at once
     * @return fails if the connection breaks, or there is no answer in time
     */
    CompletableFuture<String> ask(String address, String known);
}
