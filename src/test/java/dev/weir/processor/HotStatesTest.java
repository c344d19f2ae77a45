package dev.weir.processor;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.InstanceOfAssertFactories.LONG;

import dev.weir.codec.KeyCodec;
import dev.weir.codec.StateCodec;
import dev.weir.limit.Account;
import dev.weir.limit.FixedWindow;
import dev.weir.policy.PolicyState;
import dev.weir.policy.StateKey;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.TreeMap;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.processor.StateStore;
import org.apache.kafka.streams.processor.StateStoreContext;
import org.apache.kafka.streams.state.KeyValueIterator;
import org.apache.kafka.streams.state.KeyValueStore;
import org.junit.jupiter.api.Test;

class HotStatesTest {

    private static final int TRIED = 20_000;
    private static final FixedWindow LIMIT = new FixedWindow(1_000_000, 1_000, false);

    private final Watched store = new Watched();
    private final HotStates states = new HotStates(store, new HotMemory(1 << 20));

    /** A store on the heap that tells what it is asked and told. */
    private static final class Watched implements KeyValueStore<Bytes, byte[]> {
        final NavigableMap<Bytes, byte[]> content = new TreeMap<>();
        final List<String> calls = new ArrayList<>();
        boolean fails;
        boolean keeps = true;

        @Override
        public void put(Bytes key, byte[] value) {
            calls.add("put " + client(key));
            write(key, value);
        }

        @Override
        public void putAll(List<KeyValue<Bytes, byte[]>> entries) {
            calls.add("put "
                    + String.join(
                            " ",
                            entries.stream().map(entry -> client(entry.key)).toList()));
            entries.forEach(entry -> write(entry.key, entry.value));
        }

        private void write(Bytes key, byte[] value) {
            if (fails) {
                throw new IllegalStateException("full");
            }
            if (value == null) {
                content.remove(key);
            } else if (keeps) {
                content.put(key, value);
            }
        }

        @Override
        public byte[] get(Bytes key) {
            calls.add("get " + client(key));
            return content.get(key);
        }

        private static String client(Bytes key) {
            return KeyCodec.decode(key.get()).client();
        }

        List<String> take() {
            List<String> taken = List.copyOf(calls);
            calls.clear();
            return taken;
        }

        @Override
        public byte[] putIfAbsent(Bytes key, byte[] value) {
            throw new UnsupportedOperationException();
        }

        @Override
        public byte[] delete(Bytes key) {
            throw new UnsupportedOperationException();
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
            return content.size();
        }

        @Override
        public String name() {
            return "states";
        }

        @Override
        public void init(StateStoreContext context, StateStore root) {}

        @Override
        public void close() {}

        @Override
        public boolean persistent() {
            return true;
        }

        @Override
        public boolean isOpen() {
            return true;
        }
    }

    private static StateKey key(String client) {
        return new StateKey(client, "p", List.of());
    }

    private static PolicyState used(long tokens) {
        return new PolicyState(0, 0, List.of(Account.open(LIMIT, 0).charge(tokens, 0)), List.of());
    }

    private static PolicyState read(byte[] key, byte[] state, int length) {
        return StateCodec.decode(state, length, shelf -> null);
    }

    private static PolicyState get(HotStates states, String client) {
        return states.get(key(client), HotStatesTest::read);
    }

    private static void use(HotStates states, String client) {
        PolicyState before = get(states, client);
        states.put(key(client), used(1 + (before == null ? 0 : tokens(before))));
    }

    private static long tokens(PolicyState state) {
        return state.accounts().get(0).used(0);
    }

    private long stored(String client) {
        byte[] state = store.content.get(Bytes.wrap(KeyCodec.encode(key(client))));
        return state == null ? 0 : tokens(read(null, state, state.length));
    }

    @Test
    void what_has_changed_is_written_once_before_the_commit_in_the_order_of_keys() {
        for (String client : List.of("b", "c", "a", "b", "b")) {
            use(states, client);
        }
        get(states, "d");
        assertThat(store.take()).containsExactly("get b", "get c", "get a", "get d");
        assertThat(tokens(get(states, "b"))).isEqualTo(3);
        states.flushCache();
        assertThat(store.take()).containsExactly("put a b c");
        assertThat(stored("b")).isEqualTo(3);
        states.flushCache();
        assertThat(store.take()).as("nothing is new").isEmpty();
        use(states, "c");
        states.flushCache();
        assertThat(store.take()).as("it was on the heap").containsExactly("put c");
        assertThat(stored("c")).isEqualTo(2);
    }

    @Test
    void a_state_is_as_it_was_put_whether_it_has_grown_or_shrunk() {
        for (long tokens : List.of(0L, 1L << 40, 127L, 1L << 14, 1L, 1L << 62, 0L)) {
            states.put(key("a"), used(tokens));
            assertThat(get(states, "a")).isEqualTo(used(tokens));
            states.flushCache();
            assertThat(store.content.get(Bytes.wrap(KeyCodec.encode(key("a")))))
                    .isEqualTo(StateCodec.encode(used(tokens)));
        }
    }

    /** Gives all keys one hash, as callers do who choose client names to this end, and counts comparisons. */
    private static final class OneHash extends KeyHash {
        private long comparisons;

        OneHash() {
            super(0);
        }

        @Override
        int hash(byte[] key) {
            return 4711;
        }

        @Override
        boolean equal(byte[] one, byte[] other) {
            comparisons++;
            return super.equal(one, other);
        }

        @Override
        int compare(byte[] one, byte[] other) {
            comparisons++;
            return super.compare(one, other);
        }
    }

