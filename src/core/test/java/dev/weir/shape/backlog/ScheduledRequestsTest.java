package dev.weir.shape.backlog;

import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.event.Admission;
import dev.weir.event.Request;
import dev.weir.shape.HeapQueueStore;
import dev.weir.shape.store.HeapSchedule;
import dev.weir.shape.store.QueueEntry.Waiting;
import dev.weir.shape.store.QueueStore;
import dev.weir.shape.store.ScheduleKey;
import dev.weir.time.DueTime;
import org.junit.jupiter.api.Test;

class ScheduledRequestsTest {

    private final ScheduledRequests scheduled = new ScheduledRequests(
            ScheduleSummary.NONE,
            new QueueStore(
                    new HeapQueueStore<>(),
                    new HeapQueueStore<>(),
                    new HeapQueueStore<>(),
                    new HeapSchedule(),
                    new HeapQueueStore<>()),
            QueueBacklog.unobserved());

    private ScheduleKey add(long atMs, long number) {
        ScheduleKey key = new ScheduleKey(atMs, number);
        Request request = Request.builder("r" + number, "c").notBeforeMs(atMs).build();
        scheduled.add(key, new Waiting(Admission.of(request, "q", null, null), number, 0, DueTime.NEVER, true, null));
        return key;
    }

    @Test
    void a_search_finds_a_request_that_was_added_after_it_had_passed_its_place() {
        ScheduleKey early = add(1_000, 90);
        ScheduleKey late = add(3_000, 10);
        assertThat(scheduled.firstBelow(50)).isEqualTo(late);
        ScheduleKey between = add(2_000, 20);
        assertThat(scheduled.firstBelow(50)).isEqualTo(between);
        scheduled.remove(between);
        scheduled.remove(late);
        assertThat(scheduled.firstBelow(50)).isNull();
        ScheduleKey last = add(4_000, 30);
        assertThat(scheduled.firstBelow(50)).isEqualTo(last);
        scheduled.remove(last);
        assertThat(scheduled.firstBelow(50)).isNull();
        assertThat(scheduled.firstBelow(100)).isEqualTo(early);
    }
}
