package dev.weir.client.release;

/** When releases are handed out that are late, as after an outage of all workers. */
public enum LateReleases {

    /**
     * At the pace of their queue: the next one of a bucket after cost / rate. A queue that stays busy stays late, since
     * what it could have sent during the outage is lost, as in the queue itself.
     */
    PACE,

    /** At once, faster than the queue's rate. */
    AT_ONCE
}
