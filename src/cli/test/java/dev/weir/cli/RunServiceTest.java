package dev.weir.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.weir.api.WeirService;
import dev.weir.config.WeirConfig;
import dev.weir.kafka.UnreachableException;
import java.io.IOException;
import java.net.BindException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** {@code weir run} with an invalid service section, which is reported before anything else starts. */
class RunServiceTest {

    @TempDir
    Path directory;

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
            host: 0.0.0.0                                | set service.advertise to the host:port
            host: '::'                                   | set service.advertise to the host:port
            host: 0.0.0.0, advertise: 'a:1'              | which is not a loopback address: set a token
            host: no-such-host.invalid                   | unknown host no-such-host.invalid
            token-file: /no/such/file                    | /no/such/file: no such file
            token-file: /dev/null                        | /dev/null: a token is missing
            """)
    void incompatible_settings_are_one_line_and_exit_2(String settings, String reported) throws IOException {
        CapturedRun result = run("service: {" + settings + "}\n", "--service-port", "0");
        assertThat(result.exit()).isEqualTo(2);
        assertThat(result.err())
                .startsWith("weir run: service.")
                .contains(reported)
                .hasLineCount(1);
        assertThat(result.out()).isEmpty();
    }

    @Test
    void a_used_port_is_one_line_and_exit_1() throws IOException {
        try (ServerSocket taken = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            int port = taken.getLocalPort();
            assertThat(run("service: {port: " + port + "}\n"))
                    .isEqualTo(new CapturedRun(
                            1,
                            "",
                            "weir run: service.port: cannot listen at 127.0.0.1:" + port
                                    + ": Address already in use (another instance may be running; set another port with"
                                    + " --service-port)\n"));
        }
    }

    @Test
    void with_dev_another_health_port_is_used_if_the_default_is_taken() throws IOException {
        int port;
        try (ServerSocket free = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            port = free.getLocalPort();
        }
        WeirConfig config = WeirConfig.DEFAULTS.toBuilder()
                .service(WeirConfig.DEFAULTS.service().withPort(port))
                .build();
        try (ServerSocket taken = new ServerSocket()) {
            bind(taken, 8679);
            assertThatThrownBy(() -> RunCommand.openService(config, false))
                    .isInstanceOf(UnreachableException.class)
                    .hasMessageStartingWith("service.health-port: cannot listen at 127.0.0.1:8679");
            try (WeirService service = RunCommand.openService(config, true)) {
                assertThat(service.healthUrl())
                        .matches("http://127\\.0\\.0\\.1:[0-9]+")
                        .doesNotEndWith(":8679");
            }
        }
    }

    private static void bind(ServerSocket socket, int port) throws IOException {
        try {
            socket.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), port));
        } catch (BindException e) {
            // another process uses the port already
        }
    }

    @Test
    void an_invalid_port_is_exit_2() throws IOException {
        assertThat(run("", "--service-port", "65536"))
                .isEqualTo(new CapturedRun(
                        2, "", "weir run: --service-port: service.port must be 0 to 65535, is 65536\n"));
    }

    private CapturedRun run(String config, String... options) throws IOException {
        Path file = Files.writeString(directory.resolve("weir.yaml"), config);
        String[] args = new String[options.length + 3];
        args[0] = "run";
        args[1] = "-c";
        args[2] = file.toString();
        System.arraycopy(options, 0, args, 3, options.length);
        return Shell.run(args);
    }
}
