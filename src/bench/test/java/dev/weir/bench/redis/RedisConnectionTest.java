package dev.weir.bench.redis;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIOException;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.EOFException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

class RedisConnectionTest {

    @Test
    void a_command_is_an_array_of_strings_with_their_lengths_in_bytes() {
        assertThat(RedisConnection.command("GET", "", "käse"))
                .asString(UTF_8)
                .isEqualTo("*3\r\n$3\r\nGET\r\n$0\r\n\r\n$5\r\nkäse\r\n");
    }

    @Test
    void commands_are_pipelined_and_replies_read_in_order() throws Exception {
        ByteArrayOutputStream sent = new ByteArrayOutputStream();
        RedisConnection connection = new RedisConnection(
                in("+OK\r\n:-7\r\n$5\r\na\r\nbc\r\n$-1\r\n*3\r\n:1\r\n$0\r\n\r\n*-1\r\n"), sent, () -> {});
        connection.add(RedisConnection.command("A"));
        connection.add(RedisConnection.command("B"));
        assertThat(sent.size()).isZero();
        connection.send();
        connection.send();
        assertThat(sent).hasToString("*1\r\n$1\r\nA\r\n*1\r\n$1\r\nB\r\n");
        assertThat(connection.reply()).isEqualTo("OK");
        assertThat(connection.reply()).isEqualTo(-7L);
        assertThat(connection.reply()).isEqualTo("a\r\nbc");
        assertThat(connection.reply()).isNull();
        assertThat(connection.reply()).isEqualTo(Arrays.asList(1L, "", null));
    }

    @Test
    void errors_and_closed_connections_are_reported() {
        RedisConnection connection =
                new RedisConnection(in("-NOSCRIPT No matching script.\r\n:1"), new ByteArrayOutputStream(), () -> {});
        assertThatIOException().isThrownBy(connection::reply).withMessageContaining("NOSCRIPT No matching");
        assertThatIOException().isThrownBy(connection::reply).isInstanceOf(EOFException.class);
    }

    @Test
    void the_script_allows_a_burst_and_then_returns_the_retry_time() throws Exception {
        Optional<Path> program = RedisServer.find("redis-server");
        assumeTrue(program.isPresent(), "there is no redis-server on the PATH");
        try (RedisServer server = RedisServer.start(program.get());
                RedisConnection connection = server.connect()) {
            String script = GcraScript.load(connection);
            assertThat(ask(connection, script, "3")).isEqualTo(List.of(1L, 7L, 0L));
            assertThat(ask(connection, script, "7")).isEqualTo(List.of(1L, 0L, 0L));
            List<?> denied = (List<?>) ask(connection, script, "2");
            assertThat(denied.subList(0, 2)).isEqualTo(List.of(0L, 0L));
            assertThat((Long) denied.get(2)).isBetween(110 * 60_000L, 120 * 60_000L);
            assertThat((Long) connection.ask("PTTL", "client-1")).isBetween(19 * 3_600_000L, 20 * 3_600_000L);
        }
    }

    /** Runs the script with a limit of 10 per 10 hours. */
    private static Object ask(RedisConnection connection, String script, String cost) throws Exception {
        return connection.ask("EVALSHA", script, "1", "client-1", "10", "10", "36000000", cost);
    }

    private static ByteArrayInputStream in(String replies) {
        return new ByteArrayInputStream(replies.getBytes(UTF_8));
    }
}
