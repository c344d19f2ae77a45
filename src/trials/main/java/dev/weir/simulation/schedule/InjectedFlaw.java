package dev.weir.simulation.schedule;

import dev.weir.event.Admission;
import dev.weir.event.Release;
import dev.weir.event.Request;
import dev.weir.event.RequestKind;
import dev.weir.lease.LeaseRequest;
import dev.weir.lease.LeaseResponse;
import dev.weir.lease.Refund;
import dev.weir.shape.effect.QueueMessage;
import dev.weir.shape.rules.TotalRate;
import dev.weir.shape.total.GrantedRun;
import dev.weir.shape.total.InFlightGrant;
import dev.weir.shape.total.InFlightLoan;
import dev.weir.shape.total.TotalGrant;
import dev.weir.simulation.schedule.Violation.Promise;
import dev.weir.topology.Stores;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** A flaw that is injected to test that the checks find it. */
public enum InjectedFlaw {
    NONE(null),
    /** The changelog records of committed transactions are lost. */
    CHANGELOG_LOST(Promise.DECIDED_ALIKE),
    /** A restore includes changelog records of aborted transactions. */
    ABORTED_STATE_RESTORED(Promise.DECIDED_ALIKE),
    /** A failed task keeps its state, as if a processor had it in fields. */
    STATE_SURVIVES_ABORT(Promise.DECIDED_ALIKE),
    /** The output of aborted transactions is read. */
    OUTPUT_SURVIVES_ABORT(Promise.ANSWERED_ONCE),
    /** Offsets are kept even if their transaction is aborted. */
    OFFSETS_OUTSIDE_TRANSACTION(Promise.ANSWERED_ONCE),
    /** A thread that has lost its tasks can commit. */
    ZOMBIES_COMMIT(Promise.ANSWERED_ONCE),
    /** A takeover does not wait for the transactions of the previous owner. */
    IMPATIENT_TAKEOVER(Promise.RESTORED_AS_IT_WAS),
    /** A store loses some writes. */
    STORE_LOSES_STATES(Promise.DECIDED_ALIKE),
    /** The flush before a commit leaves out one state. */
    FLUSH_LOSES_ONE(Promise.DECIDED_ALIKE),
    /** Cached states are flushed after the commit, in the next transaction. */
    FLUSHED_AFTER_COMMIT(Promise.DECIDED_ALIKE),
    /** The cache of a failed task keeps uncommitted states. */
    HEAP_SURVIVES_ABORT(Promise.DECIDED_ALIKE),
    /** Changes of a queue's state are not stored, neither its pace nor its sequence. */
    PACE_FORGOTTEN(Promise.IN_SEQUENCE),
    /** The last release of a queue is not always stored. */
    RELEASES_FORGOTTEN(Promise.RESTORED_AS_IT_WAS),
    /** Decisions use the machine's clock instead of the record's time. */
    CLOCK_DECIDES(Promise.DECIDED_ALIKE),
    /** A policy change takes effect when an instance reads it, not at a record time. */
    CHANGES_AT_ONCE(Promise.DECIDED_ALIKE),
    /** The cleanup deletes state that still counts. */
    SWEEP_TOO_EARLY(Promise.DECIDED_ALIKE),
    /** Cancelled punctuations continue. */
    PUNCTUATIONS_PILE_UP(Promise.BOUNDED),
    /** The core counts requests instead of costs. A recomputation has the same flaw, so it does not find it. */
    COSTS_NOT_COUNTED(Promise.WITHIN_LIMITS),
    /** A release has the time at which it is written, however far ahead of its turn. */
    STAMPED_WHEN_WRITTEN(Promise.IN_PACE),
    /** A release is written twice, with the same sequence number. */
    RELEASED_TWICE(Promise.ENDS_ONCE),
    /** Queues do not obey commands to pause. */
    PAUSES_IGNORED(Promise.PAUSED),
    /** Queues take an attempt for lost before the time that its release has. */
    LOST_TOO_EARLY(Promise.WITHIN_SLOTS),
    /** Queues accept what others than its client report about an attempt. */
    FORGERIES_ACCEPTED(Promise.WITHIN_SLOTS),
    /** Queues use the clock of their instance. */
    QUEUES_BY_OWN_CLOCK(Promise.BY_BROKER_TIME),
    /** Instances miss some policy changes. */
    CHANGES_MISSED(Promise.POLICIES_AGREE),
    /** Later punctuations of a task are ignored, so it is no longer woken. */
    NOT_WOKEN(Promise.DRAINS),
    /** A lease is worth twice the amount that the ledger has recorded. */
    LENT_TWICE(Promise.NEVER_ABOVE),
    /** The time of a grant is used ten times as fast as the total of the queue permits. */
    TOTAL_TOO_FAST(Promise.IN_PACE),
    /** The ledger of a total lends one slot more to each partition than it has recorded. */
    SLOT_LENT_TWICE(Promise.WITHIN_SLOTS),
    /** A takeover of a ledger loses its outstanding leases. */
    LEASES_LOST(Promise.NEVER_ABOVE),
    /** A takeover loses the requests that wait for quota. */
    WAITING_FORGOTTEN(Promise.ANSWERED_ONCE),
    /** The position of a task's last decision is only stored the first time. */
    ORDER_FORGOTTEN(Promise.DECIDED_ALIKE),
    /** The ends of reservations are not stored. */
    RESERVATIONS_OPEN_AGAIN(Promise.DECIDED_ALIKE),
    /** Settlements beyond the leases are not reported to the ledger. */
    SETTLES_LOST(Promise.ACCOUNTED_FOR),
    /** A ledger applies each refund of a settled reservation twice. */
    REFUNDED_TWICE(Promise.ACCOUNTED_FOR);

