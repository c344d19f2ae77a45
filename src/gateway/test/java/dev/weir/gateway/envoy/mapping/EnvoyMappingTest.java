package dev.weir.gateway.envoy.mapping;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.weir.client.Fallback;
import dev.weir.event.LimitOverride;
import dev.weir.event.Request;
import dev.weir.event.RequestKind;
import dev.weir.gateway.envoy.SectionText;
import dev.weir.policy.RequestRules;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Tests how calls become requests. Descriptors are written as {@code key=value} pairs, with commas between them. */
class EnvoyMappingTest {

    private static final RequestRules RULES = new RequestRules(1, 64, 1024, 1_000_000_000_000L);

    private static List<DescriptorEntry> entries(String text) {
        List<DescriptorEntry> entries = new ArrayList<>();
        for (String pair : text.split(",")) {
            int equals = pair.indexOf('=');
            entries.add(new DescriptorEntry(pair.substring(0, equals), pair.substring(equals + 1)));
        }
        return entries;
    }

    private static CallDescriptor descriptor(String text) {
        return new CallDescriptor(entries(text), 1, false);
    }

    private static RateLimitCall call(CallDescriptor... descriptors) {
        return new RateLimitCall("edge", List.of(descriptors));
    }

    private static List<Request> map(EnvoyMapping mapping, RateLimitCall call) throws BadCallException {
        AtomicInteger ids = new AtomicInteger();
        Supplier<String> next = () -> "id" + ids.incrementAndGet();
        return mapping.map(call, next).stream().map(MappedRequest::request).toList();
    }

    private static Request mapOne(EnvoyMapping mapping, CallDescriptor descriptor) throws BadCallException {
        return map(mapping, call(descriptor)).get(0);
    }

