package dev.weir.runtime;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class StateDirectoryCheckTest {

    private static final int MALLORY = 54_321;
    private static final int WEIR = 54_322;

    @TempDir
    Path directory;

    /** A directory with the permissions of {@code /tmp}. */
    private Path shared;

    /** A directory with the permissions of {@code /var/lib}. */
    private Path own;

    @BeforeEach
    void createDirectories() throws IOException {
        Path real = directory.toRealPath();
        shared = create(real.resolve("tmp"), "rwxrwxrwx");
        own = create(real.resolve("lib"), "rwxr-xr-x");
    }

    private static Path create(Path path, String permissions) throws IOException {
        return Files.setPosixFilePermissions(
                Files.createDirectories(path), PosixFilePermissions.fromString(permissions));
    }

    private static Path give(Path path, int user) throws IOException {
        assumeTrue(StateDirectoryCheck.user() == 0, "only root can give a file to another user");
        return Files.setAttribute(path, "unix:uid", user, LinkOption.NOFOLLOW_LINKS);
    }

    private static void assertRefused(Path path, String why) {
        assertThatThrownBy(() -> StateDirectoryCheck.requireSafe(path))
                .isInstanceOf(BadStateDirectoryException.class)
                .hasMessageStartingWith("state.directory " + path + ": " + why + "; ")
                .hasMessageEndingWith("set state.directory to a directory that only this user can write to,"
                        + " such as /var/lib/weir")
                .hasMessageNotContaining("\n");
        assertThat(StateDirectoryCheck.fault(path))
                .hasValueSatisfying(fault -> assertThat(fault).isEqualTo(why));
    }

    @Test
    void a_missing_directory_is_created_for_its_user_and_group() throws IOException {
        for (Path path : new Path[] {shared.resolve("weir"), own.resolve("deep/weir")}) {
            assertThat(StateDirectoryCheck.fault(path)).isEmpty();
            assertThat(path).doesNotExist();
            StateDirectoryCheck.requireUsable(path);
            assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(path)))
                    .isEqualTo("rwxr-x---");
            StateDirectoryCheck.requireUsable(path);
        }
    }

    @Test
    void a_directory_of_another_user_in_a_shared_place_is_rejected() throws IOException {
        Path path = give(create(shared.resolve("weir"), "rwxrwxrwx"), MALLORY);
        assertRefused(
                path,
                path + " belongs to another user (uid 54321) and is in a directory where every user can create files");
        assertRefused(
                path.resolve("deep/state"),
                path + " belongs to another user (uid 54321) and is in a directory where every user can create files");
        assertThat(path).isEmptyDirectory();
    }

    @Test
    void a_link_of_another_user_in_a_shared_place_is_rejected() throws IOException {
        Path victim = create(own.resolve("victim"), "rwxr-x---");
        Path link = give(Files.createSymbolicLink(shared.resolve("weir"), victim), MALLORY);
        assertRefused(
                link,
                link + " belongs to another user (uid 54321) and is in a directory where every user can create files");
        Path dangling = give(Files.createSymbolicLink(shared.resolve("dangling"), own.resolve("not-there")), MALLORY);
        assertThatThrownBy(() -> StateDirectoryCheck.requireUsable(dangling))
                .isInstanceOf(BadStateDirectoryException.class);
        assertThat(own.resolve("not-there")).doesNotExist();
        assertThat(victim).isEmptyDirectory();
    }

    /** The target of a link is checked, too. */
    @Test
    void links_of_the_user_or_of_root_are_followed() throws IOException {
        Path disk = create(own.resolve("disk"), "rwxr-x---");
        Path link = Files.createSymbolicLink(shared.resolve("link"), Path.of("../lib/disk"));
        StateDirectoryCheck.requireUsable(link);
        StateDirectoryCheck.requireUsable(link.resolve("weir"));
        assertThat(disk.resolve("weir")).isDirectory();

        Path foreign = give(create(shared.resolve("foreign"), "rwxr-xr-x"), MALLORY);
        Path harmless = Files.createSymbolicLink(own.resolve("harmless"), foreign);
        assertRefused(
                harmless,
                foreign + " belongs to another user (uid 54321)"
                        + " and is in a directory where every user can create files");
    }

    @Test
    void cyclic_links_are_rejected() throws IOException {
        Path one = own.resolve("one");
        Path other = Files.createSymbolicLink(own.resolve("other"), one);
        Files.createSymbolicLink(one, other);
        assertRefused(one, "too many symbolic links");
    }

    @Test
    void a_world_writable_directory_is_rejected_in_a_shared_place_only() throws IOException {
        Path path = create(shared.resolve("weir"), "rwxrwxrwx");
        assertRefused(path, "every user can write to it");
    }

    /**
     * A Kubernetes volume belongs to root and, with an fsGroup, is writable for a group. An emptyDir is writable for
     * all users.
     */
    @Test
    void volumes_of_any_owner_are_accepted() throws IOException {
        Path claim = create(own.resolve("claim"), "rwxrwxr-x");
        Files.createDirectory(claim.resolve("lost+found"));
        StateDirectoryCheck.requireUsable(claim);
        StateDirectoryCheck.requireUsable(create(own.resolve("emptyDir"), "rwxrwxrwx"));
        StateDirectoryCheck.requireUsable(own.resolve("emptyDir/weir"));
        StateDirectoryCheck.requireUsable(give(create(own.resolve("nfs"), "rwxrwxr-x"), MALLORY));
    }

    @Test
    void an_unprivileged_user_may_use_what_is_its_own_or_root_s() throws IOException {
        Path ofRoot = create(shared.resolve("of-root"), "rwxrwxrwx");
        Path ofWeir = give(create(shared.resolve("of-weir"), "rwxr-x---"), WEIR);
        assertThat(StateDirectoryCheck.fault(ofRoot, WEIR)).isEmpty();
        assertThat(StateDirectoryCheck.fault(ofWeir, WEIR)).isEmpty();
        assertThat(StateDirectoryCheck.fault(ofWeir, MALLORY)).isPresent();
        Files.setPosixFilePermissions(ofWeir, PosixFilePermissions.fromString("rwxrwxrwx"));
        assertThat(StateDirectoryCheck.fault(ofWeir, WEIR)).hasValue("every user can write to it");
    }

    @Test
    void a_file_in_place_of_the_directory_is_rejected() throws IOException {
        Path file = Files.createFile(own.resolve("file"));
        for (Path path : new Path[] {file, file.resolve("weir")}) {
            assertThatThrownBy(() -> StateDirectoryCheck.requireUsable(path))
                    .isInstanceOf(BadStateDirectoryException.class)
                    .hasMessage("state.directory " + path + ": " + file
                            + " is not a directory; set state.directory to another path");
        }
    }
}
