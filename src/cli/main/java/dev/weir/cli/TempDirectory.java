package dev.weir.cli;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.stream.Stream;

/** A temporary directory that is deleted on {@link #close}. */
final class TempDirectory implements AutoCloseable {

    private final Path path;

    private TempDirectory(Path path) {
        this.path = path;
    }

    static TempDirectory create(String prefix) throws IOException {
        return new TempDirectory(Files.createTempDirectory(prefix));
    }

    Path path() {
        return path;
    }

    /** Deletes the directory with its content. */
    @Override
    public void close() {
        List<Path> deepestFirst;
        try (Stream<Path> all = Files.walk(path)) {
            deepestFirst = all.sorted(Comparator.reverseOrder()).toList();
            for (Path file : deepestFirst) {
                Files.deleteIfExists(file);
            }
        } catch (IOException e) {
            throw new UncheckedIOException("cannot delete " + path, e);
        }
    }
}
