package dev.weir.definition;

import static dev.weir.definition.PolicyFileTest.faults;
import static dev.weir.definition.PolicyFileTest.policy;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.weir.definition.PolicyFile.Contents;
import dev.weir.definition.PolicyFile.Definition;
import dev.weir.fault.FaultsException;
import dev.weir.policy.OnExceed;
import dev.weir.policy.Policy;
import dev.weir.shape.rules.InFlightCaps;
import dev.weir.shape.rules.InFlightRules;
import dev.weir.shape.rules.QueueRules;
import dev.weir.shape.rules.QueueTotal;
import dev.weir.shape.rules.TierShare;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests of queues in the policy file, and of the policies that send requests to them. */
class QueueFileTest {

    static final String SHAPING = """
            policies:
              - id: free-sms
                match: {tier: free}
                limits: [{algorithm: gcra, limit: 5, per: 1s}]
                on-exceed: shape
                queue: sms                 # shape: requests go to this queue
            queues:
              - id: sms
                limit: 100                 # the outflow: 100 tokens per second
                per: 1s
                burst: 1                   # how many tokens can leave at once; 1 gives a steady rate
                capacity: 10000            # if full, a higher priority evicts the newest of the lowest
                max-wait: 30s              # after this time, or at its deadline, a request expires
                tiers:                     # other tiers have {priority: 0, weight: 1}
                  platinum: {priority: 1, weight: 8}     # a higher priority always goes first
                  gold:     {priority: 0, weight: 4}     # the same priority shares the rate by weight
                  free:     {priority: 0, weight: 1}
            """;

    /** The example of the design. */
    @Test
    void reads_a_queue_and_the_policy_that_sends_to_it() throws FaultsException {
        QueueRules expected = QueueRules.builder("sms", 100, 1000)
                .maxWaitMs(30_000)
                .tiers(Map.of(
                        "platinum", new TierShare(1, 8), "gold", new TierShare(0, 4), "free", new TierShare(0, 1)))
                .build();
        String json = "{'id':'sms','limit':100,'per':'1s','burst':1,'capacity':10000,'max-wait':'30s',"
                + "'tiers':{'platinum':{'priority':1,'weight':8},'gold':{'priority':0,'weight':4},"
                + "'free':{'priority':0,'weight':1}}}";

        Contents contents = PolicyFile.read("policies.yaml", SHAPING);

        assertThat(contents.queues())
                .containsExactly(new Definition.QueueDefinition(expected, json.replace('\'', '"')));
        assertThat(contents.policies())
                .extracting(Definition.PolicyDefinition::policy)
                .singleElement()
                .extracting(Policy::onExceed, Policy::queue, policy -> policy.terms()
                        .size())
                .containsExactly(new OnExceed.Shape("sms"), "sms", 1);
        assertThat(contents.policies().get(0).json()).endsWith(",\"on-exceed\":\"shape\",\"queue\":\"sms\"}");
    }

    @ParameterizedTest
    @ValueSource(strings = {"", ", on-exceed: shape"})
    void a_policy_with_a_queue_and_no_limits_shapes_everything(String onExceed) throws FaultsException {
        assertThat(policy("policies: [{id: q, queue: q" + onExceed + "}]\nqueues: [{id: q, limit: 1, per: 1s}]"))
                .isEqualTo(Policy.builder("q").onExceed(new OnExceed.Shape("q")).build());
    }

