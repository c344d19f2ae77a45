package dev.weir.requests;

/**
 * The partitions of the request topic, and those of the state of clients. The request topic may get more while an
 * enforcer is running. Thread-safe.
 */
public final class RequestPartitions {

    private final int state;
    private volatile int requests;
    private volatile boolean isAddedRead;

    /**
     * @param state the number of partitions of the state, which is the number of tasks
     * @param requests the number of partitions of the request topic
     */
    public RequestPartitions(int state, int requests) {
        this.state = state;
        this.requests = requests;
    }

    /** Returns the number of partitions of the state. It does not change while an enforcer is running. */
    public int state() {
        return state;
    }

    /** Returns the number of partitions of the request topic when it was last looked up. */
    public int requests() {
        return requests;
    }

    /** Returns whether partitions were added to the request topic after the state was partitioned. */
    public boolean areAdded() {
        return isAddedRead || requests > state;
    }

    /** Records that a record of a partition was read. One of an added partition can be read before the next look-up. */
    public void read(int partition) {
        if (partition >= state && !isAddedRead) {
            isAddedRead = true;
        }
    }

    /** Records the number of partitions of the request topic. Returns whether it has changed. */
    public boolean update(int now) {
        boolean isChanged = now != requests;
        requests = now;
        return isChanged;
    }
}
