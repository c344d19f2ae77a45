package dev.weir.query;

import dev.weir.decision.PolicyUsage;
import dev.weir.decision.SharedPolicyUsage;
import dev.weir.event.Decision;
import dev.weir.event.Request;
import dev.weir.shape.QueueView;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** What can be asked of a running instance. Nothing that is asked changes anything. */
public interface InstanceQueries {

    /** An answer, or who has it. */
    sealed interface Result<T> {

        record Local<T>(T value) implements Result<T> {}

        /** @param address {@code host:port} of the instance that owns the partition */
        record Remote<T>(String address) implements Result<T> {}

        /**
         * What the partitions of this instance hold of something that is spread over several instances.
         *
         * @param value null if they hold nothing of it
         * @param others {@code host:port} of the instances with the other partitions; the port is 0 if one answers no
         *     questions
         */
        record Partial<T>(T value, Set<String> others) implements Result<T> {}

        /** Partitions are moving, or the state is being restored: ask again. */
        record NotReady<T>(String reason) implements Result<T> {}
    }

    /**
     * What a client has used, at the request's time: of each policy that applies to the request, and of each other that
     * it has a state of. By policy id, then key.
     */
    Result<List<PolicyUsage>> usage(Request request);

    /**
     * How a request would be decided now if nothing else comes first, but for a requestId that came before. If its
     * queue is on another instance, all that is known is that it would be sent there.
     */
    Result<Decision> check(Request request);

    /**
     * What all clients have used of a policy that is shared, and what of it is lent to whom. The value is null if no
     * such policy is in force.
     *
     * @param key the values of its key fields by their names; one that is missing is empty
     */
    Result<SharedPolicyUsage> shared(String policyId, Map<String, String> key);

    /**
     * A queue as it is now; a queue that nothing has been sent to yet is empty. The value is null if there is none. A
     * queue with key fields is answered in parts, and so is one that was deleted.
     */
    Result<QueueView> queue(String id);

    /**
     * One bucket of a queue with key fields as it is now; one that is not in use is empty. The value is null if there
     * is no such queue.
     *
     * @param key the values of the key fields, by name. Other fields than those of the queue's {@link QueueView#rules
     *     rules} name no bucket: the view is then that of an empty one
     */
    Result<QueueView> key(String id, Map<String, String> key);
}