    private static EnvoyMapping section(String yaml) throws Exception {
        return SectionText.read(yaml).mapping();
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', nullValues = "-", textBlock = """
            # descriptor                              | client            | tier | attributes
            remote_address=10.0.0.7                   | 10.0.0.7          | -    | domain=edge,remote_address=10.0.0.7
            path=/a,remote_address=10.0.0.7           | 10.0.0.7          | -    | domain=edge,path=/a,remote_address=10.0.0.7
            # an IPv6 address is counted by its range
            remote_address=2001:db8:0:1::5            | 2001:db8:0:1::/64 | -    | domain=edge,remote_address=2001:db8:0:1::/64
            remote_address=[2001:db8:0:1::5]:443      | 2001:db8:0:1::/64 | -    | domain=edge,remote_address=2001:db8:0:1::/64
            remote_address=a:b                        | a:b               | -    | domain=edge,remote_address=a:b
            user_id=2001:db8:0:1::5                   | 2001:db8:0:1::5   | -    | domain=edge,user_id=2001:db8:0:1::5
            # client goes before user_id, api_key and remote_address, wherever they are
            remote_address=a,api_key=b,user_id=c,client=d | d             | -    | domain=edge,remote_address=a,api_key=b,user_id=c,client=d
            remote_address=a,api_key=b,user_id=c      | c                 | -    | domain=edge,remote_address=a,api_key=b,user_id=c
            remote_address=a,api_key=b                | b                 | -    | domain=edge,remote_address=a,api_key=b
            # an empty value is no client
            api_key=,remote_address=a                 | a                 | -    | domain=edge,api_key=,remote_address=a
            # without a client, the descriptor is the client
            generic_key=slow                          | generic_key=slow  | -    | domain=edge,generic_key=slow
            a=1,b=2                                   | a=1,b=2           | -    | domain=edge,a=1,b=2
            api_key=                                  | api_key=          | -    | domain=edge,api_key=
            tier=gold,user_id=c                       | c                 | gold | domain=edge,tier=gold,user_id=c
            tier=,user_id=c                           | c                 | -    | domain=edge,tier=,user_id=c
            # keys that occur again
            a=1,a=2,a=3                               | a=1,a=2,a=3       | -    | domain=edge,a=1,a.2=2,a.3=3
            a=1,a=1                                   | a=1,a=1           | -    | domain=edge,a=1
            domain=x                                  | domain=x          | -    | domain=edge,domain.2=x
            keys=x                                    | keys=x            | -    | domain=edge,keys.2=x
            """)
    void without_configuration_entries_are_attributes_and_well_known_keys_the_client(
            String text, String client, String tier, String attributes) throws Exception {
        Request request = mapOne(EnvoyMapping.DEFAULTS, descriptor(text));
        assertThat(request.client()).isEqualTo(client);
        assertThat(request.tier()).isEqualTo(tier);
        Map<String, String> expected = new HashMap<>();
        entries(attributes).forEach(entry -> expected.put(entry.key(), entry.value()));
        expected.put("keys", entries(text).stream().map(DescriptorEntry::key).collect(Collectors.joining(",")));
        assertThat(request.attributes()).isEqualTo(expected);
        assertThat(request.requestId()).isEqualTo("id1");
    }

    @Test
    void different_descriptors_without_client_are_different_clients() throws Exception {
        CallDescriptor comma = new CallDescriptor(List.of(new DescriptorEntry("a", "1,b=2")), 1, false);
        CallDescriptor backslash = new CallDescriptor(List.of(new DescriptorEntry("a", "1\\,b\\=2")), 1, false);
        assertThat(Set.of(
                        mapOne(EnvoyMapping.DEFAULTS, comma).client(),
                        mapOne(EnvoyMapping.DEFAULTS, backslash).client(),
                        mapOne(EnvoyMapping.DEFAULTS, descriptor("a=1,b=2")).client()))
                .hasSize(3);
    }

    @ParameterizedTest
    @CsvSource({
        // hits, refund, always, kind, cost
        "1, false, false, CONSUME, 1",
        "7, false, false, CONSUME, 7",
        "0, false, false, PEEK, 1",
        "7, true, false, SETTLE, -7",
        "0, true, false, PEEK, 1",
        "7, false, true, SETTLE, 7",
        "0, false, true, PEEK, 1",
        "7, true, true, SETTLE, -7",
        "9223372036854775807, true, false, SETTLE, -9223372036854775807"
    })
    void hits_are_the_cost(long hits, boolean isRefund, boolean always, RequestKind kind, long cost) throws Exception {
        EnvoyMapping mapping = section("charge: " + (always ? "always" : "if-allowed"));
        Request request = mapOne(mapping, new CallDescriptor(entries("a=1"), hits, isRefund));
        assertThat(request.kind()).isEqualTo(kind);
        assertThat(request.cost()).isEqualTo(cost);
    }

    @Test
    void the_first_rule_that_matches_maps_a_descriptor() throws Exception {
        EnvoyMapping mapping = section("""
                timeout: 20ms
                client: user_id
                rules:
                  - match: {path: "/pay/**"}
                    on-timeout: deny
                  - match: {domain: [other, edge], api_key: ["test-*", beta]}
                    client: [org, api_key]
                    tier: plan
                    attributes: {endpoint: path, absent: nothing}
                    keys-attribute: all
                    timeout: 30ms
                  - match: {domain: "**"}
                    quota: true
                    keys-attribute: none
                """);
        MappedRequest pay = mapping.map(call(descriptor("path=/pay/1,user_id=u,api_key=beta")), () -> "x")
                .get(0);
        assertThat(pay.mapping().fallback()).isEqualTo(Fallback.FAIL_CLOSED);
        assertThat(pay.mapping().timeout()).isEqualTo(Duration.ofMillis(20));
        assertThat(pay.request().client()).isEqualTo("u");
        MappedRequest key = mapping.map(call(descriptor("path=/a,user_id=u,api_key=test-1,plan=pro")), () -> "x")
                .get(0);
        assertThat(key.mapping().fallback()).isEqualTo(Fallback.FAIL_OPEN);
        assertThat(key.mapping().timeout()).isEqualTo(Duration.ofMillis(30));
        assertThat(key.request().client()).isEqualTo("test-1");
        assertThat(key.request().tier()).isEqualTo("pro");
        assertThat(key.request().attributes())
                .isEqualTo(Map.of("domain", "edge", "endpoint", "/a", "all", "path,user_id,api_key,plan"));
        MappedRequest other =
                mapping.map(call(descriptor("path=/a,api_key=live")), () -> "x").get(0);
        assertThat(other.mapping().isQuota()).isTrue();
        assertThat(other.mapping().keys().keysAttribute()).isEmpty();
    }

    @Test
    void each_descriptor_is_a_request_by_default() throws Exception {
        List<Request> requests = map(
                EnvoyMapping.DEFAULTS,
                call(
                        descriptor("path=/a"),
                        new CallDescriptor(entries("user_id=u"), 3, false),
                        new CallDescriptor(entries("user_id=v"), 0, false)));
        assertThat(requests).extracting(Request::client).containsExactly("path=/a", "u", "v");
        assertThat(requests).extracting(Request::cost).containsExactly(1L, 3L, 1L);
        assertThat(requests)
                .extracting(Request::kind)
                .containsExactly(RequestKind.CONSUME, RequestKind.CONSUME, RequestKind.PEEK);
        assertThat(requests).extracting(Request::requestId).containsExactly("id1", "id2", "id3");
    }

    @Test
    void a_merged_call_is_one_request_with_all_entries() throws Exception {
        EnvoyMapping merged = section("merge: true");
        List<Request> requests = map(merged, call(descriptor("path=/a,user_id=u"), descriptor("user_id=u,org=o")));
        assertThat(requests).hasSize(1);
        assertThat(requests.get(0).client()).isEqualTo("u");
        assertThat(requests.get(0).attributes())
                .isEqualTo(
                        Map.of("domain", "edge", "path", "/a", "user_id", "u", "org", "o", "keys", "path,user_id,org"));
        assertThat(merged.map(call(descriptor("a=1"), descriptor("b=2"), descriptor("c=3")), () -> "x"))
                .extracting(MappedRequest::size)
                .containsExactly(3);
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
            2 | false | descriptors[1] has 2 hits and descriptors[0] 1 hits; with merge: true, all descriptors must have the same hits
            1 | true  | descriptors[1] has -1 hits and descriptors[0] 1 hits; with merge: true, all descriptors must have the same hits
            0 | false | descriptors[1] has 0 hits and descriptors[0] 1 hits; with merge: true, all descriptors must have the same hits
            """)
    void a_merged_call_must_have_equal_hits(long hits, boolean isRefund, String message) throws Exception {
        EnvoyMapping merged = section("merge: true");
        RateLimitCall call = call(descriptor("a=1"), new CallDescriptor(entries("b=1"), hits, isRefund));
        assertThatThrownBy(() -> map(merged, call))
                .isInstanceOf(BadCallException.class)
                .hasMessage(message);
    }

