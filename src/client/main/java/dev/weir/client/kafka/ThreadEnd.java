package dev.weir.client.kafka;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Reports an error that ends a thread of a client. Its state can be inconsistent, so it does not go on. */
public final class ThreadEnd {

    private static final Logger LOG = LoggerFactory.getLogger("dev.weir.client.WeirClient");

    private ThreadEnd() {}

    /**
     * Logs the error to the client's logger, and returns the failure to report to callers.
     *
     * @param thread the thread that ends
     * @param error why it ends
     * @return a failure that names both
     */
    public static IllegalStateException report(Thread thread, Throwable error) {
        String message = "the thread " + thread.getName() + " has stopped: " + error;
        LOG.error(message, error);
        return new IllegalStateException(message, error);
    }
}
