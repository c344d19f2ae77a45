package dev.weir.storage;

/**
 * The names of an application's tasks as lease holders, in ledgers and in what is shown of them.
 *
 * @param applicationId of the deciding application
 */
public record HolderNames(String applicationId) {

    /** The name of the task that decides the requests of a partition. */
    public String name(int partition) {
        return applicationId + "/" + partition;
    }
}