    static Stream<Arguments> queuesWithSlots() {
        return Stream.of(
                Arguments.of("max-in-flight: 3", QueueRules.builder("q", InFlightRules.of(3))),
                Arguments.of(
                        "max-in-flight: 3, tiers: {a: {min-share: 5%}, b: {priority: 1, min-share: '95%'}}",
                        QueueRules.builder("q", InFlightRules.of(3))
                                .tiers(Map.of("a", new TierShare(0, 1, 5), "b", new TierShare(1, 1, 95)))),
                Arguments.of(
                        "limit: 5, per: 1s, max-in-flight: 100_000, ack-timeout: 2h, max-attempts: 1,"
                                + " retry-backoff: 0ms, key: to",
                        QueueRules.builder("q", 5, 1_000)
                                .key(List.of("to"))
                                .inFlight(new InFlightRules(100_000, 7_200_000, 7_200_000, 1, 0))),
                Arguments.of(
                        "max-in-flight: '1', ack-timeout: 5s, max-duration: 10s, max-attempts: '1_000', retry-backoff: 0",
                        QueueRules.builder("q", new InFlightRules(1, 5_000, 10_000, 1_000, 0))),
                Arguments.of(
                        "max-in-flight: 3, max-in-flight-per-client: 1_000, fair-by: client,"
                                + " tiers: {a: {max-in-flight: '2'}, b: {weight: 4}, c: {max-in-flight: 9, weight: 2}}",
                        QueueRules.builder(
                                        "q",
                                        InFlightRules.of(3)
                                                .withCaps(new InFlightCaps(
                                                        Map.of("a", 2L, "c", 9L), OptionalLong.of(1_000))))
                                .tiers(Map.of(
                                        "a", new TierShare(0, 1),
                                        "b", new TierShare(0, 4),
                                        "c", new TierShare(0, 2)))));
    }

    @ParameterizedTest
    @MethodSource("queuesWithSlots")
    void reads_slots_with_and_without_a_rate(String yaml, QueueRules.Builder expected) throws FaultsException {
        assertThat(PolicyFile.read("policies.yaml", withQueue(yaml)).queues())
                .extracting(Definition.QueueDefinition::queue)
                .containsExactly(expected.build());
    }

    @ParameterizedTest
    @CsvSource({"max-in-flight: 3, false", "'max-in-flight: 3, limit: 1, per: 1s', true"})
    void a_queue_with_slots_needs_no_rate(String yaml, boolean hasRate) throws FaultsException {
        QueueRules queue = PolicyFile.read("policies.yaml", withQueue(yaml))
                .queues()
                .get(0)
                .queue();
        assertThat(queue.hasRate()).isEqualTo(hasRate);
    }

    static Stream<Arguments> queues() {
        return Stream.of(
                queue("limit: 1, per: 1s", 1, 1000, 1, 10_000, Long.MAX_VALUE, 100, Map.of()),
                queue(
                        "limit: 7, per: 30d, burst: 1_000_000",
                        7,
                        2_592_000_000L,
                        1_000_000,
                        10_000,
                        Long.MAX_VALUE,
                        100,
                        Map.of()),
                queue(
                        "limit: '1_000', per: 1 minute, burst: 5_0, capacity: 100_000_000, max-wait: 1ms, tiers: {}",
                        1000,
                        60_000,
                        50,
                        100_000_000,
                        1,
                        100,
                        Map.of()),
                queue("limit: 1, per: 1s, look-ahead: 0ms", 1, 1000, 1, 10_000, Long.MAX_VALUE, 0, Map.of()),
                queue("limit: 1, per: 1s, look-ahead: 0 s", 1, 1000, 1, 10_000, Long.MAX_VALUE, 0, Map.of()),
                queue("limit: 1, per: 1s, look-ahead: 0", 1, 1000, 1, 10_000, Long.MAX_VALUE, 0, Map.of()),
                queue("limit: 1, per: 1s, look-ahead: 10s", 1, 1000, 1, 10_000, Long.MAX_VALUE, 10_000, Map.of()),
                queue(
                        "limit: 1, per: 1s, tiers: {a: {}, match: {weight: 10_000}, tiers: {priority: -2147483648},"
                                + " '5 %': {priority: '1_0', weight: '7'}}",
                        1,
                        1000,
                        1,
                        10_000,
                        Long.MAX_VALUE,
                        100,
                        Map.of(
                                "a", new TierShare(0, 1),
                                "match", new TierShare(0, 10_000),
                                "tiers", new TierShare(Integer.MIN_VALUE, 1),
                                "5 %", new TierShare(10, 7))));
    }

