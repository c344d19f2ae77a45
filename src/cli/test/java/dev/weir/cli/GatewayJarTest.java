package dev.weir.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.api.Caller;
import java.io.BufferedReader;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.jar.JarFile;
import java.util.zip.ZipEntry;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** {@code target/weir-gateway.jar}, the gateway without the rest of Weir. */
@Tag("full")
class GatewayJarTest {

    private static final Path JAR = Path.of("target/weir-gateway.jar");
    private static final long PATIENCE_SECONDS = 120;

    @Test
    void has_no_streams_no_rocksdb_and_no_broker() throws Exception {
        try (JarFile jar = new JarFile(JAR.toFile())) {
            assertThat(jar.stream().map(ZipEntry::getName))
                    .contains("dev/weir/gateway/GatewayMain.class", "log4j2.properties")
                    .noneMatch(entry -> List.of(
                                    "org/apache/kafka/streams/",
                                    "org/rocksdb/",
                                    "librocksdb",
                                    "kafka/server/",
                                    "scala/",
                                    "org/apache/kafka/server/share/",
                                    "dev/weir/processor/",
                                    "dev/weir/api/")
                            .stream()
                            .anyMatch(entry::startsWith));
        }
    }

    @Test
    void runs_a_gateway() throws Exception {
        Process gateway = new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "-jar",
                        JAR.toString(),
                        "gateway",
                        "-b",
                        "127.0.0.1:1",
                        "--http-port",
                        "0",
                        "--grpc-port",
                        "0")
                .redirectError(ProcessBuilder.Redirect.DISCARD)
                .start();
        try (BufferedReader out = gateway.inputReader()) {
            String ready = out.readLine();
            assertThat(ready).matches("weir gateway is ready: gRPC on port \\d+, HTTP on http://127.0.0.1:\\d+");
            Caller caller = Caller.unchecked(Integer.parseInt(ready.substring(ready.lastIndexOf(':') + 1)));
            assertThat(caller.get("/v1/authorize").header("X-Weir-Fallback")).isNotEmpty();
            assertThat(caller.get("/metrics").text()).contains("jvm_memory_used_bytes");
            gateway.destroy();
            assertThat(gateway.waitFor(PATIENCE_SECONDS, TimeUnit.SECONDS)).isTrue();
        } finally {
            gateway.destroyForcibly();
        }
    }
}