    @Test
    void a_lookup_takes_a_logarithmic_number_of_comparisons_if_all_keys_have_one_hash() {
        OneHash hashing = new OneHash();
        HotStates crowded = new HotStates(store, new HotMemory(64 << 20), hashing);
        int clients = 30_000;
        for (int i = 0; i < clients; i++) {
            use(crowded, "client-" + i);
        }
        hashing.comparisons = 0;
        for (int i = 0; i < clients; i++) {
            assertThat(tokens(get(crowded, "client-" + i))).isEqualTo(1);
        }
        // A red-black tree of n keys is at most 2 log2(n + 1) high; each step compares for order and for equality.
        assertThat(hashing.comparisons / clients).isLessThanOrEqualTo(2 * 2 * 15);
    }

    @Test
    void whoever_has_no_state_is_looked_for_once() {
        get(states, "blocked");
        get(states, "blocked");
        assertThat(store.take()).containsExactly("get blocked");
    }

    @Test
    void without_memory_each_change_is_written_at_once() {
        HotStates cold = new HotStates(store, new HotMemory(0));
        use(cold, "a");
        use(cold, "a");
        assertThat(store.take()).containsExactly("get a", "put a", "get a", "put a");
        cold.flushCache();
        assertThat(store.take()).isEmpty();
    }

    @Test
    void clients_that_come_once_are_written_early_and_push_out_each_other() {
        use(states, "often");
        for (int i = 0; i < 50_000; i++) {
            use(states, "once" + i);
            if (i % 100 == 0) {
                use(states, "often");
            }
        }
        List<String> calls = store.take();
        assertThat(calls).filteredOn(call -> call.equals("get often")).hasSize(1);
        assertThat(calls).hasSizeLessThan(50_000 + 1_000); // a read each; written many at a time
        states.flushCache();
        assertThat(store.content).hasSize(50_001);
        assertThat(stored("often")).isEqualTo(501);
    }

    @Test
    void the_heap_that_states_take_is_within_the_memory() {
        long bytes = 16 << 20;
        store.keeps = false;
        List<Long> taken = new ArrayList<>(); // what others leave behind may be collected meanwhile
        while (taken.size() < 10 && taken.stream().noneMatch(some -> some >= bytes / 4 && some <= bytes + (1 << 20))) {
            taken.add(takenWhenFull(bytes));
        }
        assertThat(taken).last(LONG).isBetween(bytes / 4, bytes + (1 << 20));
    }

    private long takenWhenFull(long bytes) {
        HotStates full = new HotStates(store, new HotMemory(bytes));
        long before = liveBytes();
        for (int i = 0; i < 200_000; i++) {
            use(full, "client-" + i);
            store.calls.clear();
        }
        full.flushCache();
        long taken = liveBytes() - before;
        assertThat(full.approximateNumEntries()).isZero(); // lives until here
        return taken;
    }

    private static long liveBytes() {
        System.gc();
        return ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getUsed();
    }

    @Test
    void tasks_share_the_memory_and_who_leaves_gives_up_his_part() {
        HotMemory memory = new HotMemory(1 << 20);
        HotStates one = new HotStates(store, memory);
        HotStates other = new HotStates(new Watched(), memory);
        int alone = fits(one);
        assertThat(memory.usedBytes()).isBetween(memory.bytes() * 9 / 10, memory.bytes());
        use(other, "a");
        one.shrink();
        int shared = fits(one);
        assertThat(shared).isBetween(alone / 2 - 10, alone / 2 + 10);
        assertThat(memory.usedBytes()).isBetween(memory.bytes() * 4 / 10, memory.bytes() * 6 / 10);
        other.close();
        assertThat(fits(one)).isEqualTo(alone);
        long all = memory.usedBytes();
        one.forget(Bytes.wrap(KeyCodec.encode(key("c" + (TRIED - 1)))), null);
        assertThat(memory.usedBytes()).isLessThan(all);
        one.clearCache();
        assertThat(memory.usedBytes()).isZero();
    }

    /** How many of the last clients are found on the heap. */
    private int fits(HotStates tried) {
        for (int i = 0; i < TRIED; i++) {
            get(tried, "c" + i);
        }
        store.take();
        int found = 0;
        for (int i = TRIED - 1; i >= 0; i--) {
            get(tried, "c" + i);
            if (!store.take().isEmpty()) {
                return found;
            }
            found++;
        }
        return found;
    }

    @Test
    void what_was_not_committed_is_forgotten_when_the_task_is_closed_revived_or_becomes_a_standby() {
        List<Runnable> ends = List.of(states::close, () -> states.init(null, states), states::clearCache);
        for (Runnable end : ends) {
            use(states, "a");
            end.run();
            states.flushCache();
            assertThat(stored("a")).isZero();
            assertThat(get(states, "a")).isNull();
        }
    }

    @Test
    void what_could_not_be_written_is_written_when_it_is_tried_again() {
        use(states, "a");
        use(states, "b");
        store.fails = true;
        assertThatThrownBy(states::flushCache).hasMessage("full");
        store.fails = false;
        states.flushCache();
        assertThat(Map.of("a", stored("a"), "b", stored("b"))).isEqualTo(Map.of("a", 1L, "b", 1L));
    }

    @Test
    void what_is_written_through_is_not_written_again() {
        use(states, "a");
        states.putThrough(key("a"), used(5));
        assertThat(store.take()).containsExactly("get a", "put a");
        states.flushCache();
        assertThat(store.take()).isEmpty();
        use(states, "a");
        states.flushCache();
        assertThat(stored("a")).isEqualTo(6);
    }
}
