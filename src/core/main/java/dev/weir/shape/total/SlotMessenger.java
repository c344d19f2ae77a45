package dev.weir.shape.total;

/** Sends messages about the totals of queues. They arrive later than they are sent, or not at all. */
public interface SlotMessenger {

    /** Returns the partition of the shaper that sends. */
    int partition();

    /** Returns how long a grant is expected to take until one has arrived, in milliseconds. */
    long expectedDelayMs();

    /** Sends a report to the ledger of its queue. */
    void report(SlotReport report);

    /** Sends a grant to its partition. */
    void grant(SlotGrant grant);
}
