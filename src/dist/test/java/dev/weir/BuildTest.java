package dev.weir;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.jar.JarFile;
import javax.xml.parsers.DocumentBuilderFactory;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.core.LoggerContext;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.rocksdb.RocksDB;
import org.w3c.dom.Document;
import org.w3c.dom.Element;
import org.w3c.dom.NodeList;

/** What goes into the jar. */
class BuildTest {

    private static final List<String> NATIVES = List.of(
            "librocksdbjni-linux64.so",
            "librocksdbjni-linux64-musl.so",
            "librocksdbjni-linux-aarch64.so",
            "librocksdbjni-linux-aarch64-musl.so",
            "librocksdbjni-osx-x86_64.jnilib",
            "librocksdbjni-osx-arm64.jnilib");

    @Test
    void log4j_has_one_version() {
        String core = LoggerContext.class.getPackage().getImplementationVersion();
        assertThat(core).isNotNull();
        assertThat(LogManager.class.getPackage().getImplementationVersion()).isEqualTo(core);
    }

    /** These are for benchmarks and tests. */
    @ParameterizedTest
    @ValueSource(
            strings = {
                "org.openjdk.jmh.Main",
                "io.github.bucket4j.Bucket",
                "io.github.resilience4j.ratelimiter.RateLimiter",
                "com.google.common.util.concurrent.RateLimiter",
                "dev.weir.bench.DecideBench"
            })
    void benchmarks_are_not_in_the_jar(String type) {
        assertThatThrownBy(() -> Class.forName(type)).isInstanceOf(ClassNotFoundException.class);
    }

    @Test
    void the_jar_has_rocksdb_for_linux_and_macos_only() throws Exception {
        List<String> included = rocksDbIncludes();
        assertThat(included.stream().filter(each -> each.startsWith("librocksdbjni")))
                .containsExactlyInAnyOrderElementsOf(NATIVES);
        assertThat(included).contains("org/rocksdb/**");
    }

    /** A native library that a new version of RocksDB names otherwise would be left out of the jar without an error. */
    @Test
    void rocksdb_has_the_native_libraries_that_the_jar_takes() throws Exception {
        Path jar = Path.of(RocksDB.class
                .getProtectionDomain()
                .getCodeSource()
                .getLocation()
                .toURI());
        try (JarFile rocksDb = new JarFile(jar.toFile())) {
            assertThat(NATIVES)
                    .allSatisfy(each -> assertThat(rocksDb.getEntry(each)).isNotNull());
        }
    }

    private static List<String> rocksDbIncludes() throws Exception {
        NodeList filters = pom().getElementsByTagName("filter");
        for (int i = 0; i < filters.getLength(); i++) {
            Element filter = (Element) filters.item(i);
            if (texts(filter, "artifact").contains("org.rocksdb:rocksdbjni")) {
                return texts(filter, "include");
            }
        }
        return List.of();
    }

    private static List<String> texts(Element element, String tag) {
        NodeList found = element.getElementsByTagName(tag);
        List<String> texts = new ArrayList<>();
        for (int i = 0; i < found.getLength(); i++) {
            texts.add(found.item(i).getTextContent().trim());
        }
        return texts;
    }

    private static Document pom() throws Exception {
        return DocumentBuilderFactory.newInstance()
                .newDocumentBuilder()
                .parse(Path.of("pom.xml").toFile());
    }
}
