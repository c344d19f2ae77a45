package dev.weir.page;

import dev.weir.api.LivePage;
import io.javalin.Javalin;
import io.javalin.compression.CompressionStrategy;
import io.javalin.http.Context;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/** A service that sends the page figures which a real run does not produce on demand. */
final class FixedFigures implements AutoCloseable {

    private static final int TICKS = 11;
    private static final long AT = 1_732_240_000_000L;

    private static final String TICK = """
            {"at":%d,"instances":1,"decisions":{"ALLOWED":9},"deadLetters":0,"latencyMs":{"p50":5,"p99":null},"lag":null,\
            "queues":[{"id":"sms","waiting":7,"oldestWaitMs":1000,"in":1,"out":1,"tiers":[]}]}""";

    private static final String NOW = """
            {"at":%d,"clients":[],"recentClients":[],"policies":[],"queuesInAll":25,"waitingInAll":4711,"unreachable":[],\
            "queues":[{"id":"sms","keys":2,"waitsMs":{"p50":10,"p99":null},\
            "rules":{"deleted":false,"rate":{"limit":1,"perMs":1000,"burst":1},"capacity":10,"maxWaitMs":null},\
            "backlog":{"drainMs":0,"longest":[],\
            "tiers":[{"tier":"gold","priority":1,"weight":2,"waiting":7,"slots":4}]},\
            "inFlight":{"most":3,"mostInAll":10,"requests":3,"slots":4,"retries":2,"oldestMs":75000},\
            "orders":{"paused":null,"draining":null,"purging":false,"keys":0}}],\
            "instances":[{"address":"a:1","self":true,"health":"RUNNING","process":{"version":"1.2.3","startedAt":1732228800000},\
            "decisionsPerSecond":9,"partitions":[]},\
            {"address":"b:1","self":false,"health":"RUNNING","process":null,"decisionsPerSecond":9,"partitions":[]}]}""";

    private final CountDownLatch closed = new CountDownLatch(1);
    private final Javalin javalin;

    FixedFigures() {
        javalin = Javalin.create(settings -> {
                    settings.startup.showJavalinBanner = false;
                    settings.http.compressionStrategy = CompressionStrategy.NONE; // compression would delay events
                    settings.routes.get("/live", LivePage::page);
                    settings.routes.get("/live/{file}", LivePage::file);
                    settings.routes.get("/v1/live", this::stream);
                    settings.routes.get("/v1/live/history", FixedFigures::answer);
                    settings.routes.get("/v1/live/limited", FixedFigures::answerLimited);
                })
                .start("127.0.0.1", 0);
    }

    String url() {
        return "http://127.0.0.1:" + javalin.port() + "/live";
    }

    private static void answer(Context request) {
        String minute = TICK.formatted(AT - AT % 60_000 - Integer.parseInt(request.queryParam("hours")) * 60_000L)
                .replace("\"ALLOWED\":9", "\"ALLOWED\":120");
        request.contentType("application/json").result("{\"minutes\":[" + minute + "],\"missing\":[\"b:1\"]}");
    }

    private static void answerLimited(Context request) {
        request.contentType("application/json")
                .result("""
                        {"from":%d,"to":%d,"exact":false,"requests":9,"policies":[],"missing":["b:1"],"clients":[
                        {"client":"%s minutes","policy":"(none)","reason":"TOO_LARGE","requests":9}]}
                        """.formatted(AT - AT % 60_000, AT, request.queryParam("minutes")));
    }

    private void stream(Context request) throws IOException, InterruptedException {
        request.contentType("text/event-stream");
        OutputStream out = request.res().getOutputStream();
        write(out, "history", "[]");
        write(out, "now", NOW.formatted(AT));
        for (int i = 0; i < TICKS; i++) {
            write(out, "tick", TICK.formatted(AT + i * 1000L));
        }
        do {
            write(out, "now", NOW.formatted(AT + (TICKS - 1) * 1000L + 17_000));
        } while (!closed.await(1, TimeUnit.SECONDS));
    }

    private static void write(OutputStream out, String event, String data) throws IOException {
        out.write(("event: " + event + "\ndata: " + data + "\n\n").getBytes(StandardCharsets.UTF_8));
        out.flush();
    }

    @Override
    public void close() {
        closed.countDown();
        javalin.stop();
    }
}