    @Test
    void a_limit_of_a_descriptor_is_the_override_of_its_request() throws Exception {
        CallDescriptor limited =
                new CallDescriptor(entries("a=1"), 1, false, Optional.of(new CallLimit(7, Duration.ofMinutes(1))));
        List<Request> requests = map(EnvoyMapping.DEFAULTS, call(limited, descriptor("b=1")));
        assertThat(requests).extracting(Request::limitOverride).containsExactly(new LimitOverride(7, 60_000), null);
        EnvoyMapping merged = section("merge: true");
        assertThat(map(merged, call(descriptor("b=1"), limited, descriptor("c=1"))))
                .extracting(Request::limitOverride)
                .containsExactly(new LimitOverride(7, 60_000));
        CallDescriptor other =
                new CallDescriptor(entries("b=1"), 1, false, Optional.of(new CallLimit(8, Duration.ofMinutes(1))));
        assertThatThrownBy(() -> map(merged, call(limited, other)))
                .isInstanceOf(BadCallException.class)
                .hasMessage(
                        "descriptors[1].limit differs from that of an earlier descriptor; with merge: true, there can"
                                + " be one");
    }

    @Test
    void an_entry_can_be_the_idempotency_key() throws Exception {
        EnvoyMapping mapping = section("request-id: [x-request-id]");
        List<Request> requests =
                map(mapping, call(descriptor("user_id=u,x-request-id=r7"), descriptor("path=/a"), descriptor("b=1")));
        assertThat(requests).extracting(Request::requestId).containsExactly("r7", "r7/1", "r7/2");
        assertThat(requests.get(0).attributes())
                .isEqualTo(Map.of("domain", "edge", "user_id", "u", "keys", "user_id,x-request-id"));
        assertThat(mapOne(mapping, descriptor("user_id=u")).requestId()).isEqualTo("id1");
    }

