package dev.weir.bench.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class PipelinedGcraTest {

    @Test
    void concurrent_requests_are_all_decided_and_charged_to_their_keys() throws Exception {
        Optional<Path> program = RedisServer.find("redis-server");
        assumeTrue(program.isPresent(), "there is no redis-server on the PATH");
        try (RedisServer server = RedisServer.start(program.get())) {
            PipelinedGcra limiter = PipelinedGcra.connect(server.port());
            List<CompletableFuture<Boolean>> answers = IntStream.range(0, 500)
                    .parallel()
                    .mapToObj(i -> limiter.allows("key-" + i % 10))
                    .toList();
            assertThat(answers).allSatisfy(answer -> assertThat(answer.get()).isTrue());
            try (RedisConnection connection = server.connect()) {
                assertThat(connection.ask("DBSIZE")).isEqualTo(10L);
            }
        }
    }
}
