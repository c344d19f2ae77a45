package dev.weir.cli;

import static dev.weir.testing.Await.await;
import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.api.Caller;
import dev.weir.api.Reply;
import dev.weir.gateway.GatewayFile;
import dev.weir.testing.JavaProcess;
import java.io.BufferedReader;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** {@code weir gateway}: its options, and a process without brokers. */
@Tag("full")
class GatewayCommandTest {

    private static final Duration PATIENCE = Duration.ofMinutes(1);

    @TempDir
    Path directory;

    private String file(String text) throws IOException {
        return Files.writeString(directory.resolve("gateway.yaml"), text).toString();
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
            gateway: {http-prt: 1}            | :1: gateway.http-prt: unknown key; did you mean "http-port"?
            gateway: {routes: [{id: a b}]}    | :1: gateway.routes[0].id: must be 1 to 64 letters, digits or . _ -, is 'a b'
            gateway: {routes: [{id: a, client: all}]} | :1: gateway.routes[0].client: has no placeholder, so it is 'all' for all requests; write "{address}" for a part of the request, or "{'all'}" if one value for all is meant
            thread: 1                         | :1: thread: unknown key; did you mean "threads"?
            """)
    void an_invalid_file_is_named_with_the_line(String text, String fault) throws IOException {
        String file = file(text);
        assertThat(Shell.run("gateway", "-c", file)).isEqualTo(new CapturedRun(2, "", file + fault + "\n"));
    }

    @Test
    void invalid_settings_and_options_are_one_line_and_exit_2() throws IOException {
        assertThat(Shell.run("gateway", "--http-port", "70000"))
                .isEqualTo(new CapturedRun(
                        2, "", "weir gateway: --http-port: gateway.http-port must be 0 to 65535, is 70000\n"));
        assertThat(Shell.run("gateway", "--http-port", "x"))
                .isEqualTo(new CapturedRun(2, "", "weir gateway: --http-port must be a whole number, is 'x'\n"));
        assertThat(Shell.run("gateway", "-c", "no-such-file.yaml").err())
                .isEqualTo("weir gateway: no-such-file.yaml: no such file\n");
        assertThat(Shell.run("gateway", "-c", file("kafka: {security.protocol: TSL}"))
                        .err())
                .startsWith("weir gateway: the kafka section: Invalid value TSL")
                .hasLineCount(1);
        assertThat(Shell.run("gateway", "--http-port", "8790", "--grpc-port", "8790"))
                .isEqualTo(new CapturedRun(
                        2, "", "weir gateway: gateway.http-port and gateway.grpc-port must differ, both are 8790\n"));
        assertThat(Shell.run("run", "--dev", "--http-port", "8790").err())
                .startsWith("weir run: --http-port and --grpc-port are those of a gateway: add --gateway (");
        try (ServerSocket taken = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            assertThat(Shell.run("gateway", "--http-port", Integer.toString(taken.getLocalPort())))
                    .isEqualTo(new CapturedRun(
                            1,
                            "",
                            "weir gateway: gateway.http-port: cannot listen at 127.0.0.1:" + taken.getLocalPort()
                                    + ": Address already in use (another instance may be running; set another port"
                                    + " with --http-port)\n"));
        }
    }

    @Test
    void a_gateway_starts_without_brokers_and_stops_on_sigterm() throws Exception {
        Process gateway = JavaProcess.of(
                        List.of(),
                        Main.class,
                        "gateway",
                        "-b",
                        "127.0.0.1:1",
                        "--http-port",
                        "0",
                        "-c",
                        file("gateway: {drain: 1s}"))
                .redirectError(ProcessBuilder.Redirect.DISCARD)
                .start();
        try (BufferedReader out = gateway.inputReader()) {
            String ready = out.readLine();
            assertThat(ready).matches("weir gateway is ready: gRPC on port \\d+, HTTP on http://127.0.0.1:\\d+");
            Caller caller = Caller.unchecked(Integer.parseInt(ready.substring(ready.lastIndexOf(':') + 1)));
            assertThat(caller.get("/v1/authorize").header("X-Weir-Fallback")).isNotEmpty();
            gateway.destroy();
            await(
                    "the gateway is not ready",
                    PATIENCE,
                    () -> caller.get("/health/ready").status() == 503);
            assertThat(gateway.waitFor(PATIENCE.toSeconds(), TimeUnit.SECONDS)).isTrue();
            assertThat(gateway.exitValue()).isEqualTo(143);
        } finally {
            gateway.destroyForcibly();
        }
    }

    @Test
    void an_enforcer_and_a_gateway_run_in_one_process() throws Exception {
        Process run = JavaProcess.of(
                        List.of(),
                        Main.class,
                        "run",
                        "--dev",
                        "--dev-port",
                        "0",
                        "--service-port",
                        "0",
                        "--gateway",
                        "--http-port",
                        "0",
                        "-c",
                        file("gateway: {routes: [{id: all, match: {path: '/**'}, timeout: 10s}]}"))
                .redirectError(ProcessBuilder.Redirect.DISCARD)
                .start();
        try (BufferedReader out = run.inputReader()) {
            String ready = out.readLine();
            assertThat(ready).startsWith("weir is ready: ").contains(", gateway on http://127.0.0.1:");
            Caller caller = Caller.unchecked(Integer.parseInt(ready.substring(ready.lastIndexOf(':') + 1)));
            Reply reply = caller.get("/v1/authorize");
            assertThat(reply.status()).isEqualTo(200);
            assertThat(reply.header("X-Weir-Fallback")).isNull();
            run.destroy();
            assertThat(run.waitFor(PATIENCE.toSeconds(), TimeUnit.SECONDS)).isTrue();
            assertThat(run.exitValue()).isEqualTo(143);
        } finally {
            run.destroyForcibly();
        }
    }

    /** The reference shows each key with its default, except for those of the example route. */
    @Test
    void the_reference_shows_the_defaults() throws Exception {
        String page = Files.readString(Path.of("topology-docs", "reference", "gateway.md"));
        int start = page.indexOf("```yaml\n") + "```yaml\n".length();
        String block = page.substring(start, page.indexOf("```", start));
        GatewayFile.Contents shown = GatewayFile.read("gateway.md", block);
        GatewayFile.Contents defaults = GatewayFile.read("gateway.md", "gateway:");
        assertThat(shown.gateway().answers().routes()).hasSize(1);
        assertThat(GatewayFile.read("gateway.md", block.replaceFirst("(?s)\n  routes:.*", "\n"))
                        .gateway())
                .isEqualTo(defaults.gateway());
    }
}
