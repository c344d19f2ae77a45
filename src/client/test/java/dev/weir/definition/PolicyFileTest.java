package dev.weir.definition;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatNoException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.weir.definition.PolicyFile.Contents;
import dev.weir.definition.PolicyFile.Definition;
import dev.weir.event.LimitOverride;
import dev.weir.fault.Fault;
import dev.weir.fault.FaultsException;
import dev.weir.limit.Blocked;
import dev.weir.limit.FixedWindow;
import dev.weir.limit.Rate;
import dev.weir.limit.SlidingWindowCounter;
import dev.weir.limit.TokenBucket;
import dev.weir.limit.Unlimited;
import dev.weir.policy.Glob;
import dev.weir.policy.OnExceed;
import dev.weir.policy.Policy;
import dev.weir.policy.RequestMatcher;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

class PolicyFileTest {

    /** The example of the design, without the keys that need a queue. */
    static final String DESIGN = """
            policies:
              - id: free-articles
                layer: client              # default; in each layer, the policy with the highest priority applies
                priority: 10               # default 0; of equal priorities, the id that sorts first applies
                match:                     # all conditions must hold; a value is exact, a list (any of), or a glob
                  tier: free
                  endpoint: "/articles/**"
                key: [client]              # what is counted together; default [client]; can include attributes
                limits:                    # every limit must permit the request
                  - {algorithm: sliding-window-counter, limit: 5, per: 1m}
                  - {algorithm: token-bucket, limit: 10, per: 1s, burst: 20}
                max-size: 64KiB            # larger: denied, 413, nothing charged
                on-exceed: deny            # deny | shadow-ban | observe | throttle | shape
            """;

    /** A policy with all keys of the example, and its queue. */
    static final String DESIGN_IN_FULL =
            DESIGN + """
                max-delay: 2s              # throttle: allowed with delayMs up to this, denied above it
                queue: sms                 # shape: goes to this queue
                idempotency: 10m           # optional: a repeated requestId gets its first decision again, charged once
                effective-from: 2026-12-01T00:00:00Z   # optional
                effective-until: 2027-01-01T00:00:00Z   # optional
            """ + QueueFileTest.SHAPING.substring(QueueFileTest.SHAPING.indexOf("queues:"));

    @Test
    void reads_the_example_of_the_design() throws FaultsException {
        Policy expected = Policy.builder("free-articles")
                .priority(10)
                .match(new RequestMatcher(
                        Map.of("tier", List.of(new Glob("free")), "endpoint", List.of(new Glob("/articles/**")))))
                .terms(List.of(
                        new Policy.Term(
                                "sliding-window-counter 5/1m", new SlidingWindowCounter(5, 60_000, false, false)),
                        new Policy.Term("token-bucket 10/1s burst 20", new TokenBucket(Rate.of(10, 1000), 20, false))))
                .maxSizeBytes(65_536L)
                .build();
        String json = "{'id':'free-articles','layer':'client','priority':10,"
                + "'match':{'tier':'free','endpoint':'/articles/**'},'key':['client'],"
                + "'limits':[{'algorithm':'sliding-window-counter','limit':5,'per':'1m'},"
                + "{'algorithm':'token-bucket','limit':10,'per':'1s','burst':20}],"
                + "'max-size':'64KiB','on-exceed':'deny'}";

        assertThat(PolicyFile.read("policies.yaml", DESIGN))
                .isEqualTo(new Contents(
                        List.of(new Definition.PolicyDefinition(expected, json.replace('\'', '"'))), List.of()));
    }

    @Test
    void reads_every_key_of_the_design() throws FaultsException {
        Policy shaping = policy(
                DESIGN_IN_FULL.replace("on-exceed: deny ", "on-exceed: shape").replaceFirst(".*max-delay.*", ""));
        assertThat(shaping.queue()).isEqualTo("sms");
        assertThat(shaping.idempotencyMs()).isEqualTo(600_000);
        assertThat(shaping.effectiveFromMs())
                .isEqualTo(Instant.parse("2026-12-01T00:00:00Z").toEpochMilli());
        Policy throttling = policy(
                DESIGN_IN_FULL.replace("on-exceed: deny", "on-exceed: throttle").replaceFirst(".*queue: sms.*", ""));
        assertThat(throttling.onExceed()).isEqualTo(new OnExceed.Throttle(2_000));
    }

