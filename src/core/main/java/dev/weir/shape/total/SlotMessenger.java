package dev.weir.shape.total;

/** Where a partition sends messages about the totals of its queues. They arrive after they were sent, or not at all. */
public interface SlotMessenger {

    /** The partition of the shaper that sends them. */
    int partition();

    /** How long a grant is expected to take as long as none has come, in ms. */
    long expectedDelayMs();

    /** Sends a report to the ledger of its queue. */
    void report(SlotReport report);

    /** Sends a grant to its partition. */
    void grant(SlotGrant grant);
}
