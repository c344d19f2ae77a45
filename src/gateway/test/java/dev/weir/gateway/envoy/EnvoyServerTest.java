package dev.weir.gateway.envoy;

import static dev.weir.gateway.envoy.EnvoyCalls.descriptor;
import static dev.weir.gateway.envoy.EnvoyCalls.request;
import static dev.weir.testing.Await.await;
import static java.util.concurrent.CompletableFuture.completedFuture;
import static java.util.concurrent.CompletableFuture.failedFuture;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.google.common.util.concurrent.ListenableFuture;
import com.google.protobuf.ByteString;
import com.google.protobuf.UInt64Value;
import com.google.protobuf.UnknownFieldSet;
import dev.weir.client.Fallback;
import dev.weir.client.decision.ClientDecision;
import dev.weir.event.Decision;
import dev.weir.event.LimitOverride;
import dev.weir.event.PolicyVersion;
import dev.weir.event.Reason;
import dev.weir.event.Request;
import dev.weir.gateway.envoy.proto.HeaderValue;
import dev.weir.gateway.envoy.proto.RateLimitDescriptor;
import dev.weir.gateway.envoy.proto.RateLimitRequest;
import dev.weir.gateway.envoy.proto.RateLimitResponse;
import dev.weir.gateway.envoy.proto.RateLimitResponse.Code;
import dev.weir.gateway.envoy.proto.RateLimitServiceGrpc;
import dev.weir.gateway.envoy.proto.RateLimitUnit;
import dev.weir.testing.SampleDecisions;
import dev.weir.testing.TestCertificate;
import io.grpc.CallOptions;
import io.grpc.ClientCall;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.TlsChannelCredentials;
import io.grpc.health.v1.HealthCheckRequest;
import io.grpc.health.v1.HealthCheckResponse.ServingStatus;
import io.grpc.health.v1.HealthGrpc;
import io.grpc.netty.shaded.io.grpc.netty.NettyChannelBuilder;
import io.grpc.stub.ClientCalls;
import java.io.ByteArrayInputStream;
import java.io.InputStream;
import java.net.InetAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Calls a server over the network. The decisions are made up. */
class EnvoyServerTest {

    private static final Duration PATIENCE = Duration.ofSeconds(20);
    private static final ClientDecision ALLOWED =
            SampleDecisions.of(SampleDecisions.allowed("p", SampleDecisions.tenAMinute(7)));

    @TempDir
    static Path directory;

    private final FakeDecider decider = new FakeDecider(request -> completedFuture(ALLOWED));
    private final List<AutoCloseable> opened = new ArrayList<>();
    private final List<Long> durations = new CopyOnWriteArrayList<>();
    private EnvoyServer server;
    private ManagedChannel channel;

    @AfterEach
    void close() throws Exception {
        for (AutoCloseable each : opened) {
            each.close();
        }
    }

    private RateLimitServiceGrpc.RateLimitServiceBlockingStub start(EnvoyConfig config) throws Exception {
        return start(config, InetAddress::isLoopbackAddress);
    }

    private RateLimitServiceGrpc.RateLimitServiceBlockingStub start(EnvoyConfig config, Predicate<InetAddress> callers)
            throws Exception {
        server = EnvoyServer.start(
                config, LoopbackEndpoint.of(config, callers, LoopbackEndpoint.TIMEOUT, durations::add), decider);
        channel = connect();
        opened.add(server);
        return RateLimitServiceGrpc.newBlockingStub(channel);
    }

    private ManagedChannel connect() {
        ManagedChannel connected = EnvoyCalls.channel(server.port());
        opened.add(0, connected::shutdownNow);
        return connected;
    }

    private static EnvoyConfig config(String section) throws Exception {
        return SectionText.read(section);
    }

    private static Status failure(Runnable call) {
        try {
            call.run();
        } catch (StatusRuntimeException e) {
            return e.getStatus();
        }
        throw new AssertionError("the call succeeded");
    }

