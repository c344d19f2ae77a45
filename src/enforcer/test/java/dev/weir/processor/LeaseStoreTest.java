package dev.weir.processor;

import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.event.Request;
import dev.weir.event.StateKey;
import dev.weir.lease.LeaseTerms;
import dev.weir.lease.holder.LeaseBook;
import dev.weir.lease.holder.LeaseSession;
import dev.weir.policy.PolicyTable;
import dev.weir.storage.CacheBudget;
import dev.weir.storage.WriteBackStore;
import dev.weir.storage.codec.WaiterCodec.Waiter;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.processor.TaskId;
import org.apache.kafka.streams.processor.api.MockProcessorContext;
import org.apache.kafka.streams.state.KeyValueStore;
import org.apache.kafka.streams.state.Stores;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tests with requests that wait for a lease which is never granted. */
class LeaseStoreTest {

    private static final StateKey KEY = new StateKey(StateKey.NO_CLIENT, "all", List.of());

    @TempDir
    private Path directory;

    private final List<String> answered = new ArrayList<>();
    private LeaseStore leases;

    @BeforeEach
    void open() {
        WriteBackStore<StateKey, LeaseBook> books = new WriteBackStore<>(open("books"), new CacheBudget(1 << 20));
        LeaseSession session = new LeaseSession("weir/0", 1, () -> 0);
        leases = new LeaseStore(session, books, open("waiting"), LeaseTerms.DEFAULTS, () -> PolicyTable.EMPTY, 0);
    }

    /** Records and removes all requests that are ready. */
    private void wake(long nowMs) {
        leases.wake(nowMs);
        for (var ready = leases.nextReady(nowMs); ready.isPresent(); ready = leases.nextReady(nowMs)) {
            answered.add(ready.get().waiter().request().requestId());
            leases.remove();
        }
    }

    private KeyValueStore<Bytes, byte[]> open(String name) {
        KeyValueStore<Bytes, byte[]> opened = Stores.inMemoryKeyValueStore(name).get();
        MockProcessorContext<?, ?> context =
                new MockProcessorContext<>(new Properties(), new TaskId(0, 0), directory.toFile());
        opened.init(context.getStateStoreContext(), opened);
        return opened;
    }

    private void park(String id, long nowMs) {
        Request request =
                Request.builder(id, "alice").timestampMs(nowMs).source(0, 0).build();
        leases.park(new Waiter(KEY, 50, request, List.of()), nowMs);
        leases.endStep(nowMs);
    }

    @Test
    void the_earliest_waiting_request_is_known_while_it_waits() {
        assertThat(leases.earliestMs()).isEqualTo(Long.MAX_VALUE);
        park("first", 1_000);
        park("second", 1_060);
        assertThat(leases.earliestMs()).isEqualTo(1_000);
        wake(1_060);
        assertThat(leases.earliestMs()).isEqualTo(1_060);
    }

    @Test
    void a_timed_out_request_is_answered_although_others_arrive_at_the_same_moment() {
        park("first", 1_000);
        park("second", 1_060);
        wake(1_060);
        assertThat(answered).containsExactly("first");
    }
}
