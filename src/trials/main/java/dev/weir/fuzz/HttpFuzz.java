package dev.weir.fuzz;

import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.service.Caller;
import dev.weir.service.Reply;
import java.io.IOException;
import java.time.Duration;
import java.util.Set;
import java.util.SplittableRandom;

/**
 * A fuzz case with a hundred HTTP requests to a real instance. Each response must have a documented status, and each
 * error a body of one line. Valid requests in between must succeed. A case starts without policies and queues.
 */
final class HttpFuzz implements FuzzRunner.Case, AutoCloseable {

    private static final int REQUESTS = 100;

    /** The documented statuses except 500, and those for requests that do not conform to HTTP. */
    private static final Set<Integer> STATUSES = Set.of(
            200, 201, 204, 304, 400, 401, 403, 404, 405, 406, 409, 412, 413, 414, 415, 417, 421, 422, 428, 431, 503,
            505);

    private static final Duration PATIENCE = Duration.ofSeconds(60);
    private static final int LONGEST_DETAIL = 600;
    private static final int LONGEST_PROBLEM = 4 << 20;
    private static final String GOOD =
            "{\"client\":\"alice\",\"requestId\":\"good\",\"attributes\":{\"endpoint\":\"/b\"}}";

    private final RunningService served = new RunningService();
    private final Caller caller = served.caller();
    private final HttpCalls calls = new HttpCalls();

    HttpFuzz() throws IOException {}

    /** Returns 0: responses are allocated by other threads, so nothing is measured. */
    @Override
    public int warmUp() {
        return 0;
    }

    @Override
    public void run(FuzzCase trial) throws Exception {
        served.deleteAll();
        for (int i = 0; i < REQUESTS; i++) {
            HttpCalls.Call call = calls.next(trial.random());
            try {
                trial.came("status " + answer(call).status());
                goOn(trial.random());
            } catch (IOException | RuntimeException | AssertionError e) {
                throw new AssertionError("request " + i + ": " + call + ": " + e.getMessage(), e);
            }
        }
    }

    private Reply answer(HttpCalls.Call call) throws IOException {
        String[] headers = call.headers().toArray(String[]::new);
        Reply reply = call.isHttp()
                ? caller.raw(call.method(), call.target(), call.after(), headers)
                : caller.rawAndNoMore(call.method(), call.target(), call.after(), headers);
        assertThat(reply.status()).as(reply.toString()).isIn(STATUSES);
        if (reply.status() >= 400 && !call.method().equals("HEAD")) {
            requireOneLine(reply);
        }
        return reply;
    }

    private static void requireOneLine(Reply reply) {
        assertThat(reply.contentType()).as(reply.toString()).isEqualTo("application/problem+json");
        assertThat(reply.text()).hasSizeLessThan(LONGEST_PROBLEM).doesNotContain("\n", "\r");
        assertThat(reply.json().get("status").asInt()).isEqualTo(reply.status());
        assertThat(reply.detail()).isNotBlank().hasSizeLessThan(LONGEST_DETAIL);
        assertThat(reply.detail().chars().noneMatch(Character::isISOControl))
                .as(reply.detail())
                .isTrue();
    }

    private void goOn(SplittableRandom random) throws IOException {
        if (random.nextInt(10) == 0) {
            long deadline = System.nanoTime() + PATIENCE.toNanos();
            Reply good = caller.post("/v1/peek", GOOD);
            while (good.status() == 503 && System.nanoTime() - deadline < 0) {
                good = caller.post("/v1/peek", GOOD);
            }
            assertThat(good.status()).as(good.toString()).isEqualTo(200);
            assertThat(good.json().get("requestId").asText()).isEqualTo("good");
        }
    }

    @Override
    public void close() {
        served.close();
    }
}