    @Test
    void a_key_of_another_on_exceed_mode_is_a_fault() {
        assertThat(faults(DESIGN_IN_FULL))
                .containsExactly(
                        "policies.yaml:14: policies[0].max-delay: requires on-exceed: throttle",
                        "policies.yaml:15: policies[0].queue: requires on-exceed: shape");
    }

    @Test
    void a_denial_can_have_status_503() throws FaultsException {
        assertThat(policy("policies: [{id: a, limits: [{unlimited: true}], deny-status: 503}]")
                        .onExceed())
                .isEqualTo(new OnExceed.Deny(503));
    }

    @Test
    void has_defaults_for_all_but_the_id_and_the_limits() throws FaultsException {
        assertThat(policy("policies: [{id: a, limits: [{unlimited: true}]}]"))
                .isEqualTo(Policy.builder("a")
                        .terms(List.of(new Policy.Term("unlimited", new Unlimited())))
                        .build());
    }

    @Test
    void reads_values_other_than_the_defaults() throws FaultsException {
        assertThat(policy("""
                                policies:
                                - id: B_1.x-2
                                  layer: endpoint
                                  priority: -1_000
                                  match: {tier: [gold, 1.10, true], n: 5, client: NO, empty: ''}
                                  key: [endpoint, client]
                                  limits: [{algorithm: gcra, limit: 0}]
                                  max-size: 1500
                                  on-exceed: shadow-ban
                                """))
                .isEqualTo(Policy.builder("B_1.x-2")
                        .layer("endpoint")
                        .priority(-1000)
                        .match(new RequestMatcher(Map.of(
                                "tier", List.of(new Glob("gold"), new Glob("1.10"), new Glob("true")),
                                "n", List.of(new Glob("5")),
                                "client", List.of(new Glob("NO")),
                                "empty", List.of(new Glob("")))))
                        .key(List.of("endpoint", "client"))
                        .terms(List.of(new Policy.Term("gcra 0", new Blocked())))
                        .maxSizeBytes(1500L)
                        .onExceed(OnExceed.SHADOW_BAN)
                        .build());
        assertThat(policy("policies: [{id: a, key: client, limits: [{unlimited: true}], on-exceed: observe}]"))
                .extracting(Policy::key, Policy::onExceed)
                .containsExactly(List.of("client"), OnExceed.OBSERVE);
    }

