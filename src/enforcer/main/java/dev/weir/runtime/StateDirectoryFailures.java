package dev.weir.runtime;

import dev.weir.storage.DamagedStoreException;
import java.io.IOException;
import java.util.Optional;
import org.rocksdb.RocksDBException;
import org.rocksdb.Status;

/**
 * Detects failures that are caused by the state directory. All of its data is also in the changelog topics, so no data
 * is lost with it.
 */
final class StateDirectoryFailures {

    private static final String FULL = "No space left on device"; // the messages of strerror(3)
    private static final String GONE = "No such file or directory";
    private static final String LOCKED = "While lock file";

    private StateDirectoryFailures() {}

    /** Returns the problem with the directory and what to do; empty if the failure has another cause. */
    static Optional<String> advice(Throwable failure, String directory) {
        if (isFull(failure)) {
            return Optional.of(
                    "the state directory " + directory + " is full; free some space and start again, no data is lost");
        }
        if (isDamage(failure)) {
            return Optional.of("a store in the state directory " + directory
                    + " is damaged; it is deleted, and the next start restores it from its changelog without loss");
        }
        return Optional.empty();
    }

    static boolean isFull(Throwable failure) {
        for (Throwable cause = failure; cause != null; cause = cause.getCause()) {
            if (messageContains(cause, FULL) && (cause instanceof IOException || cause instanceof RocksDBException)) {
                return true;
            }
        }
        return false;
    }

    /** Returns whether a store is permanently unreadable. */
    static boolean isDamage(Throwable failure) {
        for (Throwable cause = failure; cause != null; cause = cause.getCause()) {
            if (cause instanceof DamagedStoreException
                    || (cause instanceof RocksDBException store && isDamage(store))) {
                return true;
            }
        }
        return false;
    }

    private static boolean isDamage(RocksDBException failure) {
        if (messageContains(failure, FULL) || messageContains(failure, LOCKED) || failure.getStatus() == null) {
            return false;
        }
        Status.Code code = failure.getStatus().getCode();
        return code == Status.Code.Corruption || (code == Status.Code.IOError && messageContains(failure, GONE));
    }

    private static boolean messageContains(Throwable failure, String what) {
        return failure.getMessage() != null && failure.getMessage().contains(what);
    }
}
