package dev.weir.runtime;

import com.sun.security.auth.module.UnixSystem;
import dev.weir.kafka.UnreachableException;
import java.io.IOException;
import java.nio.file.AccessDeniedException;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Map;
import java.util.Optional;

/**
 * Checks whether a state directory is safe. A user who can write to it can change the usage of all clients and read
 * their ids and payloads.
 *
 * <p>On a path such as {@code /tmp/weir}, the first user to create {@code weir} owns it. So a directory or symbolic
 * link of the path that is directly in a directory to which every user can write must belong to this user or to root.
 * If the state directory itself is in such a place and belongs to this user, it must not be writable for every user.
 * Symbolic links are followed, and their targets are checked in the same way. In other places the owner is not
 * checked: users who can create files there were given that permission, and volumes often belong to another user and
 * are group-writable.
 */
public final class StateDirectoryCheck {

    private static final int MOST_LINKS = 40;
    private static final int EVERYBODY_WRITES = 0002;
    private static final String PERMISSIONS = "rwxr-x---";

    private static final String ADVICE =
            "set state.directory to a directory that only this user can write to, such as /var/lib/weir";

    private StateDirectoryCheck() {}

    /**
     * Checks the directory and creates it if it is missing.
     *
     * @throws BadStateDirectoryException if it is not safe, not a directory, or not writable
     * @throws UnreachableException if it cannot be created for another reason
     */
    public static void requireUsable(Path directory) {
        requireSafe(directory);
        try {
            create(directory.toAbsolutePath());
        } catch (AccessDeniedException e) {
            throw notWritable(directory, Path.of(e.getFile()).getParent());
        } catch (IOException e) {
            Path there = existing(directory);
            if (!Files.isDirectory(there)) {
                throw new BadStateDirectoryException(
                        directory, there + " is not a directory", "set state.directory to another path");
            }
            throw new UnreachableException("cannot use the state directory " + directory + ": " + e, e);
        }
        requireSafe(directory); // another process may have created it since the first check
        if (!Files.isWritable(directory)) {
            throw notWritable(directory, directory);
        }
    }

    /** @throws BadStateDirectoryException if another user controls the directory */
    static void requireSafe(Path directory) {
        fault(directory).ifPresent(why -> {
            throw new BadStateDirectoryException(directory, why, ADVICE);
        });
    }

    /**
     * Returns why the directory is not safe; empty if it is safe or does not exist, or if this system has no Unix
     * file attributes.
     */
    public static Optional<String> fault(Path directory) {
        return FileSystems.getDefault().supportedFileAttributeViews().contains("unix")
                ? fault(directory, user())
                : Optional.empty();
    }

    /** Like {@link #fault(Path)}, for a process of another user. */
    static Optional<String> fault(Path directory, long user) {
        try {
            return fault(directory.toAbsolutePath(), user, MOST_LINKS);
        } catch (NoSuchFileException | AccessDeniedException e) {
            return Optional.empty();
        } catch (IOException e) {
            return Optional.of("it cannot be checked: " + e);
        }
    }

    static long user() {
        return new UnixSystem().getUid();
    }

    private static Optional<String> fault(Path directory, long user, int mostLinks) throws IOException {
        boolean shared = false;
        Path path = directory.getRoot();
        for (int i = 0; i < directory.getNameCount(); i++) {
            path = path.resolve(directory.getName(i));
            Map<String, Object> file =
                    Files.readAttributes(path, "unix:uid,mode,isSymbolicLink,isDirectory", LinkOption.NOFOLLOW_LINKS);
            int owner = (int) file.get("uid");
            if (shared && owner != user && owner != 0) {
                return Optional.of(path + " belongs to another user (uid " + owner
                        + ") and is in a directory where every user can create files");
            }
            boolean isLast = i == directory.getNameCount() - 1;
            if ((boolean) file.get("isSymbolicLink")) {
                if (mostLinks == 0) {
                    return Optional.of("too many symbolic links");
                }
                Path target = path.resolveSibling(Files.readSymbolicLink(path));
                return fault(
                        isLast ? target : target.resolve(directory.subpath(i + 1, directory.getNameCount())),
                        user,
                        mostLinks - 1);
            }
            boolean everybodyWrites = ((int) file.get("mode") & EVERYBODY_WRITES) != 0;
            if (shared && isLast && everybodyWrites && owner == user) {
                return Optional.of("every user can write to it");
            }
            if (!(boolean) file.get("isDirectory")) {
                return Optional.empty(); // users cannot create files in it
            }
            shared = everybodyWrites;
        }
        return Optional.empty();
    }

    private static void create(Path directory) throws IOException {
        if (Files.isDirectory(directory)) {
            return;
        }
        Files.createDirectories(directory.getParent());
        Files.createDirectory(
                directory, PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString(PERMISSIONS)));
    }

    /** Returns the directory, or its nearest ancestor that exists. */
    private static Path existing(Path directory) {
        Path there = directory.toAbsolutePath();
        while (!Files.exists(there, LinkOption.NOFOLLOW_LINKS)) {
            there = there.getParent();
        }
        return there;
    }

    private static BadStateDirectoryException notWritable(Path directory, Path where) {
        return new BadStateDirectoryException(
                directory,
                where + " is not writable by " + System.getProperty("user.name") + " (uid " + user() + ")",
                "change its owner or set state.directory to another path");
    }
}
