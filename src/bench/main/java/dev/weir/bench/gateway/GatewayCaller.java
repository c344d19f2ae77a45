package dev.weir.bench.gateway;

import java.io.IOException;

/** A caller of a gateway. It waits for each answer before it asks again. Not thread-safe. */
interface GatewayCaller extends AutoCloseable {

    /** Creates callers of one gateway. */
    interface Factory {
        GatewayCaller create() throws IOException;
    }

    /**
     * Asks for a decision about a client.
     *
     * @throws IOException if there is no answer
     * @throws IllegalStateException if the answer does not allow the request
     */
    void call(int client) throws IOException;

    @Override
    default void close() throws IOException {}
}
