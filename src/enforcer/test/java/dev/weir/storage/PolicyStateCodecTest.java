package dev.weir.storage;

import static dev.weir.testing.Await.await;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.InstanceOfAssertFactories.LONG;

import dev.weir.decision.state.DelayedCharge;
import dev.weir.decision.state.PolicyState;
import dev.weir.event.StateKey;
import dev.weir.limit.FixedWindow;
import dev.weir.limit.LimitAccount;
import dev.weir.limit.SlidingWindowLog;
import dev.weir.storage.codec.StateCodec;
import java.lang.management.ManagementFactory;
import java.lang.ref.WeakReference;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class PolicyStateCodecTest {

    private static final FixedWindow LIMIT = new FixedWindow(1_000_000, 1_000, false);

    private static final Duration PATIENCE = Duration.ofMinutes(5);

    private final RecordedStore below = new RecordedStore();
    private final PolicyStateCodec codec = new PolicyStateCodec(new RecordedStore());

    private WriteBackStore<StateKey, PolicyState> open(long memoryBytes) {
        WriteBackStore<StateKey, PolicyState> opened = new WriteBackStore<>(below, new CacheBudget(memoryBytes));
        opened.open(codec);
        return opened;
    }

    private static StateKey key(String client) {
        return new StateKey(client, "p", List.of());
    }

    private static PolicyState used(long tokens) {
        return new PolicyState(0, 0, List.of(LimitAccount.open(LIMIT, 0).charge(tokens, 0)), List.of());
    }

    @Test
    void a_state_is_stored_whether_it_has_grown_or_shrunk() {
        WriteBackStore<StateKey, PolicyState> states = open(1 << 20);
        for (long tokens : List.of(0L, 1L << 40, 127L, 1L << 14, 1L, 1L << 62, 0L)) {
            states.put(key("a"), used(tokens));
            assertThat(states.read(key("a"))).isEqualTo(used(tokens));
            states.flushCache();
            assertThat(below.content.values()).containsExactly(StateCodec.encode(used(tokens)));
        }
    }

    @Test
    void only_states_with_logs_or_delayed_requests_are_kept_decoded() {
        LimitAccount<?> log = LimitAccount.open(new SlidingWindowLog(10, 1_000, false), 0);
        PolicyState withLog = new PolicyState(0, 0, List.of(log), List.of());
        PolicyState retired = new PolicyState(0, 0, List.of(), List.of((SlidingWindowLog.Log) log.state()));
        assertThat(List.of(codec.isKeptDecoded(used(1)), codec.isKeptDecoded(withLog), codec.isKeptDecoded(retired)))
                .containsExactly(false, true, true);
        assertThat(codec.heapBytes(withLog)).isGreaterThan(codec.heapBytes(used(1)));
        PolicyState delayed =
                new PolicyState(0, 0, used(1).accounts(), List.of(), List.of(), List.of(new DelayedCharge(5, 1, null)));
        assertThat(codec.isKeptDecoded(delayed)).isTrue();
        assertThat(codec.heapBytes(delayed)).isGreaterThan(codec.heapBytes(used(1)));
    }

    @Test
    void the_heap_that_states_take_is_within_the_memory() {
        long bytes = 16 << 20;
        below.keeps = false;
        List<Long> taken = new ArrayList<>(); // several samples, since garbage of other tests may be collected
        while (taken.size() < 10 && taken.stream().noneMatch(some -> some >= bytes / 4 && some <= bytes + (1 << 20))) {
            taken.add(takenWhenFull(bytes));
        }
        assertThat(taken).last(LONG).isBetween(bytes / 4, bytes + (1 << 20));
    }

    /** Returns how much of the heap becomes free with a full store. Other tests may change the heap before that. */
    private long takenWhenFull(long bytes) {
        List<WriteBackStore<StateKey, PolicyState>> stores = new ArrayList<>(List.of(open(bytes)));
        fill(stores.get(0));
        WeakReference<WriteBackStore<StateKey, PolicyState>> full = new WeakReference<>(stores.get(0));
        long before = liveBytes();
        stores.clear();
        await(
                "the store is collected",
                PATIENCE,
                () -> { // a collection can be skipped while native code uses an array
                    System.gc();
                    return full.refersTo(null);
                });
        return before - liveBytes();
    }

    private void fill(WriteBackStore<StateKey, PolicyState> store) {
        for (int i = 0; i < 200_000; i++) {
            StateKey key = key("client-" + i);
            store.read(key);
            store.put(key, used(1));
            below.take();
        }
        store.flushCache();
        below.take();
        assertThat(store.approximateNumEntries()).isZero();
    }

    private static long liveBytes() {
        System.gc();
        return ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getUsed();
    }
}
