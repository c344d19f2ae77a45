package dev.weir.fuzz;

import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.definition.PolicyFile;
import dev.weir.event.Decision;
import dev.weir.event.Release;
import dev.weir.event.Request;
import dev.weir.fault.UnreadableException;
import dev.weir.policy.RequestRules;
import dev.weir.processor.policy.UpdatePolicies;
import dev.weir.testing.CapturedLog;
import dev.weir.wire.DecisionCodec;
import dev.weir.wire.PolicyAvro;
import dev.weir.wire.ReleaseCodec;
import dev.weir.wire.RequestCodec;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.stream.Stream;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.Headers;
import org.apache.kafka.common.header.internals.RecordHeaders;

/**
 * A fuzz case with valid and invalid records of three topics, sent through both real topologies while time passes and
 * policies change. Each record is answered once or becomes a dead letter. Valid records get the same answers as from a
 * second pair of topologies that receives no invalid records.
 */
final class TopologyFuzz implements FuzzRunner.Case {

    private static final String RULES = """
            policies:
              - {id: free, match: {tier: free}, limits: [{algorithm: gcra, limit: 5, per: 1s}], idempotency: 10s}
              - {id: slots, layer: s, match: {endpoint: "/a*"}, limits: [{algorithm: concurrency, limit: 3, ttl: 10s}]}
              - {id: log, layer: l, limits: [{algorithm: sliding-window-log, limit: 100, per: 1m, count-denied: true}]}
              - {id: slow, layer: q, priority: 1, match: {client: alice}, on-exceed: throttle, max-delay: 1d,
                 limits: [{algorithm: token-bucket, limit: 7, per: 11s}]}
              - {id: waits, layer: q, match: {endpoint: "/*"}, queue: sms, idempotency: 1m}
            queues:
              - {id: sms, limit: 10, per: 1s, capacity: 5, max-wait: 2s, tiers: {free: {priority: 1}}}
            """;

    /** The definitions between which the policy {@code p} changes. */
    private static final List<String> CHANGES = List.of(
            "{\"id\":\"p\",\"limits\":[{\"unlimited\":true}]}",
            "{\"id\":\"p\",\"limits\":[{\"algorithm\":\"fixed-window\",\"limit\":9,\"per\":\"1s\"}]}",
            "{\"id\":\"p\",\"limits\":[{\"algorithm\":\"sliding-window-counter\",\"limit\":4,\"per\":\"1s\"}],\"layer\":\"l\"}",
            "{\"id\":\"p\",\"queue\":\"sms\",\"match\":{\"client\":\"c*\"},\"priority\":1}",
            "{\"id\":\"p\",\"on-exceed\":\"observe\",\"limits\":[{\"algorithm\":\"leaky-bucket\",\"limit\":1,\"per\":\"1m\"}]}");

    private static final Request.Source NOWHERE = new Request.Source(0, 0);
    private static final long[] TIMES = {0, 1, 60_000, RequestRules.MAX_TIMESTAMP_MS + 1, Long.MAX_VALUE};
    private static final int CLIENTS = 12;
    private static final int LONGEST_LINE = 800;
    private static final RequestCodec REQUESTS = new RequestCodec();
    private static final DecisionCodec DECISIONS = new DecisionCodec();
    private static final ReleaseCodec RELEASES = new ReleaseCodec();
    private static final PolicyAvro POLICIES = new PolicyAvro();

    private final int records;
    private final List<byte[]> requests = RecordSamples.requests();
    private final List<byte[]> admissions = RecordSamples.admissions();
    private final List<byte[]> policies = RecordSamples.policies();

    /** @param records the number of records in one case */
    TopologyFuzz(int records) {
        this.records = records;
    }

    /** Returns 0: the next case cannot reuse the setup. */
    @Override
    public int warmUp() {
        return 0;
    }

    @Override
    public void run(FuzzCase fuzzCase) throws Exception {
        Path directory = Files.createTempDirectory("weir-fuzz");
        try (CapturedLog log = new CapturedLog(UpdatePolicies.class);
                TopologyDrivers weir = new TopologyDrivers(directory.resolve("all"));
                TopologyDrivers good = new TopologyDrivers(directory.resolve("good"))) {
            apply(weir);
            apply(good);
            for (int i = 0; i < records; i++) {
                fuzzCase.came(step(weir, good, fuzzCase.random()));
                requireLines(log.take());
            }
        } finally {
            delete(directory);
        }
    }

