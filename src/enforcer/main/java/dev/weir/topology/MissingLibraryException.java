package dev.weir.topology;

import dev.weir.fault.BadInput;

/** Thrown if RocksDB's native library cannot be loaded. The message is one line and includes a fix. */
public final class MissingLibraryException extends RuntimeException implements BadInput {

    private static final long serialVersionUID = 1L;

    MissingLibraryException(Throwable cause) {
        super(
                "cannot load RocksDB on " + System.getProperty("os.name") + " (" + System.getProperty("os.arch") + "): "
                        + String.valueOf(cause.getMessage())
                                .lines()
                                .findFirst()
                                .orElse("")
                                .replaceFirst("\\.$", "")
                        + "; if weir.jar has no library for this platform, put Maven's org.rocksdb:rocksdbjni beside it"
                        + " as rocksdbjni.jar",
                cause);
    }
}
