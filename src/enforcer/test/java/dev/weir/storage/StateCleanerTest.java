package dev.weir.storage;

import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.config.WeirConfig;
import dev.weir.decision.Decider;
import dev.weir.decision.state.BoundedReservations;
import dev.weir.decision.state.PolicyState;
import dev.weir.definition.PolicyFile;
import dev.weir.event.Decision;
import dev.weir.event.Request;
import dev.weir.event.StateKey;
import dev.weir.policy.PolicyTable;
import java.nio.file.Path;
import java.util.List;
import java.util.Properties;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.processor.TaskId;
import org.apache.kafka.streams.processor.api.MockProcessorContext;
import org.apache.kafka.streams.state.KeyValueStore;
import org.apache.kafka.streams.state.Stores;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** In these tests, usage at time 0 expires at time 1000. */
class StateCleanerTest {

    private static final String POLICY = "policies: [{id: p, limits: [{algorithm: fixed-window, limit: 5, per: 1s}]}]";

    @TempDir
    private Path directory;

    private WriteBackStore<StateKey, PolicyState> states;
    private StoredStates store;
    private PolicyTable policies;

    @BeforeEach
    void open() throws Exception {
        states = new WriteBackStore<>(open("states"), new CacheBudget(0));
        store = new StoredStates(
                states,
                open("segments"),
                StoredIdempotencyCache.open(open("answers"), WeirConfig.DEFAULTS.state()),
                BoundedReservations.inMemory(1, 0));
        policies = PolicyFile.read("test", POLICY).table();
    }

    private KeyValueStore<Bytes, byte[]> open(String name) {
        KeyValueStore<Bytes, byte[]> opened = Stores.inMemoryKeyValueStore(name).get();
        MockProcessorContext<?, ?> context =
                new MockProcessorContext<>(new Properties(), new TaskId(0, 0), directory.toFile());
        opened.init(context.getStateStoreContext(), opened);
        return opened;
    }

    @AfterEach
    void close() {
        states.close();
    }

    private void use(String client, long atMs) {
        use(store, client, atMs);
    }

    private long remaining(StoredStates task, String client, long atMs) {
        return use(task, client, atMs).remaining();
    }

    private Decision use(StoredStates task, String client, long atMs) {
        return (Decision) Decider.local(task)
                .decide(
                        Request.builder("r", client)
                                .timestampMs(atMs)
                                .source(0, 0)
                                .build(),
                        policies);
    }

    private StateCleaner sweep(int keysAtOnce, long keepMs) {
        return new StateCleaner(states, store::purge, keysAtOnce, keepMs);
    }

    private long left() {
        return states.approximateNumEntries();
    }

    @Test
    void each_run_checks_a_bounded_number_of_keys_and_continues_after_them() {
        List.of("a", "b", "c").forEach(client -> use(client, 5_000));
        List.of("d", "e", "f", "g").forEach(client -> use(client, 0));
        StateCleaner sweep = sweep(3, 0);
        sweep.observe(1_000);
        sweep.run(0);
        assertThat(left()).isEqualTo(7);
        sweep.run(0);
        assertThat(left()).isEqualTo(4);
        sweep.run(0);
        assertThat(left()).isEqualTo(3);
        use("a0", 0);
        sweep.run(0);
        assertThat(left()).as("the scan starts from the beginning").isEqualTo(3);
    }

    @Test
    void states_that_late_requests_can_use_are_kept() {
        use("a", 0);
        StateCleaner sweep = sweep(10, 700);
        sweep.observe(1_699);
        sweep.run(0);
        assertThat(left()).isEqualTo(1);
        sweep.observe(1_700);
        sweep.run(10_000);
        assertThat(left()).isZero();
    }

    @Test
    void pauses_between_scans_and_not_within_one() {
        StateCleaner sweep = sweep(1, 4_000);
        sweep.run(10_000);
        List.of("a", "b").forEach(client -> use(client, 0));
        sweep.observe(5_000);
        sweep.run(10_999);
        assertThat(left()).isEqualTo(2);
        sweep.run(11_000);
        sweep.run(11_000);
        assertThat(left()).isZero();
    }

    @Test
    void the_earliest_time_observed_since_the_last_run_is_the_clock() {
        use("a", 0);
        StateCleaner sweep = sweep(10, 0);
        sweep.run(0);
        sweep.observe(900_000);
        sweep.observe(999);
        sweep.observe(900_000);
        sweep.run(0);
        sweep.run(0);
        assertThat(left()).isEqualTo(1);
        sweep.observe(1_000);
        sweep.run(0);
        assertThat(left()).isZero();
    }

    @Test
    void newer_states_on_the_heap_are_kept() throws Exception {
        WriteBackStore<StateKey, PolicyState> hot = new WriteBackStore<>(open("hot"), new CacheBudget(1 << 20));
        StoredStates task = new StoredStates(
                hot,
                open("segments"),
                StoredIdempotencyCache.open(open("answers"), WeirConfig.DEFAULTS.state()),
                BoundedReservations.inMemory(1, 0));
        StateCleaner sweep = new StateCleaner(hot, task::purge, 10, 0);
        use(task, "a", 0);
        use(task, "b", 0);
        hot.flushCache();
        use(task, "a", 1_000);
        sweep.observe(1_000);
        sweep.run(0);
        assertThat(hot.approximateNumEntries()).as("b is deleted").isEqualTo(1);
        use(task, "a", 1_000);
        assertThat(remaining(task, "a", 1_000)).isEqualTo(2);
        assertThat(remaining(task, "b", 1_000)).isEqualTo(4);
        hot.flushCache();
        hot.clearCache();
        assertThat(remaining(task, "a", 1_000)).isEqualTo(1);
    }
}