    private static void apply(TopologyDrivers weir) throws Exception {
        PolicyFile.Contents contents = PolicyFile.read("rules", RULES);
        List<PolicyFile.Definition> definitions = new ArrayList<>(contents.queues());
        definitions.addAll(contents.policies());
        for (PolicyFile.Definition definition : definitions) {
            PolicyAvro.Applied applied =
                    new PolicyAvro.Applied(definition.kind(), definition.id(), 1, definition.json(), 0);
            weir.policies(bytes(applied.key()), POLICIES.encode(applied));
        }
        assertThat(weir.applied()).hasSize(definitions.size());
    }

    private static void requireLines(List<CapturedLog.Line> log) {
        for (CapturedLog.Line line : log) {
            assertThat(line.text()).hasSizeLessThan(LONGEST_LINE);
            assertThat(line.text().chars().noneMatch(Character::isISOControl))
                    .as(line.text())
                    .isTrue();
        }
    }

    /** Takes a random step, and returns its outcome. */
    private String step(TopologyDrivers weir, TopologyDrivers good, SplittableRandom random)
            throws UnreadableException {
        return switch (random.nextInt(12)) {
            case 0 -> policyStep(weir, good, random);
            case 1 -> passing(weir, good, random);
            case 2, 3 -> admissionStep(weir, good, random);
            default -> requestStep(weir, good, random);
        };
    }

    private String requestStep(TopologyDrivers weir, TopologyDrivers good, SplittableRandom random)
            throws UnreadableException {
        byte[] valid = random.nextInt(8) == 0 ? any(requests, random) : REQUESTS.encode(request(random));
        byte[] value = random.nextBoolean() ? valid : BytesMutation.of(List.of(valid), random);
        byte[] record = random.nextInt(200) == 0 ? null : value;
        byte[] key = key(record, random);
        Headers headers = headers(random);
        long timestampMs = time(weir, random);
        TopologyDrivers.Output output = weir.request(key, record, copy(headers), timestampMs);
        if (!output.deadLetters().isEmpty()) {
            assertThat(output.deadLetters()).hasSize(1);
            assertThat(output.decisions()).isEmpty();
            assertThat(output.admissions()).isZero();
            requireAsReceived(output, key, record, headers);
            return "requests refused";
        }
        assertThat(output.admissions() > 0 || output.decisions().size() == 1).isTrue();
        assertThat(output.decisions()).isNotEmpty();
        compare(output, good.request(key, record, copy(headers), timestampMs));
        return "requests answered";
    }

    private String admissionStep(TopologyDrivers weir, TopologyDrivers good, SplittableRandom random)
            throws UnreadableException {
        byte[] value = BytesMutation.of(admissions, random);
        long timestampMs = time(weir, random);
        byte[] key = bytes("sms");
        TopologyDrivers.Output output = weir.admission(key, value, new RecordHeaders(), timestampMs);
        if (!output.deadLetters().isEmpty()) {
            assertThat(output.deadLetters()).hasSize(1);
            assertThat(output.decisions()).isEmpty();
            requireAsReceived(output, key, value, new RecordHeaders());
            return "admissions refused";
        }
        assertThat(output.decisions()).isNotEmpty();
        compare(output, good.admission(key, value, new RecordHeaders(), timestampMs));
        return "admissions answered";
    }

    private String policyStep(TopologyDrivers weir, TopologyDrivers good, SplittableRandom random) {
        byte[] valid = random.nextInt(4) == 0 ? any(policies, random) : POLICIES.encode(next(weir, random));
        byte[] changed = random.nextInt(4) == 0 ? valid : BytesMutation.of(List.of(valid), random);
        byte[] value = random.nextInt(40) == 0 ? null : changed;
        byte[] key = random.nextInt(10) == 0 ? BytesMutation.noise(random, 20) : bytes("policy/p");
        TopologyDrivers.Output output = weir.policies(key, value);
        if (output.deadLetters().isEmpty()) {
            good.policies(key, value);
        }
        assertThat(weir.applied()).isEqualTo(good.applied());
        return output.deadLetters().isEmpty() ? "policies accepted" : "policies refused";
    }