    @Test
    void a_call_is_decided() throws Exception {
        RateLimitResponse response = start(EnvoyConfig.DEFAULTS).shouldRateLimit(request(descriptor("user_id", "u")));
        assertThat(response.getOverallCode()).isEqualTo(Code.OK);
        assertThat(response.getStatuses(0).getLimitRemaining()).isEqualTo(7);
        assertThat(decider.calls()).hasSize(1);
        assertThat(decider.calls().get(0).request().client()).isEqualTo("u");
        assertThat(decider.calls().get(0).fallback()).isEqualTo(Fallback.FAIL_OPEN);
        assertThat(decider.calls().get(0).timeout()).isLessThanOrEqualTo(Duration.ofMillis(475));
        await("the call has ended", PATIENCE, () -> server.stats().inProgress() == 0);
        assertThat(server.stats())
                .isEqualTo(
                        new EnvoyStats(1, 0, new EnvoyStats.Undecided(0, 0), new EnvoyStats.Errors(0, 0, 0, 0, 0), 0));
        assertThat(durations).hasSize(1).allMatch(nanos -> nanos > 0);
    }

    @ParameterizedTest
    @CsvSource({
        // hits of the call, hits of the descriptor, refund: kind, cost
        "0, -, false, CONSUME, 1",
        "4, -, false, CONSUME, 4",
        "-1, -, false, CONSUME, 4294967295",
        "4, 0, false, PEEK, 1",
        "4, 9, false, CONSUME, 9",
        "0, 9, true, SETTLE, -9",
        "3, -, true, SETTLE, -3"
    })
    void hits_of_the_descriptor_replace_those_of_the_call(
            int ofCall, String ofDescriptor, boolean isRefund, String kind, long cost) throws Exception {
        RateLimitDescriptor.Builder one = descriptor("a", "1").toBuilder().setIsNegativeHits(isRefund);
        if (!ofDescriptor.equals("-")) {
            one.setHitsAddend(UInt64Value.of(Long.parseLong(ofDescriptor)));
        }
        RateLimitRequest call =
                request(one.build()).toBuilder().setHitsAddend(ofCall).build();
        assertThat(start(EnvoyConfig.DEFAULTS).shouldRateLimit(call).getOverallCode())
                .isEqualTo(Code.OK);
        Request request = decider.calls().get(0).request();
        assertThat(request.kind()).hasToString(kind);
        assertThat(request.cost()).isEqualTo(cost);
    }

    @Test
    void a_limit_of_a_descriptor_is_passed_on() throws Exception {
        RateLimitDescriptor limited = descriptor("a", "1").toBuilder()
                .setLimit(RateLimitDescriptor.RateLimitOverride.newBuilder()
                        .setRequestsPerUnit(-1)
                        .setUnit(RateLimitUnit.HOUR))
                .build();
        start(EnvoyConfig.DEFAULTS).shouldRateLimit(request(limited));
        assertThat(decider.calls().get(0).request().limitOverride())
                .isEqualTo(new LimitOverride(4_294_967_295L, 3_600_000));
    }

    @ParameterizedTest
    @EnumSource(Fallback.class)
    void without_a_decision_the_fallback_answers_at_the_timeout(Fallback fallback) throws Exception {
        String word =
                switch (fallback) {
                    case FAIL_OPEN -> "allow";
                    case FAIL_CLOSED -> "deny";
                    case FAIL -> "error";
                };
        decider.become(request -> new CompletableFuture<>());
        var stub = start(config("{timeout: 30ms, on-timeout: " + word + "}"));
        if (fallback == Fallback.FAIL) {
            Status status = failure(() -> stub.shouldRateLimit(request(descriptor("a", "1"))));
            assertThat(status.getCode()).isEqualTo(Status.Code.UNAVAILABLE);
            assertThat(status.getDescription()).isEqualTo("descriptors[0]: no decision, TIMED_OUT");
        } else {
            RateLimitResponse response = stub.shouldRateLimit(request(descriptor("a", "1")));
            assertThat(response.getOverallCode()).isEqualTo(fallback == Fallback.FAIL_OPEN ? Code.OK : Code.OVER_LIMIT);
            assertThat(response.getResponseHeadersToAddList())
                    .containsExactly(HeaderValue.newBuilder()
                            .setKey("x-weir-fallback")
                            .setValue("TIMED_OUT")
                            .build());
            assertThat(server.stats().undecided().fallbacks()).isEqualTo(1);
        }
        assertThat(decider.calls().get(0).answer()).isCancelled();
    }

    @Test
    void the_deadline_of_the_call_shortens_the_timeout() throws Exception {
        decider.become(request -> new CompletableFuture<>());
        RateLimitResponse response = start(config("timeout: 10s"))
                .withDeadlineAfter(1_000, TimeUnit.MILLISECONDS)
                .shouldRateLimit(request(descriptor("a", "1")));
        assertThat(response.getOverallCode()).isEqualTo(Code.OK);
        assertThat(response.getResponseHeadersToAdd(0).getKey()).isEqualTo("x-weir-fallback");
        assertThat(decider.calls().get(0).timeout()).isLessThanOrEqualTo(Duration.ofMillis(855));
    }