    private static Arguments queue(
            String yaml,
            long limit,
            long perMs,
            long burst,
            long capacity,
            long maxWaitMs,
            long lookAheadMs,
            Map<String, TierShare> tiers) {
        return Arguments.of(
                yaml,
                QueueRules.builder("q", limit, perMs)
                        .burst(burst)
                        .capacity(capacity)
                        .maxWaitMs(maxWaitMs)
                        .lookAheadMs(lookAheadMs)
                        .tiers(tiers)
                        .build());
    }

    @Test
    void reads_the_total_of_a_queue() throws FaultsException {
        String start = "limit: 1, per: 1s, key: client, total: {limit: 20, per: 1m";
        assertThat(total(start + "}")).isEqualTo(new QueueTotal(20, 60_000, QueueTotal.DEFAULT_CAPACITY));
        assertThat(total(start + ", capacity: 7}")).isEqualTo(new QueueTotal(20, 60_000, 7));
        assertThat(total("limit: 1, per: 1s, key: client")).isNull();
        assertThat(total(start + ", max-in-flight: 3}"))
                .isEqualTo(new QueueTotal(20, 60_000, QueueTotal.DEFAULT_CAPACITY).withInFlight(3));
    }

    @Test
    void slots_of_the_total_suffice() throws FaultsException {
        String yaml = "key: client, ack-timeout: 1m, total: {max-in-flight: 100}";
        QueueRules alone = queue(yaml);
        assertThat(alone.total()).isEqualTo(QueueTotal.ofInFlight(100, QueueTotal.DEFAULT_CAPACITY));
        assertThat(alone.hasRate()).isFalse();
        assertThat(alone.inFlight().most()).isEqualTo(100);
        assertThat(alone.inFlight().ackTimeoutMs()).isEqualTo(60_000);
        assertThat(alone.maxCost()).isEqualTo(100);
        assertThat(queue(yaml + ", max-in-flight: 2").inFlight().most()).isEqualTo(2);
        assertThat(queue(yaml + ", max-in-flight: 200").inFlight().most()).isEqualTo(100);
    }

    @ParameterizedTest
    @CsvSource({"'', client", "', fair-by: tenant', tenant", "', fair-by: client', client", "', fair-by: 5 %', 5 %"})
    void reads_the_field_by_which_tiers_share(String yaml, String expected) throws FaultsException {
        assertThat(PolicyFile.read("policies.yaml", withQueue("limit: 1, per: 1s" + yaml))
                        .queues()
                        .get(0)
                        .queue()
                        .fairBy())
                .isEqualTo(expected);
    }

    private static QueueTotal total(String yaml) throws FaultsException {
        return queue(yaml).total();
    }

    private static QueueRules queue(String yaml) throws FaultsException {
        return PolicyFile.read("policies.yaml", withQueue(yaml)).queues().get(0).queue();
    }

    @ParameterizedTest
    @MethodSource("queues")
    void reads_every_part_of_a_queue(String yaml, QueueRules expected) throws FaultsException {
        assertThat(PolicyFile.read("policies.yaml", withQueue(yaml)).queues())
                .extracting(Definition.QueueDefinition::queue)
                .containsExactly(expected);
    }

