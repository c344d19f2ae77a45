package dev.weir.cli;

import dev.weir.definition.PolicyFile;
import dev.weir.fault.FaultsException;
import java.nio.file.Path;
import java.util.Set;
import java.util.function.Supplier;

/** Reads the policy files that the user names. */
final class PolicyFiles {

    private PolicyFiles() {}

    /** Reads a file whose policies refer only to queues of the same file; see {@link #read(Path, Supplier)}. */
    static PolicyFile.Contents read(Path file) throws FaultsException {
        return read(file, Set::of);
    }

    /**
     * Reads a file.
     *
     * @param existingQueues returns the ids of the queues that the file may refer to besides its own
     * @throws FaultsException if the file is invalid
     * @throws InputException if the file cannot be read or is empty, which usually means that another one was meant
     */
    static PolicyFile.Contents read(Path file, Supplier<Set<String>> existingQueues) throws FaultsException {
        PolicyFile.Contents contents = UserFiles.read(file, path -> PolicyFile.read(path, existingQueues));
        if (contents.isEmpty()) {
            throw new InputException(file + ": has no policies and no queues", null);
        }
        return contents;
    }
}
