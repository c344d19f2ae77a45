package dev.weir.storage;

import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.config.WeirConfig;
import dev.weir.decision.Decider;
import dev.weir.decision.MapStates;
import dev.weir.decision.state.PolicyState;
import dev.weir.decision.state.WritablePolicyStates;
import dev.weir.definition.PolicyFile;
import dev.weir.event.Decision;
import dev.weir.event.Reason;
import dev.weir.event.Request;
import dev.weir.event.RequestKind;
import dev.weir.event.StateKey;
import dev.weir.policy.PolicyTable;
import dev.weir.storage.codec.ReservationEntry;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.TreeMap;
import org.apache.kafka.common.utils.Bytes;
import org.junit.jupiter.api.Test;

/** Tests that decisions about reservations on the stores of a task equal those on the heap, also after restarts. */
class StoredStatesTest {

    private static final String POLICIES = """
            policies:
              - id: slots
                key: [client]
                limits: [{algorithm: concurrency, limit: %1$d, ttl: 400ms}]
              - id: rates
                layer: rates
                key: [client]
                idempotency: 300ms
                limits:
                  - {algorithm: sliding-window-log, limit: %2$d, per: 1s}
                  - {algorithm: token-bucket, limit: %2$d, per: 1s}
                  - {algorithm: fixed-window, limit: %2$d, per: 1s}
            """;

    private final List<RecordedStore> below =
            List.of(new RecordedStore(), new RecordedStore(), new RecordedStore(), new RecordedStore());
    private WriteBackStore<StateKey, PolicyState> states;
    private WriteBackStore<byte[], ReservationEntry> reservations;

    private StoredStates open(long hotBytes) {
        CacheBudget memory = new CacheBudget(hotBytes);
        states = new WriteBackStore<>(below.get(0), memory);
        reservations = new WriteBackStore<>(below.get(3), memory);
        WeirConfig.State config = WeirConfig.DEFAULTS.state();
        return new StoredStates(
                states,
                below.get(1),
                StoredIdempotencyCache.open(below.get(2), config),
                StoredReservations.open(reservations, config, size -> {}));
    }

    private List<Map<Bytes, byte[]>> content() {
        List<Map<Bytes, byte[]>> copies = new ArrayList<>();
        below.forEach(store -> copies.add(new TreeMap<>(store.content)));
        return copies;
    }

    private void restore(List<Map<Bytes, byte[]>> copies) {
        for (int i = 0; i < copies.size(); i++) {
            below.get(i).content.clear();
            below.get(i).content.putAll(copies.get(i));
        }
    }

    private void commit() {
        states.flushCache();
        reservations.flushCache();
    }

    private static PolicyTable policies(SplittableRandom random) throws Exception {
        int slots = 2 + random.nextInt(6);
        return PolicyFile.read("test", POLICIES.formatted(slots, 10 + random.nextInt(40)))
                .table();
    }

    private static Request request(SplittableRandom random, int number, long nowMs) {
        boolean isNew = random.nextInt(3) > 0;
        String id = "r" + (isNew ? number : Math.max(0, number - random.nextInt(12)));
        Request.Builder request = Request.builder(id, "c" + random.nextInt(2))
                .timestampMs(nowMs)
                .source(0, number)
                .cost(1 + random.nextInt(3));
        if (isNew || random.nextInt(6) == 0) {
            return request.reserveMs(random.nextBoolean() ? null : (Long) (1L + random.nextInt(500)))
                    .build();
        }
        return switch (random.nextInt(12)) {
            case 0 -> request.kind(RequestKind.RESET).build();
            case 1 -> request.kind(RequestKind.PEEK).build();
            case 2, 3, 4 ->
                request.kind(RequestKind.SETTLE)
                        .settles(id)
                        .requestId("s" + number)
                        .cost(random.nextInt(6))
                        .build();
            case 5, 6 -> request.kind(RequestKind.CANCEL).build();
            case 7, 8 -> request.kind(RequestKind.RENEW).build();
            default -> request.kind(RequestKind.RELEASE).build();
        };
    }

    @Test
    void reservations_continue_after_restarts_as_without_them_and_uncommitted_ones_are_gone() throws Exception {
        Map<Reason, Integer> reasons = new EnumMap<>(Reason.class);
        for (int seed = 0; seed < 12; seed++) {
            SplittableRandom random = new SplittableRandom(seed);
            long hotBytes = random.nextInt(3) == 0 ? 0 : 1L << random.nextInt(10, 20);
            below.forEach(store -> store.content.clear());
            WritablePolicyStates unbroken = new MapStates();
            WritablePolicyStates stored = open(hotBytes);
            PolicyTable table = policies(random);
            long nowMs = 1_000_000;
            for (int step = 0; step < 40; step++) {
                if (random.nextInt(8) == 0) {
                    table = policies(random);
                }
                List<Request> requests = new ArrayList<>();
                for (int i = 0; i < 25; i++) {
                    nowMs += random.nextInt(random.nextInt(40) == 0 ? 2_000 : 60);
                    requests.add(request(random, step * 25 + i, nowMs - random.nextInt(20)));
                }
                if (random.nextInt(3) == 0) { // a transaction that fails
                    List<Map<Bytes, byte[]>> before = content();
                    for (Request request : requests) {
                        Decider.local(stored).decide(request, table);
                    }
                    restore(before);
                    stored = open(hotBytes);
                }
                for (Request request : requests) {
                    Decision expected = (Decision) Decider.local(unbroken).decide(request, table);
                    assertThat(Decider.local(stored).decide(request, table)).isEqualTo(expected);
                    reasons.merge(expected.reason(), 1, Integer::sum);
                }
                commit();
                if (random.nextInt(3) == 0) {
                    stored = open(hotBytes);
                }
            }
        }
        assertThat(reasons)
                .containsKeys(
                        Reason.SETTLED,
                        Reason.RELEASED,
                        Reason.CANCELLED,
                        Reason.RENEWED,
                        Reason.ALREADY_ENDED,
                        Reason.NOTHING_RESERVED,
                        Reason.RESERVATION_ENDED,
                        Reason.IDEMPOTENCY_MISMATCH,
                        Reason.LIMIT_EXCEEDED,
                        Reason.USAGE_RESET);
    }
}