    static Stream<Arguments> faultyQueues() {
        String rate = "limit: 1, per: 1s, ";
        return Stream.of(
                Arguments.of("", "limit: is required|per: is required"),
                Arguments.of("limit: 0, per: 1s", "limit: must be a whole number, 1 or more, is '0'"),
                Arguments.of(
                        "limit: 1.5, per: 1s",
                        "limit: must be a whole number, 1 or more, is '1.5'; write limit: 3, per: 2s"),
                Arguments.of("limit: 1, per: 0s", "per: must be a duration such as 500ms, 10s, 1m, 2h or 1d, is '0s'"),
                Arguments.of(
                        "limit: 1, per: 1 week",
                        "per: '1 week' is a calendar period, which a queue does not support; write 7d"),
                Arguments.of(
                        "limit: 0.5, per: 1s",
                        "limit: must be a whole number, 1 or more, is '0.5'; write limit: 1, per: 2s"),
                Arguments.of(
                        "limit: 2.25, per: 1 day",
                        "limit: must be a whole number, 1 or more, is '2.25'; write limit: 9, per: 4d"),
                Arguments.of(
                        "limit: 0.5",
                        "limit: must be a whole number, 1 or more, is '0.5'; write limit: 1, per: 2 times as long|per: is required"),
                Arguments.of(rate + "timezone: Europe/Berlin", "timezone: unknown key"),
                Arguments.of(rate + "burst: 0", "burst: must be a whole number, 1 or more, is '0'"),
                Arguments.of(rate + "capacity: 0", "capacity: must be a whole number from 1 to 100000000, is '0'"),
                Arguments.of(
                        rate + "capacity: 100000001",
                        "capacity: must be a whole number from 1 to 100000000, is '100000001'"),
                Arguments.of(
                        rate + "max-wait: 0s",
                        "max-wait: must be a duration such as 500ms, 10s, 1m, 2h or 1d, is '0s'"),
                Arguments.of(
                        rate + "max-wait: 30",
                        "max-wait: must be a duration such as 500ms, 10s, 1m, 2h or 1d, is '30'"),
                Arguments.of(
                        rate + "look-ahead: 5",
                        "look-ahead: must be a duration such as 500ms, 10s, 1m, 2h or 1d, is '5'"),
                Arguments.of(
                        rate + "look-ahead: 0 weeks",
                        "look-ahead: must be a duration such as 500ms, 10s, 1m, 2h or 1d, is '0 weeks'"),
                Arguments.of(
                        rate + "look-ahead: -1s",
                        "look-ahead: must be a duration such as 500ms, 10s, 1m, 2h or 1d, is '-1s'"),
                Arguments.of(rate + "tiers: [gold]", "tiers: must be a mapping, is a list"),
                Arguments.of(rate + "tiers: ", "tiers: must be a mapping, is empty"),
                Arguments.of(rate + "tiers: {gold: 4}", "tiers.gold: must be a mapping, is '4'"),
                Arguments.of(rate + "tiers: {gold: }", "tiers.gold: must be a mapping, is empty"),
                Arguments.of(
                        rate + "tiers: {gold: {wheight: 4}}",
                        "tiers.gold.wheight: unknown key; did you mean \"weight\"?"),
                Arguments.of(
                        rate + "tiers: {gold: {weight: 0, priority: high}}",
                        "tiers.gold.weight: must be a whole number from 1 to 10000, is '0'|tiers.gold.priority: must"
                                + " be a whole number from -2147483648 to 2147483647, is 'high'"),
                Arguments.of(
                        rate + "tiers: {'g d': {weight: 10001}}",
                        "tiers['g d'].weight: must be a whole number from 1 to 10000, is '10001'"),
                Arguments.of(
                        rate + "tiers: {"
                                + IntStream.range(0, 1001)
                                        .mapToObj(i -> "t" + i + ": {}")
                                        .collect(Collectors.joining(", "))
                                + "}",
                        "tiers: must have at most 1000 tiers, has 1001"),
                Arguments.of(
                        rate + "total: {limit: 1, per: 1s}",
                        "total: requires key; without it, the bounds of the queue apply to all of it already"),
                Arguments.of(rate + "key: client, total: {limit: 5}", "total.per: is required"),
                Arguments.of(
                        rate + "key: client, total: {limit: 0, per: 31d, capacity: 0, burst: 2}",
                        "total.limit: must be a whole number, 1 or more, is '0'|total.per: must be at"
                                + " most 30d, is '31d'|total.capacity: must be a whole number from 1 to 100000000, is"
                                + " '0'|total.burst: unknown key"),
                Arguments.of(rate + "fair-by: ''", "fair-by: must be the name of a field, is ''"),
                Arguments.of(rate + "fair-by: ", "fair-by: must be a single value, is empty"),
                Arguments.of(rate + "fair-by: [tenant]", "fair-by: must be a single value, is a list"),
                Arguments.of(rate + "fair-by: {tenant: 1}", "fair-by: must be a single value, is a mapping"),
                Arguments.of(rate + "fairby: tenant", "fairby: unknown key; did you mean \"fair-by\"?"),
                Arguments.of(rate + "maxwait: 1s", "maxwait: unknown key; did you mean \"max-wait\"?"),
                Arguments.of("max-in-flight: 0", "max-in-flight: must be a whole number from 1 to 100000, is '0'"),
                Arguments.of(
                        rate + "max-in-flight: ", "max-in-flight: must be a whole number from 1 to 100000, is empty"),
                Arguments.of(rate + "ack-timeout: 1s", "ack-timeout: requires max-in-flight"),
                Arguments.of(
                        rate + "max-duration: 1s, max-attempts: 1, retry-backoff: 1s",
                        "max-duration: requires max-in-flight|max-attempts: requires max-in-flight|"
                                + "retry-backoff: requires max-in-flight"),
                Arguments.of(
                        rate + "max-in-flight-per-client: 1, tiers: {a: {max-in-flight: 1}}",
                        "max-in-flight-per-client: requires max-in-flight|"
                                + "tiers.a.max-in-flight: requires max-in-flight of the queue"),
                Arguments.of(
                        "max-in-flight: 1, max-in-flight-per-client: 2, fair-by: tenant",
                        "max-in-flight-per-client: requires fair-by: client"),
                Arguments.of(
                        "max-in-flight: 1, max-in-flight-per-client: 0, tiers: {a: {max-in-flight: 100001}}",
                        "tiers.a.max-in-flight: must be a whole number from 1 to 100000, is '100001'|"
                                + "max-in-flight-per-client: must be a whole number from 1 to 100000, is '0'"),
                Arguments.of(
                        rate
                                + "tiers: {a: {min-share: 5}, b: {min-share: 0%}, c: {min-share: 101%}, d: {min-share: 5 %}}",
                        "tiers.a.min-share: must be a whole percentage from 1% to 100%, is '5'|"
                                + "tiers.b.min-share: must be a whole percentage from 1% to 100%, is '0%'|"
                                + "tiers.c.min-share: must be a whole percentage from 1% to 100%, is '101%'|"
                                + "tiers.d.min-share: must be a whole percentage from 1% to 100%, is '5 %'"),
                Arguments.of(
                        rate + "key: k, total: {limit: 1, per: 1s}, tiers: {a: {min-share: 5%}}",
                        "tiers: cannot have min-share with total"),
                Arguments.of("limit: 1, max-in-flight: 1", "per: is required"),
                Arguments.of("per: 1s, max-in-flight: 1", "limit: is required"),
                Arguments.of("burst: 2, max-in-flight: 1", "burst: requires limit"),
                Arguments.of(
                        "max-in-flight: 1, max-attempts: 1001, ack-timeout: 0s, retry-backoff: 5",
                        "max-attempts: must be a whole number from 1 to 1000, is '1001'|ack-timeout: must be a"
                                + " duration such as 500ms, 10s, 1m, 2h or 1d, is '0s'|retry-backoff: must be a"
                                + " duration such as 500ms, 10s, 1m, 2h or 1d, is '5'"),
                Arguments.of(
                        rate + "key: k, total: {max-in-flight: 0}",
                        "total.max-in-flight: must be a whole number from 1 to 100000, is '0'"),
                Arguments.of("key: k, total: {max-in-flight: 1, limit: 1}", "total.per: is required"),
                Arguments.of("limit: no, pre: 1s, capacity: 0, look-ahead: soon", """
                        limit: must be a whole number, 1 or more, is 'no'|per: is required|pre: unknown\
                         key; did you mean "per"?|capacity: must be a whole number from 1 to 100000000, is '0'|\
                        look-ahead: must be a duration such as 500ms, 10s, 1m, 2h or 1d, is 'soon'\
                        """));
    }