    /** Returns the next version of the policy that changes. */
    private static PolicyAvro.Applied next(TopologyDrivers weir, SplittableRandom random) {
        long version = 1;
        for (PolicyAvro.Applied applied : weir.applied()) {
            version = applied.id().equals("p") ? applied.version() + 1 : version;
        }
        return new PolicyAvro.Applied(PolicyAvro.Kind.POLICY, "p", version, any(CHANGES, random), weir.nowMs());
    }

    private static Request request(SplittableRandom random) {
        int number = random.nextInt(CLIENTS);
        String client = number == 0 ? "alice" : number == 1 ? "żółw\uD83D\uDE00" : "c" + number;
        Map<String, String> attributes = random.nextInt(3) == 0 ? Map.of("endpoint", "/a") : Map.of("ip", "10.0.0.1");
        return RequestSamples.of(client, random.nextBoolean() ? "free" : null, attributes, random);
    }

    /** Returns a record time, mostly about now. */
    private static long time(TopologyDrivers weir, SplittableRandom random) {
        return random.nextInt(20) == 0
                ? TIMES[random.nextInt(TIMES.length)]
                : Math.max(0, weir.nowMs() - 100 + random.nextInt(200));
    }

    private static String passing(TopologyDrivers weir, TopologyDrivers good, SplittableRandom random)
            throws UnreadableException {
        Duration time = Duration.ofMillis(1 + random.nextInt(random.nextInt(50) == 0 ? 60_000 : 500));
        compare(weir.pass(time), good.pass(time));
        return "passing of time";
    }

    private static void compare(TopologyDrivers.Output output, TopologyDrivers.Output expected)
            throws UnreadableException {
        // positions, and so the recorded order, differ because of the invalid records in between
        assertThat(decisions(output))
                .usingRecursiveComparison()
                .ignoringFields("identity.source", "context.order")
                .isEqualTo(decisions(expected));
        assertThat(releases(output)).usingRecursiveComparison().isEqualTo(releases(expected));
        assertThat(expected.deadLetters()).isEmpty();
    }

    private static List<Decision> decisions(TopologyDrivers.Output output) throws UnreadableException {
        List<Decision> decisions = new ArrayList<>();
        for (byte[] value : output.decisions()) {
            decisions.add(DECISIONS.decode(value));
        }
        return decisions;
    }

    private static List<Release> releases(TopologyDrivers.Output output) throws UnreadableException {
        List<Release> releases = new ArrayList<>();
        for (byte[] value : output.releases()) {
            releases.add(RELEASES.decode(value));
        }
        return releases;
    }

    private static void requireAsReceived(TopologyDrivers.Output output, byte[] key, byte[] value, Headers headers) {
        var letter = output.deadLetters().get(0);
        assertThat(letter.key()).isEqualTo(key);
        assertThat(letter.value()).isEqualTo(value);
        List<Header> received = List.of(letter.headers().toArray()).subList(0, headers.toArray().length);
        assertThat(received).isEqualTo(List.of(headers.toArray()));
        assertThat(letter.headers().lastHeader("weir.reason")).isNotNull();
    }

    /** Returns a record key, mostly the client. */
    private static byte[] key(byte[] value, SplittableRandom random) {
        if (random.nextInt(20) == 0) {
            return random.nextBoolean() ? null : BytesMutation.noise(random, 20);
        }
        try {
            return bytes(REQUESTS.decode(value, 0, NOWHERE).client());
        } catch (UnreadableException e) {
            return bytes("alice");
        }
    }

    private static Headers headers(SplittableRandom random) {
        Headers headers = new RecordHeaders();
        int many = random.nextInt(20) == 0 ? random.nextInt(3_000) : random.nextInt(3);
        for (int i = 0; i < many; i++) {
            headers.add("h" + i % 5, random.nextInt(5) == 0 ? null : BytesMutation.noise(random, 10));
        }
        return headers;
    }

    private static Headers copy(Headers headers) {
        return new RecordHeaders(headers);
    }

    private static <T> T any(List<T> values, SplittableRandom random) {
        return values.get(random.nextInt(values.size()));
    }

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    static void delete(Path directory) throws IOException {
        try (Stream<Path> files = Files.walk(directory)) {
            for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
                Files.delete(file);
            }
        }
    }
}