    @Test
    void values_that_are_too_long_are_shortened_and_stay_different() throws Exception {
        String one = "/" + "a".repeat(5_000) + "1";
        String two = "/" + "a".repeat(5_000) + "2";
        Request first = mapOne(EnvoyMapping.DEFAULTS, descriptor("api_key=" + one));
        Request second = mapOne(EnvoyMapping.DEFAULTS, descriptor("api_key=" + two));
        assertThat(first.client()).hasSize(256).startsWith("/aaa").matches(".*a~[0-9a-f]{32}");
        assertThat(first.client()).isNotEqualTo(second.client());
        assertThat(first.attributes().get("api_key")).hasSize(1024).startsWith("/aaa");
        assertThat(mapOne(EnvoyMapping.DEFAULTS, descriptor("api_key=" + one)).client())
                .isEqualTo(first.client());
        assertThat(ShortenedText.of("ä".repeat(64), 64)).isEqualTo("ä".repeat(64));
        assertThat(ShortenedText.of("😀".repeat(65), 64)).startsWith("😀".repeat(31) + "~");
    }

    /** Law: whatever the entries, the requests are valid, in order, and as many as there are descriptors. */
    @Test
    void every_call_becomes_valid_requests() throws Exception {
        Random random = new Random(7);
        String[] keys = {"client", "user_id", "tier", "domain", "a", "b", "x".repeat(2000), "é\u0000\uFFFD"};
        String[] values = {"", "1", "/a/b", "v".repeat(3000), "\u0000", "😀".repeat(1500), "a,b=c\\"};
        EnvoyMapping merging = section("{merge: true, request-id: a, keys-attribute: k}");
        for (int round = 0; round < 500; round++) {
            List<CallDescriptor> descriptors = new ArrayList<>();
            long hits = random.nextInt(3);
            int size = 1 + random.nextInt(4);
            for (int i = 0; i < size; i++) {
                List<DescriptorEntry> entries = new ArrayList<>();
                for (int j = 0; j <= random.nextInt(6); j++) {
                    entries.add(new DescriptorEntry(
                            keys[random.nextInt(keys.length)], values[random.nextInt(values.length)]));
                }
                descriptors.add(new CallDescriptor(entries, hits, hits > 1));
            }
            int maxLength = List.of(60, 100, 1024).get(random.nextInt(3)); // of requests.max-attribute-length
            RequestRules bounds =
                    new RequestRules(RULES.maxPayloadBytes(), RULES.maxAttributes(), maxLength, RULES.maxCost());
            for (EnvoyMapping any : List.of(EnvoyMapping.DEFAULTS, merging)) {
                EnvoyMapping mapping =
                        new EnvoyMapping(any.rules(), any.otherwise(), any.isMerged(), new EntryTexts(maxLength, 64));
                RateLimitCall call = new RateLimitCall("d".repeat(1 + random.nextInt(2000)), descriptors);
                List<MappedRequest> mapped = mapping.map(call, () -> "id");
                int covered = 0;
                Set<Map<String, String>> attributes = new HashSet<>();
                for (MappedRequest one : mapped) {
                    assertThat(bounds.check(one.request())).isEqualTo(Optional.empty());
                    assertThat(one.first()).isEqualTo(covered);
                    covered += one.size();
                    attributes.add(one.request().attributes());
                }
                assertThat(covered).isEqualTo(size);
                assertThat(attributes).allMatch(each -> each.containsKey("domain"));
            }
        }
    }
}
