package dev.weir.runtime;

import dev.weir.topics.UnreachableException;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.UUID;
import java.util.regex.Pattern;

/**
 * What an instance is called in its groups, for as long as its state directory lives: one that comes back on its state
 * gets its partitions back at once, instead of when its former self has timed out (static membership, KIP-345).
 */
final class InstanceId {

    private static final String FILE = "instance-id";
    private static final Pattern ID = Pattern.compile("[0-9a-f-]{36}");

    private InstanceId() {}

    /** @throws UnreachableException if the directory cannot be written */
    static String of(Path stateDirectory) {
        Path file = stateDirectory.resolve(FILE);
        try {
            Files.createDirectories(stateDirectory);
            String id = Files.exists(file) ? Files.readString(file, StandardCharsets.ISO_8859_1) : "";
            if (!ID.matcher(id).matches()) { // none yet, or what a full disk has left
                id = UUID.randomUUID().toString();
                Files.writeString(file, id);
            }
            return id;
        } catch (IOException e) {
            throw new UnreachableException("cannot use the state directory " + stateDirectory + ": " + e, e);
        }
    }
}
