package dev.weir.runtime;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.weir.kafka.UnreachableException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.UUID;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class InstanceIdTest {

    @TempDir
    Path directory;

    @Test
    void the_id_lasts_as_long_as_the_state_directory() {
        Path state = directory.resolve("deep/state");
        String id = InstanceId.of(state);
        assertThat(UUID.fromString(id)).hasToString(id);
        assertThat(InstanceId.of(state)).isEqualTo(id);
        assertThat(InstanceId.of(directory.resolve("other"))).isNotEqualTo(id);
    }

    @Test
    void an_invalid_id_is_replaced() throws IOException {
        for (String broken : new String[] {"", "1234", "not an id, but of as many characters!", "\0\0"}) {
            Files.writeString(directory.resolve("instance-id"), broken);
            String id = InstanceId.of(directory);
            assertThat(id).hasSize(36).isNotEqualTo(broken);
            assertThat(InstanceId.of(directory)).isEqualTo(id);
        }
    }

    @Test
    void a_directory_that_cannot_be_used_is_named() throws IOException {
        Path file = Files.writeString(directory.resolve("file"), "");
        assertThatThrownBy(() -> InstanceId.of(file))
                .isInstanceOf(UnreachableException.class)
                .hasMessageStartingWith("cannot use the state directory " + file + ": ");
    }
}
