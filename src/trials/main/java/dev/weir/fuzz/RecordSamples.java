package dev.weir.fuzz;

import dev.weir.event.Admission;
import dev.weir.event.Decision;
import dev.weir.event.DecisionContext;
import dev.weir.event.IdempotentAnswer;
import dev.weir.event.LimitStatus;
import dev.weir.event.Outcome;
import dev.weir.event.PolicyVersion;
import dev.weir.event.Reason;
import dev.weir.event.Release;
import dev.weir.event.Request;
import dev.weir.wire.AdmissionAvro;
import dev.weir.wire.DecisionCodec;
import dev.weir.wire.OutputFormat;
import dev.weir.wire.PolicyAvro;
import dev.weir.wire.ReleaseCodec;
import dev.weir.wire.RequestCodec;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SplittableRandom;

/** Valid records of each topic, in the current and the earlier schemas. */
final class RecordSamples {

    private static final int MANY = 40;
    private static final String DEFINITION = "{\"id\":\"p\",\"limits\":[{\"unlimited\":true}]}";
    private static final Request.Source SOURCE = new Request.Source(1, 7);

    private RecordSamples() {}

    static List<byte[]> requests() {
        SplittableRandom random = new SplittableRandom(1);
        List<byte[]> records = new ArrayList<>();
        for (int i = 0; i < MANY; i++) {
            records.add(new RequestCodec().encode(request(random)));
        }
        requestLines()
                .forEach(line -> records.add(line.replaceAll(",\"(timestamp|partition|offset)\":\\d+", "")
                        .getBytes(StandardCharsets.UTF_8)));
        return records;
    }

    static Request request(SplittableRandom random) {
        String client = random.nextBoolean() ? "alice" : "żółw\uD83D\uDE00";
        Map<String, String> attributes = random.nextBoolean() ? Map.of() : Map.of("endpoint", "/a", "ip", "10.0.0.1");
        return RequestSamples.of(client, random.nextBoolean() ? "free" : null, attributes, random);
    }

    static List<byte[]> decisions() {
        Decision denied = new Decision(
                        new Decision.Identity("r1", "alice", SOURCE),
                        new Decision.Status(Outcome.DENIED, Reason.LIMIT_EXCEEDED, 429, false, true, false),
                        new Decision.Timing(5_200, 800L, null, 9_000L))
                .withLimit(new PolicyVersion("p", 4), new LimitStatus("gcra 2/1s", 2L, 1_000L, 0L, 900L))
                .withQueueing(new Decision.Queueing("sms", 3L, 20L));
        Decision free = new Decision(
                new Decision.Identity("r2", "bob", SOURCE),
                new Decision.Status(Outcome.ALLOWED, Reason.NO_POLICY, 200),
                Decision.Timing.passed(5_200));
        DecisionCodec avro = new DecisionCodec();
        DecisionCodec json = new DecisionCodec(Optional.empty(), "decisions", OutputFormat.JSON);
        return List.of(avro.encode(denied), avro.encode(free), json.encode(denied), json.encode(free));
    }

    static List<byte[]> admissions() {
        SplittableRandom random = new SplittableRandom(2);
        List<byte[]> records = new ArrayList<>();
        for (int i = 0; i < MANY; i++) {
            boolean repeated = random.nextInt(8) == 0;
            List<Admission.Header> headers =
                    List.of(new Admission.Header("trace", new byte[] {7}), new Admission.Header("none", null));
            records.add(new AdmissionAvro()
                    .encode(new Admission(
                            request(random),
                            new IdempotentAnswer.SentToQueue(
                                    "sms", new PolicyVersion("p", 2), LimitStatus.of("gcra 5/1s", 5L)),
                            Map.of(),
                            new Admission.Identity(
                                    repeated,
                                    random.nextInt(3) * 1_000L,
                                    random.nextInt(3),
                                    random.nextBoolean() ? null : (Long) 9_000L),
                            random.nextBoolean() ? List.of() : headers,
                            DecisionContext.UNKNOWN)));
        }
        return records;
    }

    static List<byte[]> releases() {
        ReleaseCodec avro = new ReleaseCodec();
        ReleaseCodec json = new ReleaseCodec(Optional.empty(), "releases", OutputFormat.JSON);
        Release whole = Release.builder("r", "c", "sms")
                .tier("free")
                .releaseAtNanos(1_000_001)
                .cost(3)
                .attributes(Map.of("a", "b"))
                .payload(new byte[] {1})
                .pace(new Release.Pace(200_000_000, 1_000))
                .build();
        return List.of(
                avro.encode(whole),
                avro.encode(Release.builder("r", "c", "sms")
                        .sequence(2)
                        .enqueuedAtMs(5)
                        .releaseAtNanos(-1)
                        .cost(0)
                        .build()),
                json.encode(whole));
    }

    static List<byte[]> policies() {
        PolicyAvro avro = new PolicyAvro();
        PolicyAvro.Earlier before = new PolicyAvro.Earlier(
                1, "{\"id\":\"p\",\"limits\":[{\"algorithm\":\"gcra\",\"limit\":5,\"per\":\"1m\"}]}", 5);
        String later = DEFINITION.replace("\"limits", "\"effective-from\":\"2026-12-01T00:00:00Z\",\"limits");
        return List.of(
                avro.encode(new PolicyAvro.Applied(PolicyAvro.Kind.POLICY, "p", 3, DEFINITION, 1_000)),
                avro.encode(new PolicyAvro.Applied(PolicyAvro.Kind.POLICY, "p", 4, later, 1_000)
                        .withBefore(List.of(before))),
                avro.encode(new PolicyAvro.Applied(PolicyAvro.Kind.POLICY, "p", 5, null, 1_000)));
    }

    static List<String> requestLines() {
        return List.of(
                "{\"requestId\":\"r1\",\"client\":\"c1\",\"kind\":\"SETTLE\",\"timestamp\":1000,\"tier\":\"free\",\"cost\":-5,"
                        + "\"sizeBytes\":9,\"attributes\":{\"endpoint\":\"/a\",\"ż\":\"\\ud83d\\ude00\"},\"deadline\":2000,"
                        + "\"payload\":\"AQID\",\"partition\":3,\"offset\":14}",
                "{\"requestId\":\"r1\",\"client\":\"c1\",\"kind\":\"CANCEL\",\"queue\":\"sms\",\"tier\":null,\"payload\":null}",
                "{\"requestId\":\"r1\",\"client\":\"c1\",\"kind\":\"CANCEL\"}",
                "{\"requestId\":\"r1\",\"client\":\"c1\",\"reserve\":\"60s\"}",
                "{\"requestId\":\"r1\",\"client\":\"c1\",\"notBefore\":2000}",
                "{\"requestId\":\"r2\",\"client\":\"c1\",\"kind\":\"SETTLE\",\"settles\":\"r1\",\"cost\":0,\"reserve\":null}",
                "{\"requestId\":\"r1\",\"client\":\"c1\",\"kind\":\"RENEW\"}",
                "{\"requestId\":\"r1\",\"client\":\"c1\",\"limitOverride\":{\"limit\":9,\"windowMs\":60000}}",
                "{\"requestId\":\"r1\",\"client\":\"c1\"}");
    }
}
