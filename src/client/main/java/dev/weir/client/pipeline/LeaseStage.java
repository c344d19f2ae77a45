package dev.weir.client.pipeline;

import dev.weir.client.clock.AnswerClock;
import dev.weir.client.decision.NoDecisionReason;
import dev.weir.client.lease.LeaseReply;
import dev.weir.client.lease.LeaseWaiter;
import dev.weir.client.lease.LeasedDecisions;
import dev.weir.event.Request;

/** The second stage of a leased client: leases decide a request, it waits for one, or it goes on over the topic. */
final class LeaseStage implements RequestStage {

    private final LeasedDecisions leases;
    private final RequestAdmission admission;
    private final PendingRequests pending;
    private final RequestCompleter completer;
    private final RequestStage overTopic;

    LeaseStage(
            LeasedDecisions leases,
            RequestAdmission admission,
            PendingRequests pending,
            RequestCompleter completer,
            RequestStage overTopic) {
        this.leases = leases;
        this.admission = admission;
        this.pending = pending;
        this.completer = completer;
        this.overTopic = overTopic;
    }

    @Override
    public int queued() {
        return overTopic.queued();
    }

    @Override
    public void accept(PendingRequest request) {
        LeaseWait wait = new LeaseWait(request);
        wait.apply(leases.decide(wait));
    }

    /** A request that can wait for a lease. */
    final class LeaseWait implements LeaseWaiter, PendingRequest.Wait {

        private final PendingRequest request;
        private volatile AnswerClock ledger; // null unless it waits for a lease

        LeaseWait(PendingRequest request) {
            this.request = request;
        }

        private void apply(LeaseReply reply) {
            if (reply instanceof LeaseReply.Decided decided) {
                completer.decidedHere(request, decided.decision());
                return;
            }
            switch ((LeaseReply.Undecided) reply) {
                case WAITS -> {}
                case NO_ROOM -> completer.fail(request, NoDecisionReason.TOO_MANY_WAITING);
                case NO_LEASE -> completer.fail(request, atTimeout());
                case NO_LEDGER -> completer.fail(request, NoDecisionReason.NO_LEDGER);
                case OVER_TOPIC -> overTopic.accept(request);
            }
        }

        /** Returns overload if its ledger has answered others meanwhile, so that it had to wait behind them. */
        @Override
        public NoDecisionReason atTimeout() {
            AnswerClock current = ledger;
            return current != null && current.hasAnsweredSince(request.startNanos())
                    ? NoDecisionReason.OVERLOADED
                    : NoDecisionReason.NO_LEASE;
        }

        @Override
        public Request request() {
            return request.request();
        }

        @Override
        public long withinNanos() {
            return request.within().toNanos();
        }

        @Override
        public long waitedNanos() {
            return request.waitedNanos();
        }

        @Override
        public boolean enter(AnswerClock first) {
            ledger = first;
            return admission.beginWithoutCircuit(request, this);
        }

        @Override
        public void waitFor(AnswerClock next) {
            ledger = next;
        }

        @Override
        public boolean isOver() {
            return !pending.contains(request);
        }

        @Override
        public void end(LeaseReply reply) {
            if (reply == LeaseReply.Undecided.OVER_TOPIC) {
                completer.execute(() -> apply(reply)); // its policies changed while it waited
            } else {
                apply(reply);
            }
        }
    }
}