    static Stream<Arguments> faultyPolicies() {
        String unlimited = "limits: [{unlimited: true}]";
        return Stream.of(
                Arguments.of(unlimited, "id: is required"),
                Arguments.of("id: a", "limits: is required"),
                Arguments.of("id: , " + unlimited, "id: must be a single value, is empty"),
                Arguments.of("id: a b, " + unlimited, "id: must be 1 to 128 letters, digits or . _ -, is 'a b'"),
                Arguments.of("id: '', " + unlimited, "id: must be 1 to 128 letters, digits or . _ -, is ''"),
                Arguments.of("id: [a], " + unlimited, "id: must be a single value, is a list"),
                Arguments.of(
                        "id: a, layer: a/b, " + unlimited,
                        "layer: must be 1 to 128 letters, digits or . _ -, is 'a/b'"),
                Arguments.of(
                        "id: a, priority: high, " + unlimited,
                        "priority: must be a whole number from -2147483648 to 2147483647, is 'high'"),
                Arguments.of(
                        "id: a, priority: 2147483648, " + unlimited,
                        "priority: must be a whole number from -2147483648 to 2147483647, is '2147483648'"),
                Arguments.of("id: a, match: free, " + unlimited, "match: must be a mapping, is 'free'"),
                Arguments.of("id: a, match: , " + unlimited, "match: must be a mapping, is empty"),
                Arguments.of(
                        "id: a, match: {tier: }, " + unlimited,
                        "match.tier: must be a single value or a list, is empty"),
                Arguments.of(
                        "id: a, match: {tier: {a: b}}, " + unlimited,
                        "match.tier: must be a single value or a list, is a mapping"),
                Arguments.of("id: a, match: {tier: []}, " + unlimited, "match.tier: must have 1 to 1000 values, has 0"),
                Arguments.of(
                        "id: a, match: {tier: [" + "x,".repeat(1001) + "]}, " + unlimited,
                        "match.tier: must have 1 to 1000 values, has 1001"),
                Arguments.of(
                        "id: a, match: {tier: [x, [y]]}, " + unlimited,
                        "match.tier[1]: must be a single value, is a list"),
                Arguments.of(
                        "id: a, match: {tier: [x, ~]}, " + unlimited,
                        "match.tier[1]: must be a single value, is empty"),
                Arguments.of(
                        "id: a, match: {a: " + "x".repeat(257) + "}, " + unlimited,
                        "match.a: a pattern must have at most 256 characters"),
                Arguments.of(
                        "id: a, match: {tier: 'x\\'}, " + unlimited,
                        "match.tier: a pattern must not end in a backslash: x\\"),
                Arguments.of(
                        "id: a, match: {"
                                + IntStream.range(0, 33)
                                        .mapToObj(i -> "f" + i + ": x")
                                        .collect(Collectors.joining(", "))
                                + "}, " + unlimited,
                        "match: a policy matches on at most 32 fields"),
                Arguments.of(
                        "id: a, max-wait: 1s, " + unlimited,
                        "max-wait: requires a key without client, or lease: client"),
                Arguments.of(
                        "id: a, key: [client, endpoint], when-empty: deny, " + unlimited,
                        "when-empty: requires a key without client, or lease: client"),
                Arguments.of(
                        "id: a, key: [], when-empty: deny, max-wait: 1s, " + unlimited,
                        "max-wait: requires when-empty: wait"),
                Arguments.of("id: a, key: [], max-wait: 61s, " + unlimited, "max-wait: must be 0 to 1m, is 61s"),
                Arguments.of(
                        "id: a, key: [], when-empty: maybe, " + unlimited,
                        "when-empty: must be one of wait, deny, is 'maybe'"),
                Arguments.of("id: a, lease: all, " + unlimited, "lease: must be one of client, is 'all'"),
                Arguments.of(
                        "id: a, key: [], on-exceed: throttle, max-delay: 1s, " + unlimited,
                        "on-exceed: must not be throttle if the quota is shared: it is lent in leases, which cannot delay requests"),
                Arguments.of(
                        "id: a, key: endpoint, limits: [{algorithm: fixed-window, limit: 1, per: 1s, count-denied: true}]",
                        "limits: must not be empty or count denied requests if the quota is shared"),
                Arguments.of(
                        "id: a, key: endpoint, queue: sms",
                        "limits: must not be empty or count denied requests if the quota is shared"),
                Arguments.of("id: a, key: [client, a, b, a], " + unlimited, "key: must be at most 8 different fields"),
                Arguments.of(
                        "id: a, key: [client, a, b, c, d, e, f, g, h], " + unlimited,
                        "key: must be at most 8 different fields"),
                Arguments.of("id: a, key: [client, ''], " + unlimited, "key[1]: must be the name of a field, is ''"),
                Arguments.of(
                        "id: a, key: [client, {a: b}], " + unlimited, "key[1]: must be a single value, is a mapping"),
                Arguments.of("id: a, key: , " + unlimited, "key: must be a single value or a list, is empty"),
                Arguments.of("id: a, limits: ", "limits: must be a list, is empty"),
                Arguments.of("id: a, limits: {unlimited: true}", "limits: must be a list, is a mapping"),
                Arguments.of("id: a, limits: []", "limits: must be 1 to 16, are 0"),
                Arguments.of("id: a, limits: [], on-exceed: shape, queue: sms", "limits: must be 1 to 16, are 0"),
                Arguments.of("id: a, limits: , on-exceed: shape, queue: sms", "limits: must be a list, is empty"),
                Arguments.of("id: a, limits: [5]", "limits[0]: must be a mapping, is '5'"),
                Arguments.of(
                        "id: a, limits: [" + "{unlimited: true},".repeat(17) + "]", "limits: must be 1 to 16, are 17"),
                Arguments.of(
                        "id: a, max-size: big, " + unlimited,
                        "max-size: must be a size such as 1500, 64KiB or 10MB, is 'big'"),
                Arguments.of(
                        "id: a, max-size: 0, " + unlimited,
                        "max-size: must be a size such as 1500, 64KiB or 10MB, is '0'"),
                Arguments.of(
                        "id: a, on-exceed: drop, " + unlimited,
                        "on-exceed: must be one of deny, shadow-ban, observe, throttle, shape, is 'drop'"),
                Arguments.of(
                        "id: a, queue: sms, on-exceed: drop, " + unlimited,
                        "on-exceed: must be one of deny, shadow-ban, observe, throttle, shape, is 'drop'"),
                Arguments.of("id: a, on-exceed: throttle, " + unlimited, "max-delay: is required"),
                Arguments.of("id: a, on-exceed: shape, " + unlimited, "queue: is required"),
                Arguments.of("id: a, on-exceed: shape", "queue: is required"),
                Arguments.of("id: a, queue: sms, " + unlimited, "queue: requires on-exceed: shape"),
                Arguments.of("id: a, queue: sms, on-exceed: observe, " + unlimited, "queue: requires on-exceed: shape"),
                Arguments.of("id: a, queue: sms, on-exceed: deny", "queue: requires on-exceed: shape"),
                Arguments.of("id: a, queue: s m s", "queue: must be 1 to 128 letters, digits or . _ -, is 's m s'"),
                Arguments.of("id: a, queue: ", "queue: must be a single value, is empty"),
                Arguments.of("id: a, max-delay: 2s, " + unlimited, "max-delay: requires on-exceed: throttle"),
                Arguments.of(
                        "id: a, max-debt: -1, " + unlimited, "max-debt: must be a whole number, 0 or more, is '-1'"),
                Arguments.of("id: a, allow-override: 1, " + unlimited, "allow-override: must be true or false, is '1'"),
                Arguments.of(
                        "id: a, allow-override: true, " + unlimited,
                        "limits[0]: allow-override requires limits above 0 of fixed-window, without a calendar period,"
                                + " or of sliding-window-counter, is 'unlimited'"),
                Arguments.of(
                        "id: a, allow-override: true, limits: [{algorithm: fixed-window, limit: 1, per: 1s},"
                                + " {algorithm: gcra, limit: 5, per: 1s}]",
                        "limits[1]: allow-override requires limits above 0 of fixed-window, without a calendar period,"
                                + " or of sliding-window-counter, is 'gcra 5/1s'"),
                Arguments.of(
                        "id: a, allow-override: true, limits: [{algorithm: fixed-window, limit: 1, per: 1 month}]",
                        "limits[0]: allow-override requires limits above 0 of fixed-window, without a calendar period,"
                                + " or of sliding-window-counter, is 'fixed-window 1/1 month UTC'"),
                Arguments.of(
                        "id: a, allow-override: true, limits: [{algorithm: fixed-window, limit: 1, per: 1d, timezone: UTC}]",
                        "limits[0]: allow-override requires limits above 0 of fixed-window, without a calendar period,"
                                + " or of sliding-window-counter, is 'fixed-window 1/1 day UTC'"),
                Arguments.of(
                        "id: a, allow-override: true, limits: [{algorithm: fixed-window, limit: 0}]",
                        "limits[0]: allow-override requires limits above 0 of fixed-window, without a calendar period,"
                                + " or of sliding-window-counter, is 'fixed-window 0'"),
                Arguments.of("id: a, allow-override: true, queue: sms", "allow-override: requires limits"),
                Arguments.of(
                        "id: a, allow-override: true, limits: [{algorithm: concurrency, limit: 1, ttl: 1s}]",
                        "limits[0]: allow-override requires limits above 0 of fixed-window, without a calendar period,"
                                + " or of sliding-window-counter, is 'concurrency 1 ttl 1s'"),
                Arguments.of(
                        "id: a, max-debt: 5, limits: [{algorithm: concurrency, limit: 1, ttl: 1s}]",
                        "max-debt: does not apply to concurrency: a SETTLE takes no slots; add a limit of another algorithm"
                                + " to bound its debt"),
                Arguments.of(
                        "id: a, on-exceed: throttle, max-delay: 1s, limits: [{algorithm: concurrency, limit: 1, ttl: 1s},"
                                + " {algorithm: gcra, limit: 5, per: 1s}]",
                        "on-exceed: must be deny, shadow-ban or observe if a limit is concurrency: when a slot is freed is"
                                + " not known in advance"),
                Arguments.of(
                        "id: a, on-exceed: shape, queue: sms, limits: [{algorithm: concurrency, limit: 1, ttl: 1s}]",
                        "on-exceed: must be deny, shadow-ban or observe if a limit is concurrency: when a slot is freed is"
                                + " not known in advance"),
                Arguments.of(
                        "id: a, allow-override: true, key: endpoint, limits: [{algorithm: fixed-window, limit: 1, per: 1s}]",
                        "allow-override: must not be true if the quota is shared: it is lent in leases, which do not"
                                + " depend on requests"),
                Arguments.of(
                        "id: a, allow-override: true, lease: client, limits: [{algorithm: fixed-window, limit: 1, per: 1s}]",
                        "allow-override: must not be true if the quota is shared: it is lent in leases, which do not"
                                + " depend on requests"),
                Arguments.of(
                        "id: a, on-exceed: throttle, max-delay: 2d, " + unlimited,
                        "max-delay: must be 1ms to 1d, is 2d"),
                Arguments.of("id: a, deny-status: 500, " + unlimited, "deny-status: must be one of 429, 503, is '500'"),
                Arguments.of(
                        "id: a, deny-status: 503, on-exceed: observe, " + unlimited,
                        "deny-status: requires on-exceed: deny"),
                Arguments.of("id: a, idempotency: 31d, " + unlimited, "idempotency: must be 1ms to 30d, is 31d"),
                Arguments.of(
                        "id: a, effective-from: 2026-12-01, " + unlimited,
                        "effective-from: must be a date and time with a UTC offset such as 2026-12-01T00:00:00Z, is"
                                + " '2026-12-01'"),
                Arguments.of(
                        "id: a, effective-from: 1969-12-31T23:59:59Z, " + unlimited,
                        "effective-from: must be 1970 to 9999, is -1000 ms"),
                Arguments.of(
                        "id: a, effective-from: '+999999999-12-31T00:00:00Z', " + unlimited,
                        "effective-from: must be 1970 to 9999, is '+999999999-12-31T00:00:00Z'"),
                Arguments.of(
                        "id: a, effective-from: 2026-12-01T00:00:00Z, effective-until: 2026-12-01T00:00:00Z, "
                                + unlimited,
                        "effective-until: must be after effective-from"),
                Arguments.of(
                        "id: a, effective-until: 1969-12-31T23:59:59Z, " + unlimited,
                        "effective-until: must be 1970 to 9999, is -1000 ms"),
                Arguments.of(
                        "id: a, effective-until: tomorrow, " + unlimited,
                        "effective-until: must be a date and time with a UTC offset such as 2026-12-01T00:00:00Z, is"
                                + " 'tomorrow'"),
                Arguments.of("id: a, timezone: Europe/Berlin, " + unlimited, "timezone: unknown key"),
                Arguments.of("id: a, maxSize: 1, " + unlimited, "maxSize: unknown key; did you mean \"max-size\"?"),
                Arguments.of("id: a, unknown: 1, " + unlimited, "unknown: unknown key"),
                Arguments.of("id: a, id: b, " + unlimited, "id: duplicate key; the first is on line 1"));
    }

