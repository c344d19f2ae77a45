package dev.weir.gateway.envoy;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.google.protobuf.Descriptors.Descriptor;
import com.google.protobuf.Descriptors.FieldDescriptor;
import com.google.protobuf.UInt64Value;
import dev.weir.client.WeirClient;
import dev.weir.client.decision.ClientDecision;
import dev.weir.config.WeirConfig;
import dev.weir.definition.PolicyFile;
import dev.weir.dev.EmbeddedBroker;
import dev.weir.gateway.envoy.proto.RateLimitDescriptor;
import dev.weir.gateway.envoy.proto.RateLimitRequest;
import dev.weir.gateway.envoy.proto.RateLimitResponse;
import dev.weir.gateway.envoy.proto.RateLimitResponse.Code;
import dev.weir.gateway.envoy.proto.RateLimitResponse.DescriptorStatus;
import dev.weir.gateway.envoy.proto.RateLimitServiceGrpc;
import dev.weir.kafka.KafkaSettings;
import dev.weir.rules.PolicyTopic;
import dev.weir.runtime.Enforcer;
import dev.weir.server.decide.RequestDecider;
import dev.weir.topics.TopicSetup;
import io.grpc.ManagedChannel;
import java.io.IOException;
import java.net.InetAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.apache.kafka.clients.admin.Admin;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Calls servers whose decisions are those of an enforcer on a real broker. */
@Tag("full")
class EnvoyLiveTest {

    private static final Duration PATIENCE = Duration.ofMinutes(5);
    private static final String PYTHON = "/usr/bin/python3";
    private static final Path CLIENT = Path.of("src/gateway/test/python/rate_limit_client.py");
    private static final Path REFERENCE = Path.of("topology-docs/reference/gateway.md");

    private static final String POLICIES = """
            policies:
              - id: per-address
                match: {domain: edge, remote_address: "**"}
                limits: [{algorithm: sliding-window-log, limit: 3, per: 1h}]
              - id: tokens
                match: {domain: ai, user_id: "**"}
                limits: [{algorithm: sliding-window-log, limit: 100, per: 1h}]
              - id: nested
                match: {domain: messaging, kind: marketing, number: "**"}
                limits: [{algorithm: fixed-window, limit: 5, per: 1d}]
              - id: wildcard
                match: {domain: messaging, path: "/search/*"}
                limits: [{algorithm: gcra, limit: 5, per: 1m}]
              - {id: soft, match: {domain: shadow}, on-exceed: observe, limits: [
                  {algorithm: sliding-window-log, limit: 1, per: 1h}]}
              - id: per-plan
                match: {domain: plan}
                allow-override: true
                limits: [{algorithm: fixed-window, limit: 10, per: 30d}]
              - {id: free, match: {domain: internal}, limits: [{unlimited: true}]}
              - id: per-org
                layer: org
                match: {domain: pair, org: "**"}
                limits: [{algorithm: sliding-window-log, limit: 2, per: 1h}]
              - id: per-user
                layer: user
                match: {domain: pair, user_id: "**"}
                limits: [{algorithm: sliding-window-log, limit: 5, per: 1h}]
              - id: shared
                match: {domain: shared}
                key: domain
                lease: client
                max-wait: 10s
                limits: [{algorithm: sliding-window-log, limit: 4, per: 1h}]
            """;

    @TempDir
    static Path directory;

    private static EmbeddedBroker broker;
    private static Enforcer enforcer;
    private static WeirClient weir;
    private static RequestDecider decider;

    @BeforeAll
    static void start() throws Exception {
        broker = EmbeddedBroker.start();
        WeirConfig config = WeirConfig.builder()
                .applicationId("envoy")
                .threads(1)
                .topics("envoy.", 2)
                .kafka(Map.of("bootstrap.servers", broker.bootstrapServers()))
                .stateDirectory(directory.resolve("state"))
                .build();
        try (Admin admin = Admin.create(KafkaSettings.admin(config))) {
            TopicSetup.createMissing(admin, config, TopicSetup.RequestTime.LOG_APPEND);
        }
        new PolicyTopic(config).apply(PolicyFile.read("policies.yaml", POLICIES), PolicyTopic.Options.DEFAULTS, 0);
        enforcer = Enforcer.start(config);
        enforcer.awaitRunning(PATIENCE);
        weir = WeirClient.builder(config.kafka())
                .prefix("envoy.")
                .applicationId("envoy")
                .leased(true)
                .timeout(PATIENCE)
                .noCircuit()
                .start();
        decider = (request, timeout, fallback) ->
                request.attributes().get("domain").equals("away")
                        ? new CompletableFuture<ClientDecision>()
                        : weir.decide(request, timeout, fallback);
    }

