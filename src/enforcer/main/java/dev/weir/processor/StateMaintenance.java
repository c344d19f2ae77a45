package dev.weir.processor;

import dev.weir.config.WeirConfig;
import dev.weir.decision.PolicyState;
import dev.weir.event.StateKey;
import dev.weir.lease.LeaseBook;
import dev.weir.storage.StateCleaner;
import dev.weir.storage.StoredStates;
import dev.weir.storage.WriteBackStore;
import java.util.function.LongSupplier;
import org.apache.kafka.streams.processor.Cancellable;
import org.apache.kafka.streams.processor.PunctuationType;
import org.apache.kafka.streams.processor.api.ProcessorContext;

/**
 * Regularly deletes states and lease books that are as good as new, some keys at a time, and shrinks the caches in
 * front of their stores.
 */
final class StateMaintenance {

    private final WriteBackStore<StateKey, PolicyState> store;
    private final WriteBackStore<StateKey, LeaseBook> books;
    private final StateCleaner stateCleaner;
    private final StateCleaner bookCleaner;
    private final LongSupplier earliestWaitingMs;
    private final Cancellable schedule;

    /** @param earliestWaitingMs returns the earliest time of a waiting request, which the states are kept for */
    StateMaintenance(
            ProcessorContext<?, ?> context,
            WeirConfig.State config,
            WriteBackStore<StateKey, PolicyState> store,
            StoredStates states,
            WriteBackStore<StateKey, LeaseBook> books,
            LongSupplier earliestWaitingMs) {
        this.store = store;
        this.books = books;
        this.earliestWaitingMs = earliestWaitingMs;
        int keys = config.cleanupKeys();
        long keepMs = config.retention().toMillis();
        stateCleaner = new StateCleaner(store, states::forget, keys, keepMs);
        bookCleaner = new StateCleaner(books, (key, book) -> books.deleteUnlessDirty(key), keys, keepMs);
        schedule = context.schedule(config.cleanupInterval(), PunctuationType.WALL_CLOCK_TIME, this::run);
    }

    /** Records the time of a request: only what has expired long before it is deleted. */
    void observe(long timestampMs) {
        stateCleaner.observe(timestampMs);
        bookCleaner.observe(timestampMs);
    }

    private void run(long nowMs) {
        store.shrink();
        books.shrink();
        stateCleaner.observe(earliestWaitingMs.getAsLong());
        stateCleaner.run(nowMs);
        bookCleaner.run(nowMs);
    }

    /** Stops the schedule, which would outlive a task that fails and is revived. */
    void stop() {
        schedule.cancel();
    }
}
