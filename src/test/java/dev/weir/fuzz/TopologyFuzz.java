package dev.weir.fuzz;

import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.codec.DecisionAvro;
import dev.weir.codec.PolicyAvro;
import dev.weir.codec.PolicyFile;
import dev.weir.codec.ReleaseAvro;
import dev.weir.codec.RequestAvro;
import dev.weir.codec.UnreadableException;
import dev.weir.policy.Decision;
import dev.weir.policy.Request;
import dev.weir.policy.RequestRules;
import dev.weir.shape.Release;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.SplittableRandom;
import java.util.stream.Stream;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.Headers;
import org.apache.kafka.common.header.internals.RecordHeaders;

/**
 * Some hundred records of three topics, good and bad, through the real topologies: each is answered once or a dead
 * letter, and the good ones are answered as by another Weir that has never seen the bad ones.
 */
final class TopologyFuzz implements Fuzz.Case {

    /** Records of one case. */
    static final int RECORDS = 500;

    private static final String RULES = """
            policies:
              - {id: free, match: {tier: free}, limits: [{algorithm: gcra, limit: 5, per: 1s}], idempotency: 10s}
              - {id: log, layer: l, limits: [{algorithm: sliding-window-log, limit: 100, per: 1m, count-denied: true}]}
              - {id: slow, layer: s, match: {client: alice}, on-exceed: throttle, max-delay: 1d,
                 limits: [{algorithm: token-bucket, limit: 7, per: 11s}]}
              - {id: waits, layer: q, match: {endpoint: "/*"}, queue: sms, idempotency: 1m}
            queues:
              - {id: sms, limit: 10, per: 1s, capacity: 5, max-wait: 2s, tiers: {free: {priority: 1}}}
            """;

    private static final Request.Source NOWHERE = new Request.Source(0, 0);
    private static final long[] TIMES = {0, 1, 1_000, 60_000, RequestRules.MAX_TIMESTAMP_MS + 1, Long.MAX_VALUE};
    private static final RequestAvro REQUESTS = new RequestAvro();
    private static final DecisionAvro DECISIONS = new DecisionAvro();
    private static final ReleaseAvro RELEASES = new ReleaseAvro();

    private final List<byte[]> requests = Records.requests();
    private final List<byte[]> admissions = Records.admissions();
    private final List<byte[]> policies = Records.policies();

    /** Something that happens to a Weir. */
    private interface Event {
        Weir.Output on(Weir weir);
    }

    @Override
    public String run(Trial trial) throws Exception {
        Path directory = Files.createTempDirectory("weir-fuzz");
        int dead = 0;
        try (Weir weir = new Weir(directory.resolve("all"));
                Weir good = new Weir(directory.resolve("good"))) {
            apply(weir);
            apply(good);
            for (int i = 0; i < RECORDS; i++) {
                dead += step(weir, good, trial.random());
            }
        } finally {
            delete(directory);
        }
        return dead > 0 && dead < RECORDS ? "good and bad" : "of one kind";
    }

    private static void apply(Weir weir) throws Exception {
        PolicyFile.Contents contents = PolicyFile.read("rules", RULES);
        List<PolicyFile.Definition> definitions = new ArrayList<>(contents.queues());
        definitions.addAll(contents.policies());
        for (PolicyFile.Definition definition : definitions) {
            PolicyAvro.Applied applied =
                    new PolicyAvro.Applied(definition.kind(), definition.id(), 1, definition.json(), 0);
            weir.policies(bytes(applied.key()), new PolicyAvro().encode(applied));
        }
        assertThat(weir.applied()).hasSize(definitions.size());
    }

    /** How many dead letters it gives. */
    private int step(Weir weir, Weir good, SplittableRandom random) throws UnreadableException {
        return switch (random.nextInt(12)) {
            case 0 -> policyStep(weir, good, random);
            case 1 -> same(weir, good, passing(random));
            case 2, 3 -> admissionStep(weir, good, random);
            default -> requestStep(weir, good, random);
        };
    }