    @Test
    void the_timeout_begins_when_the_headers_of_the_call_arrive() throws Exception {
        start(config("{timeout: 50ms, on-timeout: deny}"));
        MethodDescriptor<RateLimitRequest, RateLimitResponse> sendingHeadersAtOnce =
                RateLimitServiceGrpc.getShouldRateLimitMethod().toBuilder()
                        .setType(MethodDescriptor.MethodType.BIDI_STREAMING)
                        .build();
        ClientCall<RateLimitRequest, RateLimitResponse> call =
                channel.newCall(sendingHeadersAtOnce, CallOptions.DEFAULT);
        CompletableFuture<RateLimitResponse> response = new CompletableFuture<>();
        call.start(
                new ClientCall.Listener<>() {
                    @Override
                    public void onMessage(RateLimitResponse message) {
                        response.complete(message);
                    }
                },
                new Metadata());
        call.request(1);
        await("the headers have arrived", PATIENCE, () -> server.stats().inProgress() == 1);
        long arrivedNanos = System.nanoTime();
        await("the timeout is over", PATIENCE, () -> System.nanoTime() - arrivedNanos > 50_000_000);
        call.sendMessage(request(descriptor("a", "1")));
        call.halfClose();
        assertThat(response.get(20, TimeUnit.SECONDS).getOverallCode())
                .as("it has a decision, which was not waited for")
                .isEqualTo(Code.OK);
        assertThat(decider.calls()).singleElement().satisfies(decided -> assertThat(decided.timeout())
                .isEqualTo(Duration.ofMillis(1)));
    }

    @Test
    void the_shortest_timeout_lets_leases_decide() throws Exception {
        RateLimitResponse response =
                start(config("{timeout: 1ms, on-timeout: deny}")).shouldRateLimit(request(descriptor("a", "1")));
        assertThat(response.getOverallCode()).isEqualTo(Code.OK);
    }

    @Test
    void descriptors_that_are_decided_in_time_keep_their_decision() throws Exception {
        decider.become(
                request -> request.client().equals("slow") ? new CompletableFuture<>() : completedFuture(ALLOWED));
        RateLimitResponse response = start(config("{timeout: 30ms, on-timeout: deny}"))
                .shouldRateLimit(request(descriptor("user_id", "fast"), descriptor("user_id", "slow")));
        assertThat(response.getOverallCode()).isEqualTo(Code.OVER_LIMIT);
        assertThat(response.getStatuses(0).getCode()).isEqualTo(Code.OK);
        assertThat(response.getStatuses(0).getLimitRemaining()).isEqualTo(7);
        assertThat(response.getStatuses(1).getCode()).isEqualTo(Code.OVER_LIMIT);
    }

    @Test
    void a_cancelled_call_ends_and_frees_its_place() throws Exception {
        decider.become(request -> new CompletableFuture<>());
        start(config("{timeout: 10s, max-calls: 1}"));
        ListenableFuture<RateLimitResponse> call =
                RateLimitServiceGrpc.newFutureStub(channel).shouldRateLimit(request(descriptor("a", "1")));
        await("the call is in progress", PATIENCE, () -> decider.calls().size() == 1);
        call.cancel(true);
        await("the call is cancelled", PATIENCE, () -> server.stats().errors().cancelled() == 1);
        assertThat(decider.calls().get(0).answer()).isCancelled();
        await("its place is free", PATIENCE, () -> server.stats().inProgress() == 0);
    }

