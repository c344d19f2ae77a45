package dev.weir.processor;

import dev.weir.config.WeirConfig;
import dev.weir.decision.state.PolicyState;
import dev.weir.event.StateKey;
import dev.weir.lease.holder.LeaseBook;
import dev.weir.storage.StateCleaner;
import dev.weir.storage.StoredStates;
import dev.weir.storage.WriteBackStore;
import dev.weir.storage.codec.ReservationEntry;
import java.util.function.LongSupplier;
import org.apache.kafka.streams.processor.api.ProcessorContext;

/**
 * Deletes expired states and lease books, a bounded number of keys at a time, and shrinks the caches in front of their
 * stores.
 */
final class StateMaintenance {

    private final Stores stores;
    private final StateCleaner stateCleaner;
    private final StateCleaner bookCleaner;
    private final LongSupplier earliestWaitingMs;
    private final ProcessorContext<?, ?> context;
    private final CleaningSchedule schedule;

    /** The stores with caches. */
    record Stores(
            WriteBackStore<StateKey, PolicyState> states,
            WriteBackStore<StateKey, LeaseBook> books,
            WriteBackStore<byte[], ReservationEntry> reservations) {}

    /**
     * Starts the schedule.
     *
     * @param earliestWaitingMs returns the earliest timestamp of a waiting request; states that it may need are kept
     */
    StateMaintenance(
            ProcessorContext<?, ?> context,
            WeirConfig.State config,
            Stores stores,
            StoredStates states,
            LongSupplier earliestWaitingMs) {
        this.context = context;
        this.stores = stores;
        this.earliestWaitingMs = earliestWaitingMs;
        int keys = config.cleanupKeys();
        long keepMs = config.retention().toMillis();
        stateCleaner = new StateCleaner(stores.states, states::purge, keys, keepMs);
        bookCleaner = new StateCleaner(stores.books, (key, book) -> stores.books.deleteUnlessDirty(key), keys, keepMs);
        schedule = new CleaningSchedule(
                context,
                config.cleanupInterval(),
                this::clean,
                () -> Math.min(stateCleaner.dueMs(), bookCleaner.dueMs()));
    }

    /** Records the timestamp of a request. Only entries that expired long before it are deleted. */
    void observe(long timestampMs) {
        stateCleaner.observe(timestampMs);
        bookCleaner.observe(timestampMs);
        schedule.plan();
    }

    /** Evicts what exceeds the share of each cache in the memory of all. Writes nothing. */
    void shrinkCaches() {
        stores.states.shrinkClean();
        stores.books.shrinkClean();
        stores.reservations.shrinkClean();
    }

    private void clean() {
        long nowMs = context.currentSystemTimeMs();
        stateCleaner.observe(earliestWaitingMs.getAsLong());
        stateCleaner.run(nowMs);
        bookCleaner.run(nowMs);
    }

    /** Stops the schedule, which would otherwise survive when a failed task is initialized again. */
    void stop() {
        schedule.stop();
    }
}
