package dev.weir.shape.store;

import java.util.TreeMap;

/** A schedule on the heap. */
public final class HeapSchedule implements ScheduleTable {

    private final TreeMap<ScheduleKey, QueueEntry.Waiting> entries = new TreeMap<>();

    @Override
    public QueueEntry.Waiting get(ScheduleKey key) {
        return entries.get(key);
    }

    @Override
    public void put(ScheduleKey key, QueueEntry.Waiting value) {
        entries.put(key, value);
    }

    @Override
    public void delete(ScheduleKey key) {
        entries.remove(key);
    }

    @Override
    public ScheduleKey firstFrom(ScheduleKey from) {
        return entries.ceilingKey(from);
    }

    public int size() {
        return entries.size();
    }
}
