package dev.weir.topology;

import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.weir.fault.BadInput;
import org.junit.jupiter.api.Test;

class RocksLibraryTest {

    @Test
    void a_missing_library_names_the_platform_and_the_fix() {
        assertThatThrownBy(() -> RocksLibrary.load(() -> {
                    throw new RuntimeException("librocksdbjni-linux64-musl.so was not found inside JAR.");
                }))
                .isInstanceOf(BadInput.class)
                .hasMessageContaining(System.getProperty("os.arch"))
                .hasMessageContaining("librocksdbjni-linux64-musl.so was not found inside JAR; if")
                .hasMessageContaining("rocksdbjni.jar");
    }
}