    @Test
    void calls_above_the_maximum_are_rejected() throws Exception {
        decider.become(request -> new CompletableFuture<>());
        start(config("{timeout: 10s, max-calls: 2}"));
        List<CompletableFuture<ClientDecision>> waiting = new ArrayList<>();
        List<ListenableFuture<RateLimitResponse>> calls = new ArrayList<>();
        for (int i = 0; i < 2; i++) {
            calls.add(RateLimitServiceGrpc.newFutureStub(channel).shouldRateLimit(request(descriptor("a", "1"))));
        }
        await("two calls are in progress", PATIENCE, () -> decider.calls().size() == 2);
        ManagedChannel other = connect(); // each connection has its own bound too
        Status status = failure(
                () -> RateLimitServiceGrpc.newBlockingStub(other).shouldRateLimit(request(descriptor("a", "1"))));
        assertThat(status.getCode()).isEqualTo(Status.Code.RESOURCE_EXHAUSTED);
        assertThat(status.getDescription())
                .isEqualTo("the gateway has 2 calls in progress, which is the maximum (gateway.envoy.max-calls)");
        decider.calls().forEach(call -> waiting.add(call.answer()));
        waiting.forEach(answer -> answer.complete(ALLOWED));
        for (ListenableFuture<RateLimitResponse> call : calls) {
            assertThat(call.get(20, TimeUnit.SECONDS).getOverallCode()).isEqualTo(Code.OK);
        }
    }

    @Test
    void connections_above_the_maximum_are_closed() throws Exception {
        var first = start(config("max-connections: 1"));
        first.shouldRateLimit(request(descriptor("a", "1")));
        ManagedChannel second = connect();
        Status status = failure(() -> RateLimitServiceGrpc.newBlockingStub(second)
                .withDeadlineAfter(5, TimeUnit.SECONDS)
                .shouldRateLimit(request(descriptor("a", "1"))));
        assertThat(status.getCode()).isNotEqualTo(Status.Code.DEADLINE_EXCEEDED);
        assertThat(server.connections().tooMany()).isPositive();
        assertThat(server.connections().untrusted()).isZero();
        second.shutdownNow();
        channel.shutdownNow();
        await("the connections are closed", PATIENCE, () -> server.connections().open() == 0);
        ManagedChannel third = connect();
        assertThat(RateLimitServiceGrpc.newBlockingStub(third)
                        .shouldRateLimit(request(descriptor("a", "1")))
                        .getOverallCode())
                .isEqualTo(Code.OK);
    }

    @Test
    void connections_from_other_addresses_are_closed() throws Exception {
        var stub = start(EnvoyConfig.DEFAULTS, address -> false).withDeadlineAfter(5, TimeUnit.SECONDS);
        Status status = failure(() -> stub.shouldRateLimit(request(descriptor("a", "1"))));
        assertThat(status.getCode()).isNotEqualTo(Status.Code.DEADLINE_EXCEEDED);
        assertThat(decider.calls()).isEmpty();
        await("the connection is closed", PATIENCE, () -> server.connections().open() == 0);
        assertThat(server.connections().untrusted()).isPositive();
        assertThat(server.connections().tooMany()).isZero();
    }

