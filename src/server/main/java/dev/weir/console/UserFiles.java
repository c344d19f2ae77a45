package dev.weir.console;

import dev.weir.fault.FaultsException;
import java.io.IOException;
import java.nio.file.AccessDeniedException;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;

/** Reads files that are named on the command line. */
public final class UserFiles {

    /** A reader of one kind of file. */
    public interface PathReader<T> {
        T read(Path file) throws IOException, FaultsException;
    }

    private UserFiles() {}

    /**
     * Reads a file.
     *
     * @throws InputException if the file does not exist or cannot be read
     * @throws FaultsException if its content is invalid
     */
    public static <T> T read(Path file, PathReader<T> reader) throws FaultsException {
        try {
            return reader.read(file);
        } catch (IOException e) {
            throw unreadable(file.toString(), e);
        }
    }

    public static InputException unreadable(String file, IOException e) {
        String why = e instanceof NoSuchFileException
                ? "no such file"
                : e instanceof AccessDeniedException ? "permission denied" : String.valueOf(e.getMessage());
        return new InputException(why.startsWith(file) ? why : file + ": " + why, e);
    }
}
