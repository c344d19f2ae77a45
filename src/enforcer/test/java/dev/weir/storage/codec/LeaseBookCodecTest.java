package dev.weir.storage.codec;

import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.event.StateKey;
import dev.weir.lease.holder.LeaseBook;
import dev.weir.storage.CacheBudget;
import dev.weir.storage.RecordedStore;
import dev.weir.storage.WriteBackStore;
import java.util.List;
import java.util.OptionalLong;
import org.junit.jupiter.api.Test;

class LeaseBookCodecTest {

    private static final StateKey KEY = new StateKey(StateKey.NO_CLIENT, "all", List.of());

    /** The demand is not persisted, so a book must not depend on whether it was evicted from the cache. */
    @Test
    void a_cached_lease_book_equals_the_one_read_after_a_restart() {
        RecordedStore below = new RecordedStore();
        WriteBackStore<StateKey, LeaseBook> books = new WriteBackStore<>(below, new CacheBudget(1 << 20));
        books.open(new LeaseBookCodec());
        LeaseBook book = LeaseBook.reconstructed(10, OptionalLong.empty(), 1_000, 0, false)
                .withDemand(3, 1_000);
        books.put(KEY, book);
        LeaseBook cached = books.read(KEY);
        assertThat(cached).isNotEqualTo(book);
        assertThat(cached.leases()).isEqualTo(book.leases()).isNotEmpty();
        books.flushCache();
        books.close();
        books.init(null, books);
        books.open(new LeaseBookCodec());
        assertThat(books.read(KEY)).isEqualTo(cached);
        assertThat(below.content).hasSize(1);
    }
}