    @Test
    void a_throttled_request_is_answered_after_its_delay_if_the_caller_can_wait() throws Exception {
        Decision throttled = new Decision(
                        new Decision.Identity("r", "c", Request.Source.NONE),
                        Decision.Status.allowed(Reason.THROTTLED),
                        new Decision.Timing(0, 0L, 300L))
                .withLimit(new PolicyVersion("p", 1), SampleDecisions.tenAMinute(0));
        decider.become(request -> completedFuture(SampleDecisions.of(throttled)));
        var stub = start(EnvoyConfig.DEFAULTS);
        long startNanos = System.nanoTime();
        assertThat(stub.shouldRateLimit(request(descriptor("a", "1"))).getOverallCode())
                .isEqualTo(Code.OK);
        assertThat(System.nanoTime() - startNanos).isGreaterThanOrEqualTo(TimeUnit.MILLISECONDS.toNanos(300));
        RateLimitResponse tooLate =
                stub.withDeadlineAfter(250, TimeUnit.MILLISECONDS).shouldRateLimit(request(descriptor("a", "1")));
        assertThat(tooLate.getOverallCode()).isEqualTo(Code.OVER_LIMIT);
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
            illegal | INVALID_ARGUMENT | descriptors[1]: cost must be at most 5, is 6
            defect  | INTERNAL         | descriptors[1]: the gateway failed; see its log
            throws  | INTERNAL         | descriptors[1]: the gateway failed; see its log
            """)
    void a_request_that_fails_names_its_descriptor(String how, Status.Code code, String description) throws Exception {
        decider.become(request -> {
            if (request.client().equals("good")) {
                return completedFuture(ALLOWED);
            }
            return switch (how) {
                case "illegal" -> failedFuture(new IllegalArgumentException("cost must be at most 5, is 6"));
                case "defect" -> failedFuture(new IllegalStateException("broken"));
                default -> throw new IllegalStateException("broken");
            };
        });
        var stub = start(EnvoyConfig.DEFAULTS);
        Status status = failure(
                () -> stub.shouldRateLimit(request(descriptor("user_id", "good"), descriptor("user_id", "bad"))));
        assertThat(status.getCode()).isEqualTo(code);
        assertThat(status.getDescription()).isEqualTo(description);
    }

    private static RateLimitRequest hostile(String what) {
        RateLimitDescriptor.Builder large = RateLimitDescriptor.newBuilder();
        for (int i = 0; i < 33; i++) {
            large.addEntries(
                    RateLimitDescriptor.Entry.newBuilder().setKey("k" + i).setValue("v"));
        }
        RateLimitDescriptor good = descriptor("a", "1");
        return switch (what) {
            case "no-domain" -> request(good).toBuilder().clearDomain().build();
            case "no-descriptors" -> request();
            case "no-entries" -> request(good, RateLimitDescriptor.getDefaultInstance());
            case "no-key" -> request(good, descriptor("", "1"));
            case "many-descriptors" -> {
                RateLimitRequest.Builder many = request().toBuilder();
                for (int i = 0; i < 5_000; i++) {
                    many.addDescriptors(good);
                }
                yield many.build();
            }
            case "many-entries" -> request(good, large.build());
            case "no-unit" ->
                request(good.toBuilder()
                        .setLimit(RateLimitDescriptor.RateLimitOverride.newBuilder()
                                .setRequestsPerUnit(1))
                        .build());
            case "other-unit" ->
                request(good.toBuilder()
                        .setLimit(RateLimitDescriptor.RateLimitOverride.newBuilder()
                                .setUnitValue(99))
                        .build());
            case "many-hits" ->
                request(good.toBuilder().setHitsAddend(UInt64Value.of(-1)).build());
            default -> throw new AssertionError(what);
        };
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
            no-domain        | domain must not be empty
            no-descriptors   | descriptors must not be empty
            no-entries       | descriptors[1].entries must not be empty
            no-key           | descriptors[1].entries[0].key must not be empty
            many-descriptors | descriptors[32]: there are 5000 descriptors; the maximum is 32 (gateway.envoy.max-descriptors)
            many-entries     | descriptors[1] has 33 entries; the maximum is 32 (gateway.envoy.max-entries)
            no-unit          | descriptors[0].limit.unit must be SECOND, MINUTE, HOUR, DAY, MONTH or YEAR, is 0
            other-unit       | descriptors[0].limit.unit must be SECOND, MINUTE, HOUR, DAY, MONTH or YEAR, is 99
            many-hits        | descriptors[0].hits_addend must be at most 9223372036854775807, is 18446744073709551615
            """)
    void an_invalid_call_names_the_fault_and_charges_nothing(String what, String description) throws Exception {
        var stub = start(EnvoyConfig.DEFAULTS);
        Status status = failure(() -> stub.shouldRateLimit(hostile(what)));
        assertThat(status.getCode()).isEqualTo(Status.Code.INVALID_ARGUMENT);
        assertThat(status.getDescription()).isEqualTo(description);
        assertThat(decider.calls()).isEmpty();
        assertThat(server.stats().errors().invalid()).isEqualTo(1);
    }

    @Test
    void a_message_that_is_too_large_is_rejected() throws Exception {
        var stub = start(config("max-message: 2KiB"));
        Status status = failure(() -> stub.shouldRateLimit(request(descriptor("path", "x".repeat(3_000)))));
        assertThat(status.getCode()).isEqualTo(Status.Code.RESOURCE_EXHAUSTED);
        assertThat(stub.shouldRateLimit(request(descriptor("path", "x".repeat(1_500))))
                        .getOverallCode())
                .isEqualTo(Code.OK);
    }

    /** Sends bytes as they are. */
    private RateLimitResponse send(byte[] bytes) {
        MethodDescriptor<byte[], RateLimitResponse> method = RateLimitServiceGrpc.getShouldRateLimitMethod().toBuilder(
                        new MethodDescriptor.Marshaller<byte[]>() {
                            @Override
                            public InputStream stream(byte[] value) {
                                return new ByteArrayInputStream(value);
                            }

                            @Override
                            public byte[] parse(InputStream stream) {
                                throw new UnsupportedOperationException();
                            }
                        },
                        RateLimitServiceGrpc.getShouldRateLimitMethod().getResponseMarshaller())
                .build();
        return ClientCalls.blockingUnaryCall(channel, method, CallOptions.DEFAULT, bytes);
    }

