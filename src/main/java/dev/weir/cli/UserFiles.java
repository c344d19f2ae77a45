package dev.weir.cli;

import dev.weir.codec.FaultsException;
import java.io.IOException;
import java.nio.charset.CharacterCodingException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;

/** Files that the user named. */
final class UserFiles {

    private static final long MAX_BYTES = 64L << 20;

    /** Reads the text of a named file as something. */
    interface Reader<T> {
        T read(String name, String text) throws FaultsException;
    }

    private UserFiles() {}

    /** @throws InputException if it cannot be read */
    static <T> T read(Path file, Reader<T> reader) throws FaultsException {
        String text;
        try {
            if (Files.size(file) > MAX_BYTES) {
                throw new InputException(file + ": is larger than " + MAX_BYTES + " bytes", null);
            }
            text = Files.readString(file);
        } catch (CharacterCodingException e) {
            throw new InputException(file + ": is not UTF-8", e);
        } catch (IOException e) {
            throw unreadable(file.toString(), e);
        }
        return reader.read(file.toString(), text);
    }

    static InputException unreadable(String file, IOException e) {
        String why = e instanceof NoSuchFileException ? "no such file" : String.valueOf(e.getMessage());
        return new InputException(why.startsWith(file) ? why : file + ": " + why, e);
    }
}