    @ParameterizedTest
    @MethodSource("faultyPolicies")
    void reports_every_fault_of_a_policy(String yaml, String message) {
        assertThat(faults(withSms(yaml))).containsExactly("policies.yaml:1: policies[0]." + message);
    }

    static Stream<Arguments> faultyFiles() {
        return Stream.of(
                Arguments.of("5", "policies.yaml:1: must be a mapping, is '5'"),
                Arguments.of("[]", "policies.yaml:1: must be a mapping, is a list"),
                Arguments.of("policy: []", "policies.yaml:1: policy: unknown key"),
                Arguments.of("polices: []", "policies.yaml:1: polices: unknown key; did you mean \"policies\"?"),
                Arguments.of("policies: {}", "policies.yaml:1: policies: must be a list, is a mapping"),
                Arguments.of("policies: [a]", "policies.yaml:1: policies[0]: must be a mapping, is 'a'"),
                Arguments.of("policies:\n-\n", "policies.yaml:2: policies[0]: must be a mapping, is empty"),
                Arguments.of(
                        "policies: [\n",
                        "policies.yaml:2: is not valid YAML: a value or a closing bracket is missing" + " (column 1)"),
                Arguments.of("queue: []", "policies.yaml:1: queue: unknown key; did you mean \"queues\"?"),
                Arguments.of("queues: {}", "policies.yaml:1: queues: must be a list, is a mapping"),
                Arguments.of("queues: [~]", "policies.yaml:1: queues[0]: must be a mapping, is empty"),
                Arguments.of(
                        "queues:\n" + "- {id: a}\n".repeat(10_001),
                        "policies.yaml:1: queues: must have at most 10000 queues, has 10001"),
                Arguments.of("""
                        queues:
                        - {id: a, limit: 1, per: 1s}
                        - {id: b, limit: 1, per: 1s}
                        - {id: a, limit: 2, per: 1s}
                        """, "policies.yaml:4: queues[2].id: 'a' is already the id of the queue on line 2"),
                Arguments.of("""
                        policies:
                        - {id: a, limits: [{unlimited: true}]}
                        - {id: b, limits: [{unlimited: true}]}
                        - limits: [{unlimited: true}]
                          id: a
                        """, "policies.yaml:5: policies[2].id: 'a' is already the id of the policy on line 2"),
                Arguments.of(
                        "policies:\n" + "- {id: a}\n".repeat(100_001),
                        "policies.yaml:1: policies: must have at most 100000 policies, has 100001"),
                Arguments.of(
                        "policies:\n- id: a\n  limits: [{unlimited: true}]\n  match:\n"
                                + IntStream.range(0, 3)
                                        .mapToObj(i ->
                                                "    f" + i + ":\n" + ("    - " + "é".repeat(256) + "\n").repeat(1000))
                                        .collect(Collectors.joining()),
                        "policies.yaml:2: policies[0]: is too large: 1545071 bytes as JSON; the maximum is 524288"));
    }

