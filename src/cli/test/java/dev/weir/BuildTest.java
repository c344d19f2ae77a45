package dev.weir;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.File;
import java.nio.file.FileSystems;
import java.nio.file.Path;
import java.nio.file.PathMatcher;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.function.Predicate;
import java.util.jar.JarEntry;
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

/** Checks the content of the runnable jar. */
class BuildTest {

    private static final List<String> NATIVES =
            List.of("librocksdbjni-linux64.so", "librocksdbjni-linux-aarch64.so", "librocksdbjni-osx-arm64.jnilib");

    @Test
    void log4j_has_one_version() {
        String core = LoggerContext.class.getPackage().getImplementationVersion();
        assertThat(core).isNotNull();
        assertThat(LogManager.class.getPackage().getImplementationVersion()).isEqualTo(core);
    }

    /** These classes belong to the benchmarks. */
    @ParameterizedTest
    @ValueSource(
            strings = {
                "org.openjdk.jmh.Main",
                "io.github.bucket4j.Bucket",
                "io.github.resilience4j.ratelimiter.RateLimiter",
                "dev.weir.bench.DecideBench"
            })
    void benchmarks_are_not_in_the_jar(String type) {
        assertThatThrownBy(() -> Class.forName(type)).isInstanceOf(ClassNotFoundException.class);
    }

    /**
     * Maven uses the nearest scope: a dependency with the scope test would be missing from the jar, although modules in
     * the jar use it.
     */
    @ParameterizedTest
    @ValueSource(strings = {"cli", "bench", "gateway"})
    void the_jar_contains_all_dependencies_of_its_modules(String jar) throws Exception {
        List<String> modules = new ArrayList<>(List.of("core", "client", "registry", "server"));
        if (!jar.equals("gateway")) {
            modules.addAll(List.of("devbroker", "enforcer", "operator", "api", "gateway"));
        }
        Set<String> used = new HashSet<>();
        for (String module : modules) {
            used.addAll(artifacts(module, scope -> !scope.equals("test")));
        }
        assertThat(used).contains("kafka-clients", "jackson-databind");
        assertThat(artifacts(jar, "test"::equals)).isNotEmpty().doesNotContainAnyElementsOf(used);
    }

    private static Set<String> artifacts(String module, Predicate<String> scope) throws Exception {
        Set<String> artifacts = new HashSet<>();
        NodeList dependencies = pom("src/" + module + "/pom.xml").getElementsByTagName("dependency");
        for (int i = 0; i < dependencies.getLength(); i++) {
            Element dependency = (Element) dependencies.item(i);
            List<String> scopes = texts(dependency, "scope");
            if (scope.test(scopes.isEmpty() ? "compile" : scopes.get(0))) {
                artifacts.addAll(texts(dependency, "artifactId").subList(0, 1));
            }
        }
        return artifacts;
    }

    @Test
    void the_jar_has_rocksdb_for_linux_with_glibc_and_macos_on_arm_only() throws Exception {
        List<PathMatcher> excluded = texts(pom("pom.xml").getDocumentElement(), "exclude").stream()
                .map(each -> each.startsWith("**/") ? "{**/,}" + each.substring("**/".length()) : each)
                .map(each -> FileSystems.getDefault().getPathMatcher("glob:" + each))
                .toList();
        try (JarFile rocksDb = new JarFile(rocksDbJar())) {
            assertThat(rocksDb.stream()
                            .map(JarEntry::getName)
                            .filter(each -> each.startsWith("librocksdbjni"))
                            .filter(each -> excluded.stream().noneMatch(one -> one.matches(Path.of(each)))))
                    .containsExactlyInAnyOrderElementsOf(NATIVES);
        }
    }

    /** If a new version of RocksDB renamed a native library, the jar would lack it without a build error. */
    @Test
    void rocksdb_has_the_native_libraries_that_the_jar_takes() throws Exception {
        try (JarFile rocksDb = new JarFile(rocksDbJar())) {
            assertThat(NATIVES)
                    .allSatisfy(each -> assertThat(rocksDb.getEntry(each)).isNotNull());
        }
    }

    /** Users import the BOM for the versions of all modules that are deployed. */
    @Test
    void the_bom_lists_each_published_library() throws Exception {
        List<String> published = new ArrayList<>();
        for (String module : texts(pom("pom.xml").getDocumentElement(), "module")) {
            Element root = pom(module + "/pom.xml").getDocumentElement();
            boolean isDeployed = !texts(root, "maven.deploy.skip").contains("true");
            if (isDeployed && !texts(root, "packaging").contains("pom")) {
                published.add(child(root, "artifactId"));
            }
        }
        assertThat(published).contains("weir-core", "weir-client");
        Element managed = (Element) pom("src/bom/pom.xml")
                .getElementsByTagName("dependencyManagement")
                .item(0);
        assertThat(texts(managed, "artifactId")).containsExactlyElementsOf(published);
    }

    /** Otherwise two builds of the same sources would differ: each entry of a jar has a time. */
    @Test
    void entries_of_archives_have_a_fixed_time_and_plugins_a_fixed_version() throws Exception {
        Document parent = pom("pom.xml");
        assertThat(Instant.parse(texts(parent.getDocumentElement(), "project.build.outputTimestamp")
                        .get(0)))
                .isBefore(Instant.now());
        Set<String> pinned = new HashSet<>();
        Set<String> used = new HashSet<>();
        List<String> poms = new ArrayList<>(List.of("pom.xml"));
        texts(parent.getDocumentElement(), "module").forEach(module -> poms.add(module + "/pom.xml"));
        for (String file : poms) {
            NodeList plugins = pom(file).getElementsByTagName("plugin");
            for (int i = 0; i < plugins.getLength(); i++) {
                Element plugin = (Element) plugins.item(i);
                String name = child(plugin, "artifactId");
                used.add(name);
                if (!child(plugin, "version").isEmpty()) {
                    pinned.add(name);
                }
            }
        }
        assertThat(used).contains("maven-assembly-plugin", "maven-jar-plugin").isSubsetOf(pinned);
    }

    /** Returns the text of a child element, empty if there is none. */
    private static String child(Element element, String tag) {
        NodeList children = element.getChildNodes();
        for (int i = 0; i < children.getLength(); i++) {
            if (children.item(i).getNodeName().equals(tag)) {
                return children.item(i).getTextContent().trim();
            }
        }
        return "";
    }

    private static File rocksDbJar() throws Exception {
        return Path.of(RocksDB.class
                        .getProtectionDomain()
                        .getCodeSource()
                        .getLocation()
                        .toURI())
                .toFile();
    }

    private static List<String> texts(Element element, String tag) {
        NodeList found = element.getElementsByTagName(tag);
        List<String> texts = new ArrayList<>();
        for (int i = 0; i < found.getLength(); i++) {
            texts.add(found.item(i).getTextContent().trim());
        }
        return texts;
    }

    private static Document pom(String path) throws Exception {
        return DocumentBuilderFactory.newInstance()
                .newDocumentBuilder()
                .parse(Path.of(path).toFile());
    }
}
