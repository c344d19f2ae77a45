package dev.weir.simulation;

import dev.weir.event.Release;
import dev.weir.event.Request;
import dev.weir.event.RequestKind;
import dev.weir.lease.LeaseRequest;
import dev.weir.lease.LeaseResponse;
import dev.weir.shape.total.SlotGrant;
import dev.weir.shape.total.SlotRun;
import dev.weir.simulation.Violation.Promise;
import dev.weir.topology.Stores;
import java.util.List;

/** What can be broken on purpose, to see that the checks find it. */
enum InjectedFlaw {
    NONE(null),
    /** What a transaction wrote to the changelogs is lost, though it was committed. */
    CHANGELOG_LOST(Promise.DECIDED_ALIKE),
    /** Who takes over also restores what aborted transactions wrote. */
    ABORTED_STATE_RESTORED(Promise.DECIDED_ALIKE),
    /** A task that failed goes on with its state as it is, as if a processor had it in its fields. */
    STATE_SURVIVES_ABORT(Promise.DECIDED_ALIKE),
    /** What an aborted transaction wrote is read all the same. */
    OUTPUT_SURVIVES_ABORT(Promise.ANSWERED_ONCE),
    /** How far one has read is kept though the transaction is aborted. */
    OFFSETS_OUTSIDE_TRANSACTION(Promise.ANSWERED_ONCE),
    /** Who has lost its tasks can commit. */
    ZOMBIES_COMMIT(Promise.ANSWERED_ONCE),
    /** Who takes over does not wait for the transactions of the one before. */
    IMPATIENT_TAKEOVER(Promise.RESTORED_AS_IT_WAS),
    /** A store does not keep some of what is put. */
    STORE_FORGETS(Promise.DECIDED_ALIKE),
    /** Of the states that are written before a commit, one is left out. */
    FLUSH_LOSES_ONE(Promise.DECIDED_ALIKE),
    /** States that are only on the heap are written after the commit, in the next transaction. */
    FLUSHED_AFTER_COMMIT(Promise.DECIDED_ALIKE),
    /** A task that failed finds on the heap what it did not commit. */
    HEAP_SURVIVES_ABORT(Promise.DECIDED_ALIKE),
    /** A queue's state is not kept: neither its pace nor its sequence. */
    PACE_FORGOTTEN(Promise.IN_SEQUENCE),
    /** Of what a queue has released, the last is not always kept. */
    RELEASES_FORGOTTEN(Promise.RESTORED_AS_IT_WAS),
    /** The machine's clock decides, not the record's time. */
    CLOCK_DECIDES(Promise.DECIDED_ALIKE),
    /** A change of policies holds when it is heard of, not from a record's time on. */
    CHANGES_AT_ONCE(Promise.DECIDED_ALIKE),
    /** The sweep forgets what still counts. */
    SWEEP_TOO_EARLY(Promise.DECIDED_ALIKE),
    /** Punctuations that are called off go on. */
    PUNCTUATIONS_PILE_UP(Promise.BOUNDED),
    /** The core counts requests, not what they cost; who decides anew has the same core, and sees nothing. */
    COSTS_NOT_COUNTED(Promise.WITHIN_LIMITS),
    /** What leaves a queue is to leave when it is written, however far ahead of its turn. */
    STAMPED_WHEN_WRITTEN(Promise.IN_PACE),
    /** What leaves a queue is told twice, under the same number. */
    RELEASED_TWICE(Promise.ENDS_ONCE),
    /** Queues go by the clock of their instance. */
    QUEUES_BY_OWN_CLOCK(Promise.BY_BROKER_TIME),
    /** Instances miss some changes of policies. */
    CHANGES_MISSED(Promise.POLICIES_AGREE),
    /** After some punctuations a task is woken no more. */
    NOT_WOKEN(Promise.DRAINS),
    /** A slice is worth twice what the ledger takes it for. */
    LENT_TWICE(Promise.NEVER_ABOVE),
    /** The slots of a grant follow each other ten times as fast as those of the queue's total. */
    SLOTS_TOO_CLOSE(Promise.IN_PACE),
    /** Who takes over a ledger does not know what is lent. */
    LOANS_FORGOTTEN(Promise.NEVER_ABOVE),
    /** Who takes over does not know who waits for quota. */
    WAITING_FORGOTTEN(Promise.ANSWERED_ONCE),
    /** The position of a task's last decision is not stored after the first time. */
    ORDER_FORGOTTEN(Promise.DECIDED_ALIKE),
    /** What is settled beside the slices is not told to the ledger. */
    SETTLES_LOST(Promise.ACCOUNTED_FOR);

    /** Which check is to find it. */
    final Promise breaks;

    InjectedFlaw(Promise breaks) {
        this.breaks = breaks;
    }

    /**
     * Whether a store does not keep what is put there for the nth time, from 0.
     *
     * @param isChange whether there is something under the key already
     */
    boolean loses(String store, int n, boolean isChange) {
        return switch (this) {
            case STORE_FORGETS -> store.equals(Stores.POLICY_STATES) && n % 7 == 6;
            case PACE_FORGOTTEN -> store.equals(Stores.QUEUE_STATES) && isChange;
            case RELEASES_FORGOTTEN -> store.equals(Stores.QUEUE_STATES) && n % 5 == 4;
            case ORDER_FORGOTTEN -> store.equals(Stores.DECISION_ORDER) && n > 0;
            default -> false;
        };
    }

    /** What is written of a release. */
    Release written(Release r, long nowNanos) {
        return this != STAMPED_WHEN_WRITTEN
                ? r
                : new Release(
                        r.requestId(),
                        r.client(),
                        r.tier(),
                        r.queue(),
                        r.key(),
                        r.sequence(),
                        r.enqueuedAtMs(),
                        nowNanos,
                        r.cost(),
                        r.attributes(),
                        r.payload());
    }

    /** What a ledger is told. */
    LeaseRequest asked(LeaseRequest r) {
        return this != SETTLES_LOST
                ? r
                : new LeaseRequest(
                        r.number(), r.holder(), r.minTokens(), r.requestedTokens(), r.reports(), 0, r.roundTripMs());
    }

    /** What a ledger answers. */
    LeaseResponse granted(LeaseResponse response) {
        return this == LENT_TWICE && response instanceof LeaseResponse.Granted g
                ? new LeaseResponse.Granted(
                        g.number(), g.leaseId(), 2 * g.amount(), g.appendedAtMs(), g.fromMs(), g.untilMs(), g.isLast())
                : response;
    }

    /** What a ledger of a total gives. */
    SlotGrant given(SlotGrant grant) {
        if (this != SLOTS_TOO_CLOSE) {
            return grant;
        }
        List<SlotRun> runs = grant.runs().stream()
                .map(run -> new SlotRun(run.start(), 10 * run.slots()))
                .toList();
        return new SlotGrant(
                grant.queue(),
                grant.partition(),
                grant.sentAtMs(),
                10 * grant.limit(),
                grant.perMs(),
                grant.waitingElsewhere(),
                runs);
    }

    /** What the core sees of a request. */
    Request seen(Request r) {
        return this != COSTS_NOT_COUNTED || r.kind() != RequestKind.CONSUME
                ? r
                : new Request(
                        r.requestId(),
                        r.client(),
                        r.kind(),
                        r.tier(),
                        Math.min(1, r.cost()),
                        r.sizeBytes(),
                        r.attributes(),
                        r.deadlineMs(),
                        r.payload(),
                        r.queue(),
                        r.timestampMs(),
                        r.source());
    }
}
