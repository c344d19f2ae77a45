package dev.weir.wire;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import dev.weir.event.Admission;
import dev.weir.event.Decision;
import dev.weir.event.DecisionContext;
import dev.weir.event.DecisionOrder;
import dev.weir.event.IdempotentAnswer;
import dev.weir.event.LeaseUsage;
import dev.weir.event.LimitOverride;
import dev.weir.event.LimitStatus;
import dev.weir.event.Outcome;
import dev.weir.event.PolicyVersion;
import dev.weir.event.Reason;
import dev.weir.event.Release;
import dev.weir.event.Request;
import dev.weir.event.RequestKind;
import dev.weir.fault.UnreadableException;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SplittableRandom;
import java.util.UUID;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.function.Supplier;
import org.junit.jupiter.api.Test;

/** Compares the codecs that encode and decode field by field with Avro's own, byte for byte. */
class ByHandTest {

    private static final com.sun.management.ThreadMXBean THREAD =
            (com.sun.management.ThreadMXBean) ManagementFactory.getThreadMXBean();

    private static final int RECORDS = 2_000;
    private static final String[] TEXTS = {
        "", "a", "free-articles", "\0", "żółw", "\uD83D\uDE00", "\uD83D", "x\uDE00\u0141"
    };
    private static final long[] NUMBERS = {0, -1, 63, 64, -64, -65, 1_000, Long.MAX_VALUE, Long.MIN_VALUE};
    private static final int[] LENGTHS = {1, 63, 64, 65, 8_192, 70_000};

    private final SplittableRandom random = new SplittableRandom(5);
    private final RequestCodec requests = new RequestCodec();
    private final DecisionCodec decisions = new DecisionCodec();
    private final AdmissionAvro admissions = new AdmissionAvro();
    private final ReleaseCodec releases = new ReleaseCodec();

    @Test
    void a_decision_is_written_as_avro_writes_it() {
        for (int i = 0; i < RECORDS; i++) {
            Decision decision = decision();
            assertThat(decisions.encode(decision)).isEqualTo(ByAvro.encode(decision));
        }
    }

    @Test
    void lease_usage_is_written_as_avro_writes_it() {
        LeaseUsageAvro usages = new LeaseUsageAvro(Optional.empty());
        for (int i = 0; i < RECORDS; i++) {
            LeaseUsage usage = new LeaseUsage(
                    new LeaseUsage.Origin(text(), number(), number()),
                    policy(),
                    attributes(),
                    new LeaseUsage.Amount(number(), number(), number()),
                    number(),
                    number());
            assertThat(usages.encode(usage)).isEqualTo(ByAvro.encode(usage));
        }
    }

    @Test
    void a_request_is_written_and_read_as_avro_does_it() throws UnreadableException {
        for (int i = 0; i < RECORDS; i++) {
            Request request = request();
            byte[] bytes = ByAvro.encode(request);
            assertThat(requests.encode(request)).isEqualTo(bytes);
            Request read = requests.decode(bytes, 5, request.source());
            Request byAvro = ByAvro.decodeRequest(bytes, 5, request.source());
            assertThat(ByAvro.same(read, byAvro))
                    .as("record %d is decoded as by Avro", i)
                    .isTrue();
        }
    }

    @Test
    void an_admission_is_written_as_avro_writes_it() {
        for (int i = 0; i < RECORDS; i++) {
            List<Admission.Header> headers = new ArrayList<>();
            for (int count = random.nextInt(4); count > 0; count--) {
                headers.add(new Admission.Header(text(), payload()));
            }
            Admission admission = new Admission(
                    request(),
                    new IdempotentAnswer.SentToQueue(
                            text(), orNull(this::policy), orNull(() -> LimitStatus.of(text(), orNull(this::number)))),
                    attributes(),
                    new Admission.Identity(random.nextBoolean(), number(), number(), orNull(this::number)),
                    headers,
                    context());
            assertThat(admissions.encode(admission)).isEqualTo(ByAvro.encode(admission));
        }
    }

    @Test
    void a_release_is_written_as_avro_writes_it() {
        for (int i = 0; i < RECORDS; i++) {
            Release release = Release.builder(text(), text(), text())
                    .tier(orNull(this::text))
                    .key(attributes())
                    .sequence(number())
                    .enqueuedAtMs(number())
                    .releaseAtNanos(number() & Long.MAX_VALUE)
                    .cost(number())
                    .attributes(attributes())
                    .payload(payload())
                    .pace(new Release.Pace(number(), number()))
                    .build();
            assertThat(releases.encode(release)).isEqualTo(ByAvro.encode(release));
        }
    }

    @Test
    void a_schema_with_fields_that_a_codec_does_not_know_is_refused() {
        assertThatIllegalStateException()
                .isThrownBy(() -> AvroBytes.withRegistry(1, new dev.weir.avro.Decision(), Optional.empty()))
                .withMessage("the schema of Decision has changed: adapt the class that encodes it, and the fingerprint"
                        + " there to 0x789FB6DC0F433926L");
    }

    @Test
    void threads_share_a_codec() throws Exception {
        ExecutorService threads = Executors.newFixedThreadPool(4);
        try {
            List<Future<Integer>> done = new ArrayList<>();
            for (int thread = 0; thread < 4; thread++) {
                done.add(threads.submit(comesBack(random.split())));
            }
            for (Future<Integer> each : done) {
                assertThat(each.get()).isEqualTo(20_000);
            }
        } finally {
            threads.shutdownNow();
        }
    }

