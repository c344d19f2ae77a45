package dev.weir.storage;

/**
 * The names of an application's tasks as lease holders, as they appear in ledgers.
 *
 * @param applicationId the id of the deciding application
 */
public record HolderNames(String applicationId) {

    /** Returns the name of the task that decides the requests of a partition. */
    public String name(int partition) {
        return applicationId + "/" + partition;
    }
}
