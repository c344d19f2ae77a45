package dev.weir.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.jar.JarFile;
import java.util.zip.ZipEntry;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What {@code target/weir.jar} and {@code target/weir-gateway.jar} contain of other projects, and how large they are. */
@Tag("packaged")
class JarContentTest {

    private static final long MEGABYTE = 1_000_000;

    @ParameterizedTest
    @CsvSource({"weir.jar, 70", "weir-gateway.jar, 40"})
    void jars_have_at_most_the_documented_size(String jar, long megabytes) throws Exception {
        assertThat(Files.size(Path.of("target", jar))).isLessThanOrEqualTo(megabytes * MEGABYTE);
    }

    @Test
    void weir_has_rocksdb_for_the_documented_platforms() throws Exception {
        assertThat(natives("weir.jar").stream().filter(each -> each.startsWith("librocksdb")))
                .containsExactlyInAnyOrder(
                        "librocksdbjni-linux64.so", "librocksdbjni-linux-aarch64.so", "librocksdbjni-osx-arm64.jnilib");
    }

    /** Also for the platforms on which RocksDB is in a jar of its own. */
    @ParameterizedTest
    @CsvSource({
        "weir.jar, linux/amd64/libzstd-jni",
        "weir.jar, linux/aarch64/libzstd-jni",
        "weir.jar, darwin/x86_64/libzstd-jni",
        "weir.jar, darwin/aarch64/libzstd-jni",
        "weir-gateway.jar, linux/amd64/libzstd-jni",
        "weir-gateway.jar, linux/aarch64/libzstd-jni",
        "weir-gateway.jar, darwin/x86_64/libzstd-jni",
        "weir-gateway.jar, darwin/aarch64/libzstd-jni"
    })
    void jars_decompress_records_on_linux_and_macos(String jar, String library) throws Exception {
        assertThat(natives(jar)).anyMatch(each -> each.startsWith(library));
    }

    /** The JVM verifies a class when it initializes it, for which it loads types that are not used otherwise. */
    @ParameterizedTest
    @CsvSource({
        "weir.jar, io.apicurio.registry.client.common.RegistryClientRequestAdapterFactory",
        "weir.jar, io.apicurio.registry.resolver.client.RegistryClientFacadeFactory",
        "weir.jar, org.apache.kafka.storage.internals.log.UnifiedLog",
        "weir.jar, io.grpc.netty.shaded.io.grpc.netty.NettyServerBuilder",
        "weir-gateway.jar, io.apicurio.registry.client.common.RegistryClientRequestAdapterFactory",
        "weir-gateway.jar, io.apicurio.registry.resolver.client.RegistryClientFacadeFactory",
        "weir-gateway.jar, io.grpc.netty.shaded.io.grpc.netty.NettyServerBuilder"
    })
    void jars_have_the_types_with_which_classes_are_verified(String jar, String type) throws Exception {
        URL[] path = {Path.of("target", jar).toUri().toURL()};
        try (URLClassLoader loader = new URLClassLoader(path, ClassLoader.getPlatformClassLoader())) {
            assertThat(Class.forName(type, true, loader).getName()).isEqualTo(type);
        }
    }

    private static List<String> natives(String name) throws Exception {
        try (JarFile jar = new JarFile(Path.of("target", name).toFile())) {
            return jar.stream()
                    .map(ZipEntry::getName)
                    .filter(each -> each.toLowerCase(Locale.ROOT).matches(".*\\.(so|dylib|jnilib|dll|a)"))
                    .toList();
        }
    }
}