    /**
     * Encodes and decodes records with more tiers and policies than a codec caches, so that threads replace each
     * other's entries.
     */
    private Callable<Integer> comesBack(SplittableRandom chance) {
        return () -> {
            int same = 0;
            for (int i = 0; i < 20_000; i++) {
                String word = "word-" + chance.nextInt(1_000);
                Request request = request(word, Map.of(word, "x"));
                Request read = requests.decode(requests.encode(request), 5, request.source());
                Decision decision = new Decision(
                                new Decision.Identity("r", "c", request.source()),
                                new Decision.Status(Outcome.ALLOWED, Reason.WITHIN_LIMITS, 200),
                                Decision.Timing.never(5))
                        .withLimit(new PolicyVersion(word, 1), null);
                boolean comesBack = read.tier().equals(word)
                        && read.attributes().equals(request.attributes())
                        && decisions.decode(decisions.encode(decision)).equals(decision);
                same += comesBack ? 1 : 0;
            }
            return same;
        };
    }

    @Test
    void little_is_allocated_for_a_record_beside_what_it_holds() throws Exception {
        Map<String, String> attributes = Map.of("endpoint", "/articles/7", "method", "GET");
        Request request = request("free", attributes);
        byte[] bytes = requests.encode(request);
        assertThat(allocated(() -> requests.decode(bytes, 5, request.source()))).isLessThan(600);
        assertThat(allocated(() -> requests.encode(request))).isLessThan(5L * bytes.length);
        Decision decision = decision();
        int length = decisions.encode(decision).length;
        assertThat(allocated(() -> decisions.encode(decision))).isLessThan(6L * length);
    }

    private static long allocated(Callable<?> work) throws Exception {
        int times = 1_000;
        work.call();
        long before = THREAD.getCurrentThreadAllocatedBytes();
        for (int i = 0; i < times; i++) {
            work.call();
        }
        return (THREAD.getCurrentThreadAllocatedBytes() - before) / times;
    }

    private Decision decision() {
        Decision.Queueing queueing =
                new Decision.Queueing(orNull(this::text), attributes(), orNull(this::number), orNull(this::number));
        return new Decision(
                new Decision.Identity(
                        text(), text(), orNull(this::text), new Request.Source(random.nextInt(), number())),
                new Decision.Status(
                        any(Outcome.values()),
                        any(Reason.values()),
                        random.nextInt(),
                        random.nextBoolean(),
                        random.nextBoolean(),
                        random.nextBoolean()),
                new Decision.Timing(number(), orNull(this::number), orNull(this::number), orNull(this::number)),
                orNull(this::policy),
                orNull(this::limit),
                orNull(() -> queueing),
                context());
    }

    private PolicyVersion policy() {
        return new PolicyVersion(text(), number());
    }

    private LimitStatus limit() {
        return new LimitStatus(
                text(), orNull(this::number), orNull(this::number), orNull(this::number), orNull(this::number));
    }

    private DecisionContext context() {
        return new DecisionContext(orNull(() -> new DecisionOrder(number(), random.nextInt())), orNull(this::number));
    }

    private Request request() {
        return Request.builder(text(), text())
                .kind(any(dev.weir.avro.Kind.values()).toString().transform(RequestKind::valueOf))
                .tier(orNull(this::text))
                .cost(number())
                .sizeBytes(orNull(this::number))
                .attributes(attributes())
                .deadlineMs(orNull(this::number))
                .notBeforeMs(orNull(this::number))
                .payload(payload())
                .queue(orNull(this::text))
                .limitOverride(orNull(() -> new LimitOverride(number(), number())))
                .policyId(orNull(this::text))
                .reserveMs(orNull(this::number))
                .settles(orNull(this::text))
                .timestampMs(number())
                .source(random.nextInt(), number())
                .build();
    }

    private static Request request(String tier, Map<String, String> attributes) {
        String id = new UUID(7, 7).toString();
        return Request.builder(id, "c")
                .tier(tier)
                .attributes(attributes)
                .timestampMs(5)
                .source(0, 7)
                .build();
    }

    private Map<String, String> attributes() {
        Map<String, String> attributes = new HashMap<>();
        for (int count = random.nextInt(3) * random.nextInt(8); count > 0; count--) {
            attributes.put(random.nextBoolean() ? text() : "name" + random.nextInt(20), text());
        }
        return attributes;
    }

    private String text() {
        String text = any(TEXTS);
        return random.nextInt(100) > 0 ? text : text.repeat(1 + LENGTHS[random.nextInt(LENGTHS.length)] / 4);
    }

    private long number() {
        return random.nextBoolean() ? NUMBERS[random.nextInt(NUMBERS.length)] : random.nextLong() >> random.nextInt(64);
    }

    private byte[] payload() {
        byte[] payload =
                new byte[random.nextInt(100) > 0 ? random.nextInt(100) : LENGTHS[random.nextInt(LENGTHS.length)]];
        random.nextBytes(payload);
        return orNull(() -> payload);
    }

    private <T> T any(T[] values) {
        return values[random.nextInt(values.length)];
    }

    private <T> T orNull(Supplier<T> value) {
        return random.nextInt(3) == 0 ? null : value.get();
    }
}
