package dev.weir.query;

import dev.weir.decision.usage.OpenReservation;
import dev.weir.decision.usage.PolicyUsage;
import dev.weir.decision.usage.SharedPolicyUsage;
import dev.weir.event.Decision;
import dev.weir.event.Request;
import dev.weir.lease.LeaseResponse;
import dev.weir.shape.view.QueueView;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.SortedMap;
import java.util.function.Supplier;

/** The read-only queries of a running instance. */
public interface InstanceQueries {

    /** A result, or the instance that can return it. */
    sealed interface Result<T> {

        /** The result. */
        record Local<T>(T value) implements Result<T> {}

        /**
         * The result is on another instance.
         *
         * @param address {@code host:port} of the instance that owns the partition
         */
        record Remote<T>(String address) implements Result<T> {}

        /**
         * The part of a result that is spread over several instances.
         *
         * @param value the part of this instance, null if it has none
         * @param others {@code host:port} of the instances with the other partitions; the port is 0 if an instance
         *     serves no queries
         */
        record Partial<T>(T value, Set<String> others) implements Result<T> {}

        /**
         * The result depends on ledgers, which can be on other instances.
         *
         * @param questions what to ask them
         */
        record Dependent<T>(Set<LedgerQuestion> questions) implements Result<T> {}

        /** Partitions are being reassigned or their state is being restored: the query must be repeated later. */
        record NotReady<T>(String reason) implements Result<T> {}
    }

    /**
     * A question to the ledger of a shared policy.
     *
     * @param key the values of the policy's key fields by name
     * @param cost the tokens of which it is asked whether it would lend them, 1 or more
     * @param holder the holder that it would lend them to; empty for one without leases
     */
    record LedgerQuestion(String policyId, Map<String, String> key, long cost, String holder) {}

    /**
     * Returns the usage of a client at the time of the request, for each policy that applies to the request and for
     * each other policy that has a state of the client. Sorted by policy id, then key.
     */
    default Result<List<PolicyUsage>> usage(Request request) {
        return usage(request, List::of);
    }

    /**
     * Returns the same as {@link #usage(Request)}, and the usage of the policies that apply to other requests of the
     * client.
     *
     * @param others returns the other requests; called only if this instance has the state of the client
     */
    Result<List<PolicyUsage>> usage(Request request, Supplier<List<Request>> others);

    /**
     * A part of a list of reservations.
     *
     * @param reservations the open reservations in it
     * @param next the requestId after which the next part begins; empty if this is the last one
     */
    record ReservationPage(List<OpenReservation> reservations, Optional<String> next) {}

    /** The maximum number of reservations that are read for a page, including ended ones. */
    int MAX_RESERVATIONS_READ = 10_000;

    /**
     * Returns open reservations of a client, in the order of the UTF-8 bytes of their requestIds. A page has less than
     * {@code most} of them if {@value #MAX_RESERVATIONS_READ} were read for it.
     *
     * @param after returns only those whose requestId sorts after this one
     * @param most the most reservations, at least 1
     */
    Result<ReservationPage> reservations(String client, String after, int most);

    /**
     * Returns how a request would be decided if it were the next one. Nothing is charged. If its queue is on another
     * instance, the result only says that the request would be sent there. If shared limits apply, the result is
     * {@link Result.Dependent} until the ledgers' answers are given.
     *
     * @param ledgers the answers of ledgers
     */
    Result<Decision> check(Request request, Map<LedgerQuestion, LeaseResponse.Checked> ledgers);

    /** Like {@link #check(Request, Map)}, for a request to which no shared limits apply. */
    default Result<Decision> check(Request request) {
        return check(request, Map.of());
    }

    /**
     * Returns the usage of a shared policy by all clients, and its outstanding leases. The value is null if no such
     * policy is in force.
     *
     * @param question the policy, the values of its key fields (missing ones are empty), and a cost
     */
    Result<SharedPolicyUsage> shared(LedgerQuestion question);

    /**
     * Returns the current state of a queue, which is empty if nothing has been sent to it. The value is null if the
     * queue does not exist. For a keyed queue, and for a deleted one, the result is {@link Result.Partial}.
     */
    Result<QueueView> queue(String id);

    /** The maximum number of unusual queues per partition that are returned. */
    int MAX_UNUSUAL = 1_000;

    /**
     * Returns the queues that are not in force, because they were deleted, and in which requests still wait, and those
     * for which commands of operators are in effect, by id. The result is {@link Result.Partial} or {@link Result.NotReady}.
     */
    Result<SortedMap<String, QueueView>> unusualQueues();

    /**
     * Returns the current state of one bucket of a keyed queue, which is empty if it is not in use. The value is null
     * if the queue does not exist.
     *
     * @param key the values of the key fields by name. If the names are not those of the queue's
     *     {@link QueueView#rules rules}, the result is an empty bucket
     */
    Result<QueueView> key(String id, Map<String, String> key);
}
