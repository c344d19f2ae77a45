package dev.weir.runtime;

import dev.weir.storage.DamagedStoreException;
import java.io.IOException;
import java.util.Optional;
import org.rocksdb.RocksDBException;
import org.rocksdb.Status;

/**
 * What is wrong with a state directory, if a failure has to do with it. All that is in it is also on the changelog
 * topics, so nothing is lost with it.
 */
final class StateDirectoryFailures {

    private static final String FULL = "No space left on device"; // as strerror(3) says it
    private static final String GONE = "No such file or directory";
    private static final String LOCKED = "While lock file";

    private StateDirectoryFailures() {}

    /** What is wrong and what to do, in words that name the directory; empty if it is something else. */
    static Optional<String> advice(Throwable failure, String directory) {
        if (isFull(failure)) {
            return Optional.of(
                    "the state directory " + directory + " is full: make room and start again, nothing is lost");
        }
        if (isDamage(failure)) {
            return Optional.of("a store in the state directory " + directory
                    + " is damaged: it is deleted, and the next start restores it from its changelog, nothing is lost");
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

    /** Whether a store cannot be read, and never will be. */
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
