package dev.weir.client;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Reports an error that ends a thread of a {@link WeirClient}. Its state can be inconsistent, so it does not go on. */
final class ThreadEnd {

    private static final Logger LOG = LoggerFactory.getLogger(WeirClient.class);

    private ThreadEnd() {}

    /** Logs the error, and returns the failure to report to callers. */
    static IllegalStateException report(Thread thread, Throwable error) {
        String message = "the thread " + thread.getName() + " has stopped: " + error;
        LOG.error(message, error);
        return new IllegalStateException(message, error);
    }
}
