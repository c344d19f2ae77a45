package dev.weir.topology;

import org.rocksdb.RocksDB;

/** RocksDB's native library. {@code weir.jar} contains it for some platforms only. */
public final class RocksLibrary {

    private RocksLibrary() {}

    /**
     * Loads the library, unless it is loaded.
     *
     * @throws MissingLibraryException if there is none for this platform
     */
    public static void load() {
        load(RocksDB::loadLibrary);
    }

    static void load(Runnable load) {
        try {
            load.run();
        } catch (RuntimeException | LinkageError e) {
            throw new MissingLibraryException(e);
        }
    }
}
