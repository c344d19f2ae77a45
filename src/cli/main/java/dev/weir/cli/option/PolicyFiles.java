package dev.weir.cli.option;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.weir.console.InputException;
import dev.weir.console.UserFiles;
import dev.weir.definition.PolicyFile;
import dev.weir.definition.PolicyFileText;
import dev.weir.fault.FaultsException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.Set;
import java.util.function.Supplier;

/** Reads the policy files that the user names. */
public final class PolicyFiles {

    private static final String STANDARD_INPUT = "-";

    private PolicyFiles() {}

    /** Reads a file whose policies refer only to queues of the same file; see {@link #read(String, Supplier)}. */
    public static PolicyFile.Contents read(String file) throws FaultsException {
        return read(file, Set::of);
    }

    /**
     * Reads a file.
     *
     * @param file the path of the file; - is standard input
     * @param existingQueues returns the ids of the queues that the file may refer to besides its own
     * @throws FaultsException if the file is invalid
     * @throws InputException if the file cannot be read or is empty, which usually means that another one was meant
     */
    public static PolicyFile.Contents read(String file, Supplier<Set<String>> existingQueues) throws FaultsException {
        boolean isInput = file.equals(STANDARD_INPUT);
        String name = isInput ? "standard input" : file;
        PolicyFile.Contents contents = isInput
                ? PolicyFile.read(name, standardInput(), existingQueues)
                : UserFiles.read(path(file), path -> PolicyFile.read(path, existingQueues));
        if (contents.isEmpty()) {
            throw new InputException(name + ": has no policies and no queues", null);
        }
        return contents;
    }

    private static Path path(String file) {
        try {
            return Path.of(file);
        } catch (InvalidPathException e) {
            throw new InputException("FILE must be a path: " + e.getMessage(), e);
        }
    }

    private static String standardInput() {
        try {
            byte[] bytes = System.in.readNBytes(PolicyFileText.MAX_LENGTH + 1);
            if (bytes.length > PolicyFileText.MAX_LENGTH) {
                throw new InputException("standard input: has more than " + PolicyFileText.MAX_LENGTH + " bytes", null);
            }
            return UTF_8.newDecoder().decode(ByteBuffer.wrap(bytes)).toString();
        } catch (CharacterCodingException e) {
            throw new InputException("standard input: is not valid UTF-8", e);
        } catch (IOException e) {
            throw UserFiles.unreadable("standard input", e);
        }
    }
}
