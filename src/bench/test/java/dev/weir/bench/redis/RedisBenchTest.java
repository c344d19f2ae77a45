package dev.weir.bench.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.weir.bench.BenchShell;
import dev.weir.cli.CapturedRun;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("full")
class RedisBenchTest {

    @Test
    void without_redis_nothing_is_measured_and_nothing_fails() {
        CapturedRun result = BenchShell.run("redis", "--redis-server", "no-such-redis");
        assertThat(result.exit()).isZero();
        assertThat(result.out()).isEmpty();
        assertThat(result.err())
                .isEqualToIgnoringNewLines("weir-bench redis: no no-such-redis on the PATH; nothing was measured");
    }

    @Test
    void redis_is_compared_with_weir() {
        assumeTrue(RedisServer.find("redis-server").isPresent(), "there is no redis-server on the PATH");
        CapturedRun result = BenchShell.run(
                "redis", "--clients", "50", "--rounds", "1", "--turn", "200ms", "--warm-up-requests", "1000");
        assertThat(result.exit()).as(result.err()).isZero();
        assertThat(result.out())
                .containsPattern("weir +(?=[0-9.,]*[1-9])[0-9.,]+ .* 1\\.00\n")
                .containsPattern("redis, pipelined +(?=[0-9.,]*[1-9])[0-9.,]+ .* [0-9.,]+\n")
                .containsPattern("redis, one at a time +(?=[0-9.,]*[1-9])[0-9.,]+ .* [0-9.,]+\n")
                .containsPattern("50 clients .*; Redis [0-9.]+, .*everysec\n");
    }
}
