package dev.weir.fuzz;

import static dev.weir.testing.Await.await;
import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.api.Caller;
import dev.weir.api.Reply;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.SplittableRandom;

/**
 * A fuzz case with a hundred HTTP requests to a real instance. Each response must have a documented status, and each
 * error a body of one line. Valid requests in between must succeed, and so must bodies that arrive slowly meanwhile. A
 * case starts without policies and queues.
 */
final class HttpFuzz implements FuzzRunner.Case, AutoCloseable {

    private static final int REQUESTS = 100;
    private static final int SLOW_BODIES = 4;

    /** The documented statuses except 500, and those for requests that do not conform to HTTP. */
    private static final Set<Integer> STATUSES = Set.of(
            200, 201, 202, 204, 304, 400, 401, 403, 404, 405, 406, 409, 412, 413, 414, 415, 417, 421, 422, 428, 429,
            431, 503, 505);

    private static final Duration PATIENCE = Duration.ofMinutes(5);
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
    public void run(FuzzCase fuzzCase) throws Exception {
        served.deleteAll();
        List<SlowBody> slow = new ArrayList<>();
        try {
            for (int i = 0; i < SLOW_BODIES; i++) {
                slow.add(new SlowBody(caller, fuzzCase.random()));
            }
            for (int i = 0; i < REQUESTS; i++) {
                HttpCalls.Call call = calls.next(fuzzCase.random());
                try {
                    fuzzCase.came("status " + answer(call).status());
                    goOn(fuzzCase.random());
                } catch (IOException | RuntimeException | AssertionError e) {
                    throw new AssertionError("request " + i + ": " + call + ": " + e.getMessage(), e);
                }
                for (SlowBody body : slow) {
                    body.sendPart(i, REQUESTS);
                }
            }
            for (SlowBody body : slow) {
                fuzzCase.came("slow body " + body.finish());
            }
        } finally {
            for (SlowBody body : slow) {
                body.close();
            }
        }
        await("no request waits for its decision", PATIENCE, () -> caller.get("/metrics")
                .text()
                .contains("\nweir_decide_in_flight 0.0\n"));
    }

    private Reply answer(HttpCalls.Call call) throws IOException {
        String[] headers = call.headers().toArray(String[]::new);
        Reply reply = call.isHttp()
                ? caller.raw(call.method(), call.target(), call.after(), headers)
                : caller.rawAndNoMore(call.method(), call.target(), call.after(), headers);
        assertThat(reply.status()).as(reply.toString()).isIn(STATUSES);
        if (isEnforced(call, reply)) {
            assertThat(reply.json().get("httpStatus").asInt()).isEqualTo(reply.status());
        } else if (reply.status() >= 400 && !call.method().equals("HEAD")) {
            requireOneLine(reply);
        }
        Optional<String> type = call.header("Content-Type");
        if (call.isHttp()
                && call.method().equals("POST")
                && call.header("Content-Length").isPresent()
                && type.isPresent()) {
            DecideCalls.check(call.target(), type.get(), new String(call.after(), StandardCharsets.UTF_8), reply);
        }
        return reply;
    }

    /** Returns whether the status of the response is that of a decision. */
    private static boolean isEnforced(HttpCalls.Call call, Reply reply) {
        return call.target().contains("enforce=true") && DecideCalls.JSON.equals(reply.contentType());
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
            String path = random.nextBoolean() ? "/v1/peek" : DecideCalls.PATH;
            long deadline = System.nanoTime() + PATIENCE.toNanos();
            Reply good = caller.post(path, GOOD);
            while (good.status() == 503 && System.nanoTime() - deadline < 0) {
                good = caller.post(path, GOOD);
            }
            assertThat(good.status()).as(good.toString()).isEqualTo(200);
            assertThat(good.json().get("requestId").asText()).isEqualTo("good");
        }
    }

    /** A call of {@code /v1/decide} whose body is sent in parts. On a slow machine, it can last too long for the service. */
    private static final class SlowBody implements AutoCloseable {
        private final String type;
        private final byte[] body;
        private final Caller.OpenCall call;
        private boolean isClosed; // by the service

        SlowBody(Caller caller, SplittableRandom random) throws IOException {
            boolean isLines = random.nextBoolean();
            type = isLines ? DecideCalls.NDJSON : DecideCalls.JSON;
            body = (isLines ? DecideCalls.lines(random) : DecideCalls.array(random)).getBytes(StandardCharsets.UTF_8);
            call = caller.open("POST", DecideCalls.PATH, "Content-Type: " + type, "Content-Length: " + body.length);
        }

        void sendPart(int part, int parts) throws IOException {
            int from = (int) ((long) body.length * part / parts);
            int to = (int) ((long) body.length * (part + 1) / parts);
            try {
                call.send(Arrays.copyOfRange(body, from, to));
            } catch (IOException e) {
                isClosed = true;
            }
        }

        String finish() throws IOException {
            if (isClosed) {
                return "closed";
            }
            Reply reply = call.reply();
            assertThat(reply.status()).as(reply.toString()).isIn(200, 400, 503);
            DecideCalls.check(DecideCalls.PATH, type, new String(body, StandardCharsets.UTF_8), reply);
            return Integer.toString(reply.status());
        }

        @Override
        public void close() throws IOException {
            call.close();
        }
    }

    @Override
    public void close() {
        served.close();
    }
}