    private int requestStep(Weir weir, Weir good, SplittableRandom random) throws UnreadableException {
        byte[] value = random.nextInt(3) == 0 ? any(requests, random) : BytesMutation.of(requests, random);
        byte[] record = random.nextInt(200) == 0 ? null : value;
        byte[] key = key(record, random);
        Headers headers = headers(random);
        long timestampMs = TIMES[random.nextInt(TIMES.length)];
        Weir.Output output = weir.request(key, record, copy(headers), timestampMs);
        int letters = output.deadLetters().size();
        if (letters > 0) {
            assertThat(letters).isEqualTo(1);
            assertThat(output.decisions()).isEmpty();
            assertThat(output.admissions()).isZero();
            requireAsReceived(output, key, record, headers);
            return 1;
        }
        assertThat(output.admissions() > 0 || output.decisions().size() == 1).isTrue();
        assertThat(output.decisions()).isNotEmpty();
        compare(output, good.request(key, record, copy(headers), timestampMs));
        return 0;
    }

    private int admissionStep(Weir weir, Weir good, SplittableRandom random) throws UnreadableException {
        byte[] value = BytesMutation.of(admissions, random);
        long timestampMs = TIMES[random.nextInt(TIMES.length)];
        byte[] key = bytes("sms");
        Weir.Output output = weir.admission(key, value, new RecordHeaders(), timestampMs);
        if (!output.deadLetters().isEmpty()) {
            assertThat(output.deadLetters()).hasSize(1);
            assertThat(output.decisions()).isEmpty();
            requireAsReceived(output, key, value, new RecordHeaders());
            return 1;
        }
        assertThat(output.decisions()).isNotEmpty();
        compare(output, good.admission(key, value, new RecordHeaders(), timestampMs));
        return 0;
    }

    private int policyStep(Weir weir, Weir good, SplittableRandom random) {
        byte[] value = random.nextInt(4) == 0 ? any(policies, random) : BytesMutation.of(policies, random);
        byte[] key = random.nextInt(10) == 0 ? BytesMutation.noise(random, 20) : bytes("policy/p");
        Weir.Output output = weir.policies(key, value);
        if (output.deadLetters().isEmpty()) {
            good.policies(key, value);
        }
        assertThat(weir.applied()).isEqualTo(good.applied());
        return output.deadLetters().size();
    }

    private static Event passing(SplittableRandom random) {
        Duration time = Duration.ofMillis(1 + random.nextInt(500));
        return weir -> weir.pass(time);
    }

    private static int same(Weir weir, Weir good, Event event) throws UnreadableException {
        compare(event.on(weir), event.on(good));
        return 0;
    }

    private static void compare(Weir.Output output, Weir.Output expected) throws UnreadableException {
        // their places differ by the bad records in between
        assertThat(decisions(output))
                .usingRecursiveComparison()
                .ignoringFields("source")
                .isEqualTo(decisions(expected));
        assertThat(releases(output)).usingRecursiveComparison().isEqualTo(releases(expected));
        assertThat(expected.deadLetters()).isEmpty();
    }

    private static List<Decision> decisions(Weir.Output output) throws UnreadableException {
        List<Decision> decisions = new ArrayList<>();
        for (byte[] value : output.decisions()) {
            decisions.add(DECISIONS.decode(value));
        }
        return decisions;
    }

    private static List<Release> releases(Weir.Output output) throws UnreadableException {
        List<Release> releases = new ArrayList<>();
        for (byte[] value : output.releases()) {
            releases.add(RELEASES.decode(value));
        }
        return releases;
    }

    private static void requireAsReceived(Weir.Output output, byte[] key, byte[] value, Headers headers) {
        var letter = output.deadLetters().get(0);
        assertThat(letter.key()).isEqualTo(key);
        assertThat(letter.value()).isEqualTo(value);
        List<Header> received = List.of(letter.headers().toArray()).subList(0, headers.toArray().length);
        assertThat(received).isEqualTo(List.of(headers.toArray()));
        assertThat(letter.headers().lastHeader("weir.reason")).isNotNull();
    }

    /** Mostly the client's. */
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

    private static byte[] any(List<byte[]> values, SplittableRandom random) {
        return values.get(random.nextInt(values.size()));
    }

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    private static void delete(Path directory) throws IOException {
        try (Stream<Path> files = Files.walk(directory)) {
            for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
                Files.delete(file);
            }
        }
    }
}
