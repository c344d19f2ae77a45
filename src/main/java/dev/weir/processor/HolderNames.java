package dev.weir.processor;

/**
 * Names the tasks of an application to ledgers. Two applications may read the same topics, and must not take each other's leases.
 *
 * @param applicationId of the deciding application
 */
public record HolderNames(String applicationId) {

    /** The name of the task that decides the requests of a partition. */
    String name(int partition) {
        return applicationId + "/" + partition;
    }
}