    @ParameterizedTest
    @MethodSource("faultyFiles")
    void reports_faults_of_a_file(String text, String line) {
        assertThat(faults(text)).containsExactly(line);
    }

    @Test
    void reports_all_faults_in_the_order_of_the_lines() {
        assertThat(faults("""
                                policies:
                                  - id: "a b"
                                    max-size: huge
                                    limits:
                                      - {algorithm: gcra, limit: 5, per: 1m}
                                      - algorithm: fixed-window
                                        limit: many
                                        per: soon
                                        burst: 5
                                    key: [a, a]
                                    on-exceed: [deny]
                                  - match: {tier: {}}
                                    limit: []
                                quotas: 1
                                """))
                .containsExactly(
                        "policies.yaml:2: policies[0].id: must be 1 to 128 letters, digits or . _ -, is 'a b'",
                        "policies.yaml:3: policies[0].max-size: must be a size such as 1500, 64KiB or 10MB, is 'huge'",
                        "policies.yaml:7: policies[0].limits[1].limit: must be a whole number, 0 or more, is 'many'",
                        "policies.yaml:8: policies[0].limits[1].per: must be a duration such as 500ms, 10s, 1m, 2h or"
                                + " 1d, is 'soon'",
                        "policies.yaml:9: policies[0].limits[1].burst: does not apply to fixed-window",
                        "policies.yaml:10: policies[0].key: must be at most 8 different fields",
                        "policies.yaml:11: policies[0].on-exceed: must be one of deny, shadow-ban, observe, throttle, shape, is a list",
                        "policies.yaml:12: policies[1].id: is required",
                        "policies.yaml:12: policies[1].match.tier: must be a single value or a list, is a mapping",
                        "policies.yaml:12: policies[1].limits: is required",
                        "policies.yaml:13: policies[1].limit: unknown key; did you mean \"limits\"?",
                        "policies.yaml:14: quotas: unknown key");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "# nothing yet\n",
                "policies:\n",
                "policies: []\n",
                "{}",
                "{\"policies\": []}",
                "queues:",
                "policies:\nqueues: []"
            })
    void an_empty_file_has_no_policies(String text) throws FaultsException {
        assertThat(PolicyFile.read("policies.yaml", text)).isEqualTo(Contents.NONE);
    }

    @Test
    void reads_a_file() throws IOException, FaultsException {
        Path file = directory.resolve("p.yaml");
        Files.writeString(file, DESIGN);
        assertThat(PolicyFile.read(file)).isEqualTo(PolicyFile.read("policies.yaml", DESIGN));

        Files.writeString(file, "policies: 5");
        assertThatThrownBy(() -> PolicyFile.read(file))
                .isInstanceOf(FaultsException.class)
                .hasMessage(file + ":1: policies: must be a list, is '5'");

        Files.delete(file);
        assertThatThrownBy(() -> PolicyFile.read(file)).isInstanceOf(NoSuchFileException.class);
    }

    @TempDir
    private Path directory;

    @Test
    void json_has_numbers_and_booleans_where_typed_and_text_elsewhere() throws FaultsException {
        String yaml = """
                policies:
                - limits:
                  - {limit: 1_000, algorithm: "token-bucket", per: 1 day, burst: '7', count-denied: true}
                  - {unlimited: true}
                  max-size: 1500
                  priority: -1_0
                  id: 007
                  layer: 5
                  key: client
                  match: {limit: 1_0, match: true, tier: ["a\\"\\n\u00e9", 1.10, 0x1F]}
                """;
        String json =
                "{'limits':[{'limit':1000,'algorithm':'token-bucket','per':'1 day','burst':7,'count-denied':true},"
                        + "{'unlimited':true}],'max-size':1500,'priority':-10,'id':'007','layer':'5','key':'client',"
                        + "'match':{'limit':'1_0','match':'true','tier':['a\\\"\\n\u00e9','1.10','0x1F']}}";

        assertThat(PolicyFile.read("policies.yaml", yaml).policies().get(0).json())
                .isEqualTo(json.replace('\'', '"'));
    }

    @Test
    void requests_can_override_all_limits_of_a_policy_that_allows_it() throws FaultsException {
        String yaml = "policies: [{id: a, max-debt: 3, allow-override: %s, limits: ["
                + "{algorithm: fixed-window, limit: 10, per: 1m}, {algorithm: sliding-window-counter, limit: 5, per: 1s}]}]";
        Policy policy = policy(yaml.formatted("true"));
        assertThat(policy.terms())
                .containsExactly(
                        new Policy.Term("fixed-window 10/1m", new FixedWindow(10, 60_000, false), 3, true),
                        new Policy.Term(
                                "sliding-window-counter 5/1s",
                                new SlidingWindowCounter(5, 1_000, false, false),
                                3,
                                true));
        assertThat(policy.terms().get(0).overriddenBy(new LimitOverride(2_500, 60_000)))
                .isEqualTo(new Policy.Term("fixed-window 2500/1m", new FixedWindow(2_500, 60_000, false), 3, true));
        assertThat(policy(yaml.formatted("false")).allowsOverride()).isFalse();
        assertThat(PolicyFile.read("policies.yaml", yaml.formatted("true"))
                        .policies()
                        .get(0)
                        .json())
                .contains("\"allow-override\":true,");
    }

    @Test
    void json_of_a_queue_has_numbers_for_any_tier_names() throws FaultsException {
        String yaml = "queues: [{id: 7, per: 1 s, limit: 1_000, burst: '2', capacity: 5, look-ahead: 0,"
                + " tiers: {match: {weight: '3'}, tiers: {priority: -1}, limit: {weight: 1}}}]";
        String json = "{'id':'7','per':'1 s','limit':1000,'burst':2,'capacity':5,'look-ahead':'0',"
                + "'tiers':{'match':{'weight':3},'tiers':{'priority':-1},'limit':{'weight':1}}}";

        assertThat(PolicyFile.read("policies.yaml", yaml).queues().get(0).json())
                .isEqualTo(json.replace('\'', '"'));
    }

    @Test
    void a_definition_gets_the_version_it_is_read_with() throws FaultsException {
        Contents contents = PolicyFile.read("policies.yaml", QueueFileTest.SHAPING);
        String policy = contents.policies().get(0).json();
        String queue = contents.queues().get(0).json();

        assertThat(PolicyFile.parse("weir.policies", policy, 7).version()).isEqualTo(7);
        assertThat(PolicyFile.parseQueue("weir.policies", queue, 8).version()).isEqualTo(8);
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "{}", "5", "[", "{\"id\":\"a\",\"limits\":[{}]}", "\u0000"})
    void an_invalid_definition_is_rejected_with_its_line(String json) {
        assertThatThrownBy(() -> PolicyFile.parse("weir.policies-0@5", json, 1))
                .isInstanceOf(FaultsException.class)
                .message()
                .startsWith("weir.policies-0@5:1: ");
        assertThatThrownBy(() -> PolicyFile.parseQueue("weir.policies-0@5", json, 1))
                .isInstanceOf(FaultsException.class)
                .message()
                .startsWith("weir.policies-0@5:1: ");
    }

    @Test
    void reads_ten_thousand_policies() throws FaultsException {
        String one = DESIGN.substring(DESIGN.indexOf('\n') + 1);
        String text = "policies:\n"
                + IntStream.range(0, 10_000)
                        .mapToObj(i -> one.replace("free-articles", "policy-" + i))
                        .collect(Collectors.joining());

        List<Definition.PolicyDefinition> definitions =
                PolicyFile.read("policies.yaml", text).policies();

        assertThat(definitions).hasSize(10_000);
        assertThat(definitions.get(9_999).id()).isEqualTo("policy-9999");
        assertThat(definitions.get(9_999).policy().terms()).hasSize(2);
    }

    static String withSms(String policy) {
        return "{policies: [{" + policy + "}], queues: [{id: sms, limit: 100, per: 1s}]}";
    }

    static Policy policy(String text) throws FaultsException {
        List<Definition.PolicyDefinition> definitions =
                PolicyFile.read("policies.yaml", text).policies();
        assertThat(definitions).hasSize(1);
        return definitions.get(0).policy();
    }

    static List<String> faults(String text) {
        try {
            PolicyFile.read("policies.yaml", text);
            return List.of();
        } catch (FaultsException e) {
            return e.faults().stream().map(Fault::toString).toList();
        }
    }

    @Test
    void a_policy_that_throttles_what_another_layer_shapes_is_a_fault_that_names_both() {
        String slow = "{id: slow, layer: a, match: {endpoint: \"/s*\"}, on-exceed: throttle, max-delay: 1d,"
                + " limits: [{algorithm: gcra, limit: 1, per: 10s}]}";
        String file = """
                policies:
                  - %s
                  - {id: waits, layer: b, match: {endpoint: %s}, queue: sms}
                queues: [{id: sms, limit: 100, per: 1s}]
                """;
        assertThatThrownBy(() -> PolicyFile.read("rules.yaml", file.formatted(slow, "/sms")))
                .hasMessageContaining(
                        "rules.yaml:2: policies[0].on-exceed: policy 'slow' in layer 'a' throttles requests"
                                + " that policy 'waits' in layer 'b' sends to a queue");
        assertThatNoException().isThrownBy(() -> PolicyFile.read("rules.yaml", file.formatted(slow, "/mail")));
    }
}
