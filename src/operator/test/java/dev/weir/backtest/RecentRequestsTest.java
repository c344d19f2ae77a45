package dev.weir.backtest;

import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.config.WeirConfig;
import dev.weir.event.Request;
import dev.weir.kafka.KafkaSettings;
import dev.weir.runtime.RequestSender;
import dev.weir.testing.TestBroker;
import dev.weir.topics.TopicSetup;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.apache.kafka.clients.admin.Admin;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("full")
class RecentRequestsTest {

    private static final int REQUESTS = 3_000;
    private static final long FROM_MS = 1_000_000;
    private static final long TO_MS = FROM_MS + REQUESTS;

    private static WeirConfig config;

    /** Sends requests whose times are not quite in order, most of them to one partition. */
    @BeforeAll
    static void start() throws Exception {
        config = WeirConfig.builder()
                .named("recent")
                .kafka(TestBroker.clientSettings())
                .build();
        try (Admin admin = Admin.create(KafkaSettings.admin(config))) {
            TopicSetup.createMissing(admin, config, TopicSetup.RequestTime.CREATE);
        }
        Random random = new Random(1);
        try (RequestSender sender = new RequestSender(config)) {
            for (int i = 0; i < REQUESTS; i++) {
                String client = random.nextInt(4) == 0 ? "client-" + random.nextInt(20) : "most";
                sender.send(request(i, client, FROM_MS + Math.max(0, i - random.nextInt(20))));
            }
            sender.flush();
        }
    }

    private static Request request(int number, String client, long timestampMs) {
        return Request.builder("r" + number, client)
                .attributes(Map.of("text", "x".repeat(number % 50)))
                .timestampMs(timestampMs)
                .source(0, 0)
                .build();
    }

    private static RecentRequests read(long heapBytes, int firstPart) {
        BacktestBudget budget = new BacktestBudget(Duration.ofMinutes(1), () -> true, heapBytes);
        return RecentRequests.read(config, FROM_MS, TO_MS, REQUESTS, budget, firstPart);
    }

    @Test
    void requests_read_in_parts_equal_those_read_at_once() {
        RecentRequests atOnce = read(Long.MAX_VALUE, REQUESTS);
        assertThat(atOnce.requests()).hasSize(REQUESTS);
        for (int firstPart : new int[] {1, 7, 100, 2_000}) {
            assertThat(read(Long.MAX_VALUE, firstPart))
                    .as("parts from %d", firstPart)
                    .isEqualTo(atOnce);
        }
    }

    @Test
    void the_newest_requests_that_fit_on_the_heap_are_kept() {
        List<Request> all = read(Long.MAX_VALUE, REQUESTS).requests();
        for (int firstPart : new int[] {20, 300, REQUESTS}) {
            RecentRequests few = read(200_000, firstPart);
            assertThat(few.isComplete()).isFalse();
            assertThat(few.requests()).hasSizeBetween(200, 1_000).isSubsetOf(all);
            assertThat(all.stream().filter(request -> request.timestampMs() > few.fromMs() + 20))
                    .isSubsetOf(few.requests());
        }
    }
}
