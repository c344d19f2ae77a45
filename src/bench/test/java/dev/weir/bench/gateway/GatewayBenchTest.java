package dev.weir.bench.gateway;

import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.bench.BenchShell;
import dev.weir.bench.redis.RedisServer;
import dev.weir.cli.CapturedRun;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("full")
class GatewayBenchTest {

    private static final String NUMBERS = "( +-?[0-9.,]+){%d}\\n";

    @Test
    void the_gateway_is_compared_with_servers_that_allow_everything() {
        CapturedRun result = BenchShell.run(
                "gateway",
                "--callers=2",
                "--clients=10",
                "--topics-rate=50",
                "--rounds=1",
                "--turn=100ms",
                "--warm-up=100ms");
        assertThat(result.exit()).as(result.err()).isZero();
        boolean hasRedis = RedisServer.find("redis-server").isPresent();
        for (String protocol : new String[] {"gRPC", "HTTP"}) {
            assertThat(result.out())
                    .containsPattern(protocol + ", as fast as possible")
                    .containsPattern(protocol + ", 50 calls/s");
        }
        assertThat(result.out())
                .containsPattern("a server that allows everything" + NUMBERS.formatted(4))
                .containsPattern("Weir, leases" + NUMBERS.formatted(4))
                .containsPattern("Weir, leases" + NUMBERS.formatted(6))
                .containsPattern("Weir, over the topics" + NUMBERS.formatted(6));
        assertThat(result.out())
                .containsPattern("enforcer paused, timeout 500 ms")
                .containsPattern("gRPC" + NUMBERS.formatted(4))
                .containsPattern("HTTP" + NUMBERS.formatted(4));
        assertThat(result.out().contains("the same server with GCRA in Redis")).isEqualTo(hasRedis);
    }
}