    @AfterAll
    static void stop() throws Exception {
        weir.close();
        enforcer.close();
        broker.close();
    }

    private static EnvoyServer serve(String section) throws Exception {
        EnvoyConfig config = SectionText.read(section);
        return EnvoyServer.start(
                config,
                LoopbackEndpoint.of(config, InetAddress::isLoopbackAddress, LoopbackEndpoint.TIMEOUT, nanos -> {}),
                decider);
    }

    private static RateLimitDescriptor descriptor(int hits, boolean isRefund, String... pairs) {
        RateLimitDescriptor.Builder descriptor = RateLimitDescriptor.newBuilder()
                .setHitsAddend(UInt64Value.of(hits))
                .setIsNegativeHits(isRefund);
        for (int i = 0; i < pairs.length; i += 2) {
            descriptor.addEntries(
                    RateLimitDescriptor.Entry.newBuilder().setKey(pairs[i]).setValue(pairs[i + 1]));
        }
        return descriptor.build();
    }

    private static RateLimitResponse ask(EnvoyServer server, String domain, RateLimitDescriptor... descriptors)
            throws InterruptedException {
        ManagedChannel channel = EnvoyCalls.channel(server.port());
        try {
            return RateLimitServiceGrpc.newBlockingStub(channel)
                    .shouldRateLimit(RateLimitRequest.newBuilder()
                            .setDomain(domain)
                            .addAllDescriptors(List.of(descriptors))
                            .build());
        } finally {
            channel.shutdownNow().awaitTermination(5, TimeUnit.SECONDS);
        }
    }

    private static List<Integer> remaining(RateLimitResponse response) {
        return response.getStatusesList().stream()
                .map(DescriptorStatus::getLimitRemaining)
                .toList();
    }

    @Test
    void descriptors_are_charged_on_their_own_unless_the_call_is_merged() throws Exception {
        RateLimitDescriptor org = descriptor(1, false, "org", "o1", "user_id", "o1");
        RateLimitDescriptor twice = descriptor(2, false, "org", "o1", "user_id", "o1");
        RateLimitDescriptor other = descriptor(1, false, "user_id", "u1");
        try (EnvoyServer server = serve("{timeout: 10s, client: [org, user_id]}")) {
            assertThat(remaining(ask(server, "pair", org, other))).containsExactly(1, 4);
            RateLimitResponse denied = ask(server, "pair", twice, other);
            assertThat(denied.getOverallCode()).isEqualTo(Code.OVER_LIMIT);
            assertThat(remaining(denied)).containsExactly(1, 3);
        }
        try (EnvoyServer server = serve("{timeout: 10s, client: user_id, merge: true}")) {
            RateLimitDescriptor orgOnly = descriptor(2, false, "org", "o2");
            RateLimitDescriptor user = descriptor(2, false, "user_id", "u2");
            RateLimitResponse first = ask(server, "pair", orgOnly, user);
            assertThat(first.getOverallCode()).isEqualTo(Code.OK);
            assertThat(first.getStatuses(0)).isEqualTo(first.getStatuses(1));
            assertThat(first.getStatuses(0).getCurrentLimit().getName()).isEqualTo("per-org");
            assertThat(ask(server, "pair", orgOnly, user).getOverallCode()).isEqualTo(Code.OVER_LIMIT);
            // The denied call charged no limit: 3 of the user's 5 are left.
            RateLimitDescriptor peek = descriptor(0, false, "user_id", "u2");
            assertThat(remaining(ask(server, "pair", peek))).containsExactly(3);
        }
    }

    @Test
    void refunds_give_back_and_hits_that_are_always_charged_can_exceed_the_limit() throws Exception {
        try (EnvoyServer server = serve("timeout: 10s")) {
            RateLimitDescriptor three = descriptor(3, false, "remote_address", "10.9.0.1");
            assertThat(ask(server, "edge", three).getOverallCode()).isEqualTo(Code.OK);
            assertThat(remaining(ask(server, "edge", descriptor(2, true, "remote_address", "10.9.0.1"))))
                    .containsExactly(2);
            assertThat(ask(server, "edge", three).getOverallCode()).isEqualTo(Code.OVER_LIMIT);
        }
        try (EnvoyServer server = serve("{timeout: 10s, charge: always}")) {
            RateLimitDescriptor peek = descriptor(0, false, "user_id", "late");
            assertThat(ask(server, "ai", peek).getOverallCode()).isEqualTo(Code.OK);
            assertThat(ask(server, "ai", descriptor(150, false, "user_id", "late"))
                            .getOverallCode())
                    .isEqualTo(Code.OK);
            assertThat(ask(server, "ai", peek).getOverallCode()).isEqualTo(Code.OVER_LIMIT);
        }
    }

