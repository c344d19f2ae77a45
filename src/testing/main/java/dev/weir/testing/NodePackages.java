package dev.weir.testing;

import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;

/** The npm packages that tests use. {@code .ci/run} installs them; tests are skipped without them. */
public final class NodePackages {

    /** Contains {@code package.json} and the programs that tests run with Node.js. */
    public static final Path DIRECTORY = Path.of("src/testing/node").toAbsolutePath();

    private static final Path MODULES = DIRECTORY.resolve("node_modules");

    private NodePackages() {}

    /** Skips the test unless the packages are installed. */
    public static void assumeInstalled() {
        assumeTrue(
                Files.isDirectory(MODULES),
                "Node.js is not used: run npm ci --ignore-scripts --engine-strict in " + DIRECTORY);
    }

    /** Returns the environment in which a program anywhere finds the packages with {@code require}. */
    public static Map<String, String> environment() {
        return Map.of("NODE_PATH", MODULES.toString());
    }
}
