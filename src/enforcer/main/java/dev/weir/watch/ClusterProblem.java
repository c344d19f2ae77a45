package dev.weir.watch;

/**
 * A problem in the cluster that stops an instance, or a part of it, until an operator fixes it.
 *
 * @param topic the topic that has the problem
 * @param what what is wrong, with the name of the topic
 * @param fix what to do
 */
public record ClusterProblem(Kind kind, String topic, String what, String fix) {

    /** The kinds of problems. */
    public enum Kind {
        /** A topic that the enforcer needs was deleted while it was running. */
        TOPIC_DELETED,
        /** A transaction stays open in a partition that the enforcer reads. */
        HANGING_TRANSACTION
    }

    @Override
    public String toString() {
        return what + ". " + fix;
    }
}