    @ParameterizedTest
    @MethodSource("faultyQueues")
    void reports_every_fault_of_a_queue(String yaml, String messages) {
        assertThat(faults(withQueue(yaml)))
                .containsExactlyInAnyOrderElementsOf(Stream.of(messages.split("\\|"))
                        .map(message -> "policies.yaml:1: queues[0]." + message)
                        .toList());
    }

    /** Faults that the schema cannot express. */
    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '"',
            value = {
                "limit: 1, per: 31d | per: must be at most 30d, is '31d'",
                "limit: 1, per: 2592000001ms | per: must be at most 30d, is '2592000001ms'",
                "limit: 1, per: 999999999999999999d | per: is too large: '999999999999999999d'",
                "limit: 1, per: 1s, max-wait: 100000000000d | max-wait: is too large: '100000000000d'",
                "limit: 1, per: 1s, look-ahead: 11s | look-ahead: must be at most 10s, is '11s'",
                "max-in-flight: 1, tiers: {a: {min-share: 51%}, b: {min-share: 50%}} | tiers: must have a min-share of at most"
                        + " 100% together, have 101%",
            })
    void reports_values_out_of_a_queues_range(String yaml, String message) {
        assertThat(faults(withQueue(yaml))).containsExactly("policies.yaml:1: queues[0]." + message);
    }

    /** Faults of several keys together, which the schema cannot express. */
    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "max-in-flight: 1, ack-timeout: 9s, max-duration: 8s | max-duration must be at least ack-timeout and at most 30d",
                "max-in-flight: 1, ack-timeout: 31d | ack-timeout must be 1 to 2592000000, is 2678400000",
                "max-in-flight: 1, retry-backoff: 31d | retry-backoff must be 0 to 2592000000, is 2678400000"
            })
    void reports_times_of_attempts_out_of_range(String yaml, String message) {
        assertThat(faults(withQueue(yaml))).containsExactly("policies.yaml:1: queues[0]: " + message);
    }

    @Test
    void a_policy_names_a_queue_that_is_defined() throws FaultsException {
        String policies = "policies:\n- {id: a, queue: smss}\n- {id: b, queue: other}\n- {id: c, queue: sms}\n";
        String queues = "queues: [{id: sms, limit: 1, per: 1s}]";
        String unknown = "policies.yaml:2: policies[0].queue: queue 'smss' is not defined";
        String other = "policies.yaml:3: policies[1].queue: queue 'other' is not defined";

        assertThat(faults(policies + queues)).containsExactly(unknown + "; did you mean \"sms\"?", other);
        assertThat(faults(policies + queues.replace("limit: 1", "limit: 0")))
                .hasSize(3)
                .contains(unknown + "; did you mean \"sms\"?", other);
        assertThat(faults(policies))
                .containsExactly(unknown, other, "policies.yaml:4: policies[2].queue: queue 'sms' is not defined");
        assertThat(faults(policies + "queues: sms"))
                .containsExactly("policies.yaml:5: queues: must be a list, is 'sms'");
        assertThat(PolicyFile.read("f", policies + queues, () -> Set.of("smss", "other", "more"))
                        .policies())
                .hasSize(3);
        assertThatThrownBy(() -> PolicyFile.read("f", policies + queues, () -> Set.of("others", "x")))
                .message()
                .contains("did you mean \"sms\"?", "did you mean \"others\"?");
        String own = policies.lines()
                .filter(line -> !line.contains("a,") && !line.contains("b,"))
                .collect(Collectors.joining("\n", "", "\n"));
        assertThat(PolicyFile.read("f", own + queues, () -> {
                            throw new AssertionError("must not be called");
                        })
                        .queues())
                .hasSize(1);
    }

    static String withQueue(String yaml) {
        return "queues: [{id: q, " + yaml + "}]";
    }
}
