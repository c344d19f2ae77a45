package dev.weir.storage.snapshot;

import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.config.WeirConfig;
import dev.weir.decision.Decider;
import dev.weir.decision.state.BoundedReservations;
import dev.weir.decision.state.FirstAnswer;
import dev.weir.decision.state.NextPlace;
import dev.weir.decision.state.PolicyStates;
import dev.weir.decision.state.ReservationRecord;
import dev.weir.decision.state.lease.QuotaSource;
import dev.weir.definition.PolicyFile;
import dev.weir.event.Decision;
import dev.weir.event.DecisionResult;
import dev.weir.event.Reason;
import dev.weir.event.Request;
import dev.weir.event.RequestKind;
import dev.weir.event.StateKey;
import dev.weir.policy.ContentHash;
import dev.weir.policy.PolicyTable;
import dev.weir.policy.RequestKey;
import dev.weir.storage.CacheBudget;
import dev.weir.storage.StoredExpiryQueues;
import dev.weir.storage.StoredIdempotencyCache;
import dev.weir.storage.StoredReservations;
import dev.weir.storage.StoredStates;
import dev.weir.storage.WriteBackStore;
import dev.weir.storage.codec.ReservationCodec;
import dev.weir.storage.codec.ReservationEntry;
import dev.weir.wire.KeyCodec;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Properties;
import java.util.Random;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.processor.TaskId;
import org.apache.kafka.streams.processor.api.MockProcessorContext;
import org.apache.kafka.streams.state.KeyValueIterator;
import org.apache.kafka.streams.state.KeyValueStore;
import org.apache.kafka.streams.state.ReadOnlyKeyValueStore;
import org.apache.kafka.streams.state.Stores;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class SnapshotStatesTest {

    private static final String LOG =
            "policies: [{id: log, limits: [{algorithm: sliding-window-log, limit: 1000, per: 1s}]}]";

    @TempDir
    private Path directory;

    private KeyValueStore<Bytes, byte[]> states;
    private KeyValueStore<Bytes, byte[]> segments;
    private KeyValueStore<Bytes, byte[]> answers;
    private StoredStates task;
    private SnapshotStates trials;
    private Runnable atEachRead = () -> {};
    private int attempts;

    @BeforeEach
    void open() {
        states = open("states");
        segments = open("segments");
        answers = open("answers");
        task = new StoredStates(
                new WriteBackStore<>(states, new CacheBudget(0)),
                segments,
                StoredIdempotencyCache.open(answers, WeirConfig.DEFAULTS.state()),
                BoundedReservations.inMemory(1, 0));
        trials = new SnapshotStates(states, new Watched(), answers, open("reservations"), 1);
    }

    private KeyValueStore<Bytes, byte[]> open(String name) {
        KeyValueStore<Bytes, byte[]> store = Stores.inMemoryKeyValueStore(name).get();
        store.init(
                new MockProcessorContext<>(new Properties(), new TaskId(0, 0), directory.toFile())
                        .getStateStoreContext(),
                store);
        return store;
    }

    @AfterEach
    void close() {
        states.close();
        segments.close();
        answers.close();
    }

    @Test
    void a_dry_run_of_a_repeated_request_returns_the_first_answer_and_stores_nothing() throws Exception {
        PolicyTable policies = PolicyFile.read(
                        "test",
                        "policies: [{id: p, idempotency: 10m, limits: [{algorithm: sliding-window-log, limit: 1, per: 1m}]}]")
                .table();
        Request request = request(RequestKind.CONSUME, 1, 1_000);
        Decision first = (Decision) foretell(request, policies).orElseThrow();
        assertThat(first.repeated()).isFalse();
        assertThat(first.remaining()).isZero();
        assertThat(answers.approximateNumEntries()).isZero();

        assertThat(Decider.local(task).decide(request, policies)).isEqualTo(first);
        assertThat(foretell(request(RequestKind.CONSUME, 1, 5_000), policies))
                .contains(first.asRepeated(new Request.Source(0, 0)));
        assertThat(answers.approximateNumEntries()).isEqualTo(2); // the answer and its eviction entry
    }

    /** The segments, with an action of the task before each read. */
    private final class Watched implements ReadOnlyKeyValueStore<Bytes, byte[]> {

        @Override
        public byte[] get(Bytes key) {
            atEachRead.run();
            return segments.get(key);
        }

        @Override
        public KeyValueIterator<Bytes, byte[]> range(Bytes from, Bytes to) {
            throw new UnsupportedOperationException();
        }

        @Override
        public KeyValueIterator<Bytes, byte[]> all() {
            throw new UnsupportedOperationException();
        }

        @Override
        public long approximateNumEntries() {
            throw new UnsupportedOperationException();
        }
    }

    private static Request request(RequestKind kind, long cost, long timestampMs) {
        return Request.builder("r", "c")
                .kind(kind)
                .cost(cost)
                .timestampMs(timestampMs)
                .source(0, 0)
                .build();
    }

    private Optional<DecisionResult> foretell(Request request, PolicyTable policies) {
        return trials.attempt(tried -> {
            attempts++;
            return Decider.readOnly(tried, QuotaSource.local()).decide(request, policies);
        });
    }

    private List<String> stored() {
        return stored(states, segments);
    }

    @SafeVarargs
    private static List<String> stored(KeyValueStore<Bytes, byte[]>... stores) {
        List<String> stored = new ArrayList<>();
        for (KeyValueStore<Bytes, byte[]> store : stores) {
            try (KeyValueIterator<Bytes, byte[]> all = store.all()) {
                while (all.hasNext()) {
                    KeyValue<Bytes, byte[]> entry = all.next();
                    stored.add(entry.key + "=" + Bytes.wrap(entry.value));
                }
            }
        }
        return stored;
    }

    @Test
    void a_dry_run_equals_the_next_decision_of_the_task_and_writes_nothing() throws Exception {
        List<PolicyTable> versions = List.of(table("""
                policies:
                  - id: first
                    limits:
                      - {algorithm: sliding-window-log, limit: 100, per: 1s, count-denied: true}
                      - {algorithm: gcra, limit: 90, per: 1s}
                  - {id: second, layer: second, limits: [{algorithm: sliding-window-log, limit: 150, per: 2s}]}
                """), table("""
                policies:
                  - {id: first, limits: [{algorithm: token-bucket, limit: 80, per: 1s}]}
                  - {id: second, layer: second, limits: [{algorithm: sliding-window-log, limit: 200, per: 1s}]}
                """));
        Random random = new Random(3);
        long nowMs = 1_000_000;
        for (int i = 0; i < 6_000; i++) {
            nowMs += random.nextInt(12);
            PolicyTable policies = versions.get(i / 500 % 2);
            RequestKind kind = random.nextInt(8) == 0 ? RequestKind.SETTLE : RequestKind.CONSUME;
            long cost = kind == RequestKind.SETTLE ? random.nextInt(60) - 50 : random.nextInt(3);
            Request request = request(kind, cost, nowMs);
            List<String> before = i % 20 == 0 ? stored() : null;
            Optional<DecisionResult> foretold = foretell(request, policies);
            assertThat(before == null ? null : stored()).isEqualTo(before);
            assertThat(foretold).contains(Decider.local(task).decide(request, policies));
        }
    }

    /** A write-through copy processes the same requests and has the expected contents of the stores at each time. */
    @Test
    void a_log_and_its_segments_are_read_from_the_same_flush() throws Exception {
        PolicyTable policies = table(LOG.replace("limit: 1000", "limit: 100"));
        KeyValueStore<Bytes, byte[]> hotStates = open("hot-states");
        KeyValueStore<Bytes, byte[]> hotSegments = open("hot-segments");
        StoredStates hot = new StoredStates(
                new WriteBackStore<>(hotStates, new CacheBudget(1 << 20)),
                hotSegments,
                StoredIdempotencyCache.open(open("hot-answers"), WeirConfig.DEFAULTS.state()),
                BoundedReservations.inMemory(1, 0));
        Random random = new Random(5);
        List<String> ofLastWrite = List.of();
        List<String> states = List.of();
        int writes = 0;
        for (int t = 0; t < 40_000; t += random.nextInt(random.nextInt(50) == 0 ? 900 : 12)) {
            RequestKind kind = random.nextInt(30) == 0 ? RequestKind.SETTLE : RequestKind.CONSUME;
            Request request = request(kind, kind == RequestKind.SETTLE ? -random.nextInt(60) : 1, t);
            assertThat(Decider.local(hot).decide(request, policies))
                    .isEqualTo(Decider.local(task).decide(request, policies));
            List<String> now = stored(hotStates);
            if (!now.equals(states)) {
                states = now;
                ofLastWrite = stored();
                writes++;
            }
            assertThat(stored(hotStates, hotSegments)).isEqualTo(ofLastWrite);
        }
        assertThat(writes).isGreaterThan(20);
    }

    private static PolicyTable table(String yaml) throws Exception {
        return PolicyFile.read("test", yaml).table();
    }

    private PolicyTable sevenSegments() throws Exception {
        PolicyTable policies = table(LOG);
        for (int t = 0; t < 200; t++) {
            Decider.local(task).decide(request(RequestKind.CONSUME, 1, t), policies);
        }
        return policies;
    }

    @Test
    void a_dry_run_that_misses_a_segment_is_repeated() throws Exception {
        PolicyTable policies = sevenSegments();
        Request request = request(RequestKind.CONSUME, 1, 1_110);
        boolean[] moved = {false};
        atEachRead = () -> {
            if (!moved[0]) {
                moved[0] = true;
                Decider.local(task).decide(request(RequestKind.CONSUME, 1, 1_100), policies); // deletes the first two
            }
        };
        Optional<DecisionResult> foretold = foretell(request, policies);
        assertThat(attempts).isEqualTo(2);
        assertThat(foretold).contains(Decider.local(task).decide(request, policies));
    }

    @Test
    void a_dry_run_on_a_constantly_changing_state_fails() throws Exception {
        PolicyTable policies = sevenSegments();
        atEachRead = () -> Decider.local(task).decide(request(RequestKind.CONSUME, 1, 1_005), policies);
        assertThat(foretell(request(RequestKind.CONSUME, 1, 1_050), policies)).isEmpty();
        assertThat(attempts).isGreaterThan(2);
    }

    @Test
    void the_keys_of_a_client_are_listed_in_order_up_to_the_maximum() {
        for (String client : List.of("b", "c", "c\0", "ca", "d")) {
            for (String policy : List.of("p2", "p1", "p3")) {
                states.put(Bytes.wrap(KeyCodec.encode(new StateKey(client, policy, List.of()))), new byte[] {1});
            }
        }
        assertThat(trials.keys("c", 10))
                .extracting(key -> key.client() + key.policyId())
                .containsExactly("cp1", "cp2", "cp3");
        assertThat(trials.keys("c", 2)).hasSize(2);
        assertThat(trials.keys("nobody", 2)).isEmpty();
    }

    @Test
    void the_reservations_of_a_client_are_visited_in_pages() {
        KeyValueStore<Bytes, byte[]> store = open("reserved");
        WriteBackStore<byte[], ReservationEntry> cache = new WriteBackStore<>(store, new CacheBudget(0));
        BoundedReservations reservations = StoredReservations.open(cache, WeirConfig.DEFAULTS.state(), stored -> {});
        List<String> ids = List.of("\0", "a", "a\0b", "b", "ż", "\uD83D\uDE00");
        for (String client : List.of("alic", "alice", "alice\0", "alicf")) {
            for (String id : ids) {
                long number = reservations.nextNumber();
                reservations.open(
                        new RequestKey(client, RequestKind.CONSUME, id),
                        new ReservationRecord(number, Optional.empty(), number, 0, 1_000, List.of(), Optional.empty()));
            }
        }
        cache.flush();
        SnapshotStates snapshots = new SnapshotStates(states, segments, answers, store, 1_000);
        List<String> visited = new ArrayList<>();
        assertThat(snapshots.visitReservations("alice", "", 100, (id, reservation) -> visited.add(id)))
                .isEmpty();
        assertThat(visited).containsExactlyElementsOf(ids);
        List<String> paged = new ArrayList<>();
        String after = "";
        for (int page = 0; after != null; page++) {
            int size = paged.size();
            after = snapshots
                    .visitReservations("alice", after, 2, (id, reservation) -> paged.add(id))
                    .orElse(null);
            assertThat(paged).hasSize(size + 2);
            assertThat(page).isLessThan(3);
        }
        assertThat(paged).containsExactlyElementsOf(ids);
        assertThat(snapshots.visitReservations("alice", "a", 100, (id, reservation) -> false))
                .hasValue("a\0b");
        assertThat(snapshots.visitReservations("alice", "b\0", 100, (id, reservation) -> true))
                .isEmpty();
        assertThat(snapshots.visitReservations("bob", "", 100, (id, reservation) -> paged.add(id)))
                .isEmpty();
        assertThat(paged).hasSameSizeAs(ids);
    }

    @Test
    void a_dry_run_finds_no_place_in_a_full_table() {
        KeyValueStore<Bytes, byte[]> store = open("full");
        WriteBackStore<byte[], ReservationEntry> cache = new WriteBackStore<>(store, new CacheBudget(0));
        BoundedReservations reservations = StoredReservations.open(cache, WeirConfig.DEFAULTS.state(), stored -> {});
        for (int i = 0; i < 40; i++) {
            RequestKey key = new RequestKey("alice", RequestKind.CONSUME, "r" + i);
            Request request = request(RequestKind.CONSUME, 1, 0);
            FirstAnswer first =
                    FirstAnswer.of(ContentHash.of(request), Decision.allowed(request, Reason.WITHIN_LIMITS, 0));
            ReservationRecord opened = new ReservationRecord(
                    reservations.nextNumber(), Optional.of(first), 1, 0, 1_000 + i, List.of(), Optional.empty());
            reservations.open(key, opened);
            reservations.change(key, i < 20 ? opened.renewed(3_000) : opened);
        }
        cache.flushCache();
        assertThat(nextPlace(store, 41)).isEqualTo(NextPlace.FREE);
        assertThat(nextPlace(store, 40).freeFromMs())
                .as("the first that was not renewed")
                .hasValue(1_020);
        store.delete(Bytes.wrap(ReservationCodec.expiriesKey(StoredExpiryQueues.blockOf(9, 0))));
        assertThat(nextPlace(store, 40).freeFromMs())
                .as("of a snapshot that changes")
                .isPresent();
        assertThat(nextPlace(open("none"), 1)).isEqualTo(NextPlace.FREE);
    }

    private NextPlace nextPlace(KeyValueStore<Bytes, byte[]> store, int most) {
        return new SnapshotStates(states, segments, answers, store, most)
                .attempt(PolicyStates::nextPlace)
                .orElseThrow();
    }
}
