package dev.weir.runtime;

import dev.weir.kafka.UnreachableException;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.UUID;
import java.util.regex.Pattern;

/**
 * The id of an instance in its consumer groups, stored in its state directory. With static membership (KIP-345), an
 * instance that restarts with its state gets its partitions back at once, before its earlier session has timed out.
 */
final class InstanceId {

    private static final String FILE = "instance-id";
    private static final Pattern ID = Pattern.compile("[0-9a-f-]{36}");

    private InstanceId() {}

    /**
     * Returns the id that is stored in a state directory, or creates one.
     *
     * @throws UnreachableException if the directory cannot be written
     */
    static String of(Path stateDirectory) {
        Path file = stateDirectory.resolve(FILE);
        try {
            Files.createDirectories(stateDirectory);
            String id = Files.exists(file) ? Files.readString(file, StandardCharsets.ISO_8859_1) : "";
            if (!ID.matcher(id).matches()) { // missing, or incomplete because the disk was full
                id = UUID.randomUUID().toString();
                Files.writeString(file, id);
            }
            return id;
        } catch (IOException e) {
            throw new UnreachableException("cannot use the state directory " + stateDirectory + ": " + e, e);
        }
    }
}