    @Test
    void garbage_is_invalid_and_the_server_continues() throws Exception {
        var stub = start(EnvoyConfig.DEFAULTS);
        Random random = new Random(11);
        for (int i = 0; i < 200; i++) {
            byte[] garbage = new byte[1 + random.nextInt(200)];
            random.nextBytes(garbage);
            Status status = failure(() -> send(garbage));
            assertThat(status.getCode()).isEqualTo(Status.Code.INVALID_ARGUMENT);
        }
        byte[] cut = request(descriptor("user_id", "u")).toByteArray();
        Status status = failure(() -> send(Arrays.copyOf(cut, cut.length - 1)));
        assertThat(status.getDescription()).startsWith("the message is not a RateLimitRequest: ");
        assertThat(decider.calls()).isEmpty();
        assertThat(stub.shouldRateLimit(request(descriptor("a", "1"))).getOverallCode())
                .isEqualTo(Code.OK);
    }

    @Test
    void texts_that_are_not_utf_8_are_repaired() throws Exception {
        start(EnvoyConfig.DEFAULTS);
        UnknownFieldSet entry = UnknownFieldSet.newBuilder()
                .addField(1, bytes("api_key".getBytes(StandardCharsets.UTF_8)))
                .addField(2, bytes(new byte[] {'k', (byte) 0xFF, (byte) 0xC3, '1'}))
                .build();
        UnknownFieldSet descriptor = UnknownFieldSet.newBuilder()
                .addField(1, bytes(entry.toByteArray()))
                .addField(4, UnknownFieldSet.Field.newBuilder().addVarint(1).build())
                .build();
        UnknownFieldSet message = UnknownFieldSet.newBuilder()
                .addField(1, bytes(new byte[] {'e', (byte) 0x80}))
                .addField(2, bytes(descriptor.toByteArray()))
                .addField(3, UnknownFieldSet.Field.newBuilder().addVarint(5).build())
                .build();
        assertThat(send(message.toByteArray()).getOverallCode()).isEqualTo(Code.OK);
        Request request = decider.calls().get(0).request();
        assertThat(request.client()).isEqualTo("k\uFFFD\uFFFD1");
        assertThat(request.attributes()).containsEntry("domain", "e\uFFFD");
        assertThat(request.cost()).isEqualTo(-5);
    }

