package dev.weir.shape;

import dev.weir.shape.store.HeapSchedule;
import dev.weir.shape.store.QueueEntry;
import dev.weir.shape.store.ScheduleKey;
import dev.weir.shape.store.ScheduleTable;

/** A schedule on the heap that counts its calls. */
final class CountedSchedule implements ScheduleTable {

    private final HeapSchedule entries = new HeapSchedule();
    long calls;

    @Override
    public QueueEntry.Waiting get(ScheduleKey key) {
        calls++;
        return entries.get(key);
    }

    @Override
    public void put(ScheduleKey key, QueueEntry.Waiting value) {
        calls++;
        entries.put(key, value);
    }

    @Override
    public void delete(ScheduleKey key) {
        calls++;
        entries.delete(key);
    }

    @Override
    public ScheduleKey firstFrom(ScheduleKey from) {
        calls++;
        return entries.firstFrom(from);
    }

    int size() {
        return entries.size();
    }
}