    @Test
    void shared_limits_are_exact_and_reject_refunds_without_rejecting_the_call() throws Exception {
        try (EnvoyServer server = serve("{timeout: 10s, on-timeout: error}")) {
            int allowed = 0;
            for (int i = 0; i < 8; i++) {
                RateLimitResponse response = ask(server, "shared", descriptor(1, false, "user_id", "s" + i));
                allowed += response.getOverallCode() == Code.OK ? 1 : 0;
            }
            assertThat(allowed).isEqualTo(4);
            RateLimitResponse refund = ask(server, "shared", descriptor(1, true, "user_id", "s0"));
            assertThat(refund.getOverallCode()).isEqualTo(Code.OK);
            assertThat(refund.getDynamicMetadata().getFieldsOrThrow("reason").getStringValue())
                    .isEqualTo("SHARED_LIMIT_REFUND");
        }
    }

    /** The fields that Weir does not have are only in the client's proto. */
    @Test
    void a_client_in_another_language_drives_every_field() throws Exception {
        assumeTrue(hasPython(), "Python is not tested: install Debian's python3-grpcio and python3-grpc-tools");
        try (EnvoyServer server = serve("""
                timeout: 10s
                over-limit-body: slow down
                rules: [{match: {domain: away}, timeout: 20ms}]
                """)) {
            Path output = directory.resolve("python.txt");
            boolean succeeded = run(output, PYTHON, CLIENT.toString(), "" + server.port(), directory.toString());
            String text = Files.readString(output);
            assertThat(succeeded).as(text).isTrue();
            Set<String> driven = new TreeSet<>();
            text.lines().filter(line -> line.startsWith("field ")).forEach(line -> driven.add(line.substring(6)));
            Set<String> expected = fields();
            expected.addAll(List.of("quota", "statuses[].quota"));
            assertThat(driven).isEqualTo(expected);
        }
    }

    @Test
    void the_reference_describes_every_field() throws Exception {
        Set<String> expected = fields();
        expected.addAll(List.of("quota", "statuses[].quota"));
        String page = Files.readString(REFERENCE);
        String tables = page.substring(page.indexOf("### Fields of a request"), page.indexOf("### Outcomes"));
        Set<String> described = Pattern.compile("(?m)^\\| `([a-z_.\\[\\]]+)` \\|")
                .matcher(tables)
                .results()
                .map(row -> row.group(1))
                .collect(Collectors.toSet());
        assertThat(described).isEqualTo(expected);
    }

    /** Returns the paths of all fields. Those of well-known types and of headers are values. */
    private static Set<String> fields() {
        Set<String> paths = new TreeSet<>();
        addFields(paths, "", RateLimitRequest.getDescriptor());
        addFields(paths, "", RateLimitResponse.getDescriptor());
        return paths;
    }

    private static void addFields(Set<String> paths, String prefix, Descriptor message) {
        for (FieldDescriptor field : message.getFields()) {
            String path = prefix + field.getName();
            paths.add(path);
            boolean isMessage = field.getJavaType() == FieldDescriptor.JavaType.MESSAGE;
            if (isMessage
                    && !field.getMessageType().getFullName().startsWith("google.")
                    && !field.getMessageType().getName().equals("HeaderValue")) {
                addFields(paths, path + (field.isRepeated() ? "[]." : "."), field.getMessageType());
            }
        }
    }

    private static boolean hasPython() throws IOException, InterruptedException {
        return Files.isExecutable(Path.of(PYTHON))
                && run(directory.resolve("import.txt"), PYTHON, "-c", "import grpc, grpc_tools");
    }

    private static boolean run(Path output, String... command) throws IOException, InterruptedException {
        ProcessBuilder builder =
                new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(output.toFile());
        Process process = builder.start();
        boolean ended = process.waitFor(PATIENCE.toSeconds(), TimeUnit.SECONDS);
        if (!ended) {
            process.destroyForcibly();
        }
        return ended && process.exitValue() == 0;
    }
}