    private static UnknownFieldSet.Field bytes(byte[] value) {
        return UnknownFieldSet.Field.newBuilder()
                .addLengthDelimited(ByteString.copyFrom(value))
                .build();
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "ratelimit", "envoy.service.ratelimit.v3.RateLimitService"})
    void health_is_serving_from_its_report_until_the_server_stops(String service) throws Exception {
        start(EnvoyConfig.DEFAULTS);
        HealthGrpc.HealthBlockingStub health = HealthGrpc.newBlockingStub(channel);
        HealthCheckRequest request =
                HealthCheckRequest.newBuilder().setService(service).build();
        assertThat(health.check(request).getStatus()).isEqualTo(ServingStatus.NOT_SERVING);
        server.reportServing();
        assertThat(health.check(request).getStatus()).isEqualTo(ServingStatus.SERVING);
        server.reportStopping();
        server.reportServing();
        assertThat(health.check(request).getStatus()).isEqualTo(ServingStatus.NOT_SERVING);
    }

    @Test
    void calls_in_progress_are_completed_when_the_server_stops() throws Exception {
        decider.become(request -> new CompletableFuture<>());
        start(config("timeout: 10s"));
        ListenableFuture<RateLimitResponse> call =
                RateLimitServiceGrpc.newFutureStub(channel).shouldRateLimit(request(descriptor("a", "1")));
        await("the call is in progress", PATIENCE, () -> decider.calls().size() == 1);
        CompletableFuture<Void> closed = CompletableFuture.runAsync(server::close);
        await("new calls are refused", PATIENCE, () -> {
            ManagedChannel late = connect();
            try {
                RateLimitServiceGrpc.newBlockingStub(late)
                        .withDeadlineAfter(1, TimeUnit.SECONDS)
                        .shouldRateLimit(request(descriptor("a", "1")));
                return false;
            } catch (StatusRuntimeException e) {
                return e.getStatus().getCode() == Status.Code.UNAVAILABLE;
            } finally {
                late.shutdownNow();
            }
        });
        decider.calls().get(0).answer().complete(ALLOWED);
        assertThat(call.get(20, TimeUnit.SECONDS).getOverallCode()).isEqualTo(Code.OK);
        closed.get(20, TimeUnit.SECONDS);
    }

    @Test
    void calls_that_do_not_end_are_cancelled_when_the_server_stops() throws Exception {
        decider.become(request -> new CompletableFuture<>());
        EnvoyConfig config = config("timeout: 10s");
        start(new EnvoyConfig(
                config.mapping(),
                config.contents(),
                config.bounds(),
                config.connections(),
                config.threads(),
                Duration.ofMillis(10),
                config.tls()));
        ListenableFuture<RateLimitResponse> call =
                RateLimitServiceGrpc.newFutureStub(channel).shouldRateLimit(request(descriptor("a", "1")));
        await("the call is in progress", PATIENCE, () -> decider.calls().size() == 1);
        server.close();
        assertThatThrownBy(() -> call.get(20, TimeUnit.SECONDS)).hasCauseInstanceOf(StatusRuntimeException.class);
    }

    @Test
    void tls_requires_a_certificate_of_the_caller_if_its_authority_is_configured() throws Exception {
        TestCertificate ofServer = TestCertificate.make(directory, "server", "EC");
        TestCertificate ofCaller = TestCertificate.make(directory, "caller", "EC");
        TestCertificate stranger = TestCertificate.make(directory, "stranger", "EC");
        start(config("tls: {certificate: " + ofServer.certificate() + ", key: " + ofServer.key() + ", client-ca: "
                + ofCaller.certificate() + "}"));
        assertThat(askOverTls(ofServer, Optional.of(ofCaller))).isEqualTo(Status.Code.OK);
        assertThat(askOverTls(ofServer, Optional.of(stranger))).isEqualTo(Status.Code.UNAVAILABLE);
        assertThat(askOverTls(ofServer, Optional.empty())).isEqualTo(Status.Code.UNAVAILABLE);
        Status plain = failure(
                () -> RateLimitServiceGrpc.newBlockingStub(channel).shouldRateLimit(request(descriptor("a", "1"))));
        assertThat(plain.getCode()).isEqualTo(Status.Code.UNAVAILABLE);
        assertThat(decider.calls()).hasSize(1);
    }

    private Status.Code askOverTls(TestCertificate server, Optional<TestCertificate> caller) throws Exception {
        TlsChannelCredentials.Builder credentials = TlsChannelCredentials.newBuilder()
                .trustManager(server.certificate().toFile());
        if (caller.isPresent()) {
            credentials.keyManager(
                    caller.get().certificate().toFile(), caller.get().key().toFile());
        }
        ManagedChannel secure = NettyChannelBuilder.forAddress("127.0.0.1", this.server.port(), credentials.build())
                .build();
        opened.add(0, secure::shutdownNow);
        try {
            RateLimitServiceGrpc.newBlockingStub(secure).shouldRateLimit(request(descriptor("a", "1")));
            return Status.Code.OK;
        } catch (StatusRuntimeException e) {
            return e.getStatus().getCode();
        }
    }

    @Test
    void a_file_for_tls_that_cannot_be_read_is_named() {
        assertThatThrownBy(() -> start(config("tls: {certificate: /no/such.crt, key: /no/such.key}")))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("gateway.envoy.tls.certificate: the file /no/such.crt does not exist");
        assertThatThrownBy(() -> start(config("tls: {certificate: pom.xml, key: pom.xml}")))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageStartingWith("gateway.envoy.tls: certificate pom.xml or key pom.xml cannot be read as PEM");
    }

    @Test
    void quotas_count_per_descriptor_over_the_network() throws Exception {
        decider.become(request -> completedFuture(
                request.client().equals("spent")
                        ? SampleDecisions.of(SampleDecisions.denied("p", SampleDecisions.tenAMinute(0)))
                        : ALLOWED));
        var stub = start(config("quota: true"));
        assertThat(stub.shouldRateLimit(request(descriptor("user_id", "spent"), descriptor("user_id", "other")))
                        .getOverallCode())
                .isEqualTo(Code.OK);
        assertThat(stub.shouldRateLimit(request(descriptor("user_id", "spent"))).getOverallCode())
                .isEqualTo(Code.OVER_LIMIT);
    }
}