    /** The promise whose check must find the flaw. */
    public final Promise breaks;

    InjectedFlaw(Promise breaks) {
        this.breaks = breaks;
    }

    /**
     * Returns whether a store loses its nth write, from 0.
     *
     * @param isChange whether the key already has a value
     */
    public boolean loses(String store, int n, boolean isChange) {
        return switch (this) {
            case STORE_LOSES_STATES -> store.equals(Stores.POLICY_STATES) && n % 7 == 6;
            case PACE_FORGOTTEN -> store.equals(Stores.QUEUE_STATES) && isChange;
            case RELEASES_FORGOTTEN -> store.equals(Stores.QUEUE_STATES) && n % 5 == 4;
            case RESERVATIONS_OPEN_AGAIN -> store.equals(Stores.RESERVATIONS) && isChange;
            case ORDER_FORGOTTEN -> store.equals(Stores.DECISION_ORDER) && n > 0;
            default -> false;
        };
    }

    /** Returns the release to write. */
    public Release written(Release r, long nowNanos) {
        return switch (this) {
            case STAMPED_WHEN_WRITTEN -> r.toBuilder().releaseAtNanos(nowNanos).build();
            case LOST_TOO_EARLY -> r.attempt() == null ? r : withTwiceTheTime(r);
            default -> r;
        };
    }

    private static Release withTwiceTheTime(Release r) {
        Release.Attempt of = r.attempt();
        return r.toBuilder()
                .attempt(new Release.Attempt(of.number(), of.receipt(), 2 * of.ackTimeoutMs()))
                .build();
    }

    /** Returns the message that a queue receives. */
    public QueueMessage received(QueueMessage message) {
        boolean isAnswer = this == FORGERIES_ACCEPTED
                && message instanceof QueueMessage.Admitted admitted
                && admitted.admission().request().kind().isAcknowledgement();
        if (!isAnswer) {
            return message;
        }
        Admission of = ((QueueMessage.Admitted) message).admission();
        String client = of.request().acknowledgement().attempt().flow().value();
        Request answer = Request.builder(of.request().requestId(), client)
                .kind(of.request().kind())
                .acknowledgement(of.request().acknowledgement())
                .timestampMs(of.request().timestampMs())
                .source(of.request().source())
                .build();
        return new QueueMessage.Admitted(
                new Admission(answer, of.sent(), of.key(), of.identity(), of.headers(), of.context()));
    }

    /** Returns the request that a ledger receives. */
    public LeaseRequest leaseRequest(LeaseRequest r) {
        LeaseRequest.Usage usage =
                switch (this) {
                    case SETTLES_LOST -> new LeaseRequest.Usage(r.reports(), 0, r.refunds());
                    case REFUNDED_TWICE -> new LeaseRequest.Usage(r.reports(), r.settled(), twice(r.refunds()));
                    default -> r.usage();
                };
        return new LeaseRequest(r.number(), r.holder(), r.wanted(), usage, r.roundTripMs(), r.isReset());
    }

    private static LeaseRequest.Refunds twice(LeaseRequest.Refunds once) {
        List<Refund> refunds = new ArrayList<>(once.refunds());
        refunds.addAll(once.refunds());
        return new LeaseRequest.Refunds(once.number(), refunds, once.freed(), once.renewals());
    }

    /** Returns the response of a ledger. */
    public LeaseResponse leaseResponse(LeaseResponse response) {
        return this == LENT_TWICE && response instanceof LeaseResponse.Granted g
                ? new LeaseResponse.Granted(
                        g.number(), g.leaseId(), 2 * g.amount(), g.appendedAtMs(), g.fromMs(), g.untilMs(), g.free())
                : response;
    }

    /** Returns the grant of a ledger of a total. */
    public TotalGrant given(TotalGrant grant) {
        return switch (this) {
            case TOTAL_TOO_FAST -> {
                List<GrantedRun> runs = grant.runs().stream()
                        .map(run -> new GrantedRun(run.start(), 10 * run.tokens()))
                        .toList();
                Optional<TotalRate> rate = grant.rate().map(each -> new TotalRate(10 * each.limit(), each.perMs()));
                yield with(grant, rate, runs, grant.inFlight());
            }
            case SLOT_LENT_TWICE -> {
                InFlightLoan loan = grant.inFlight().loan();
                InFlightLoan more = loan.slots() == 0 ? loan : new InFlightLoan(loan.number() + 1, loan.slots() + 1);
                InFlightGrant inFlight =
                        new InFlightGrant(more, grant.inFlight().recall());
                yield with(grant, grant.rate(), grant.runs(), inFlight);
            }
            default -> grant;
        };
    }

    private static TotalGrant with(
            TotalGrant grant, Optional<TotalRate> rate, List<GrantedRun> runs, InFlightGrant inFlight) {
        return new TotalGrant(
                grant.place(),
                grant.number(),
                grant.sentAtMs(),
                rate,
                grant.waitingElsewhere(),
                grant.weights(),
                runs,
                inFlight);
    }

    /** Returns the request that the core sees. */
    public Request seen(Request r) {
        return this != COSTS_NOT_COUNTED || r.kind() != RequestKind.CONSUME
                ? r
                : r.toBuilder().cost(Math.min(1, r.cost())).build();
    }
}
