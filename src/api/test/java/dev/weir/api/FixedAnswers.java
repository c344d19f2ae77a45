package dev.weir.api;

import dev.weir.decision.usage.PolicyUsage;
import dev.weir.decision.usage.SharedPolicyUsage;
import dev.weir.event.Decision;
import dev.weir.event.Request;
import dev.weir.lease.LeaseResponse;
import dev.weir.query.InstanceQueries;
import dev.weir.shape.view.QueueView;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Function;
import java.util.function.Supplier;

/** Returns results that the test sets. */
final class FixedAnswers implements InstanceQueries {

    volatile Result<List<PolicyUsage>> usage = new Result.NotReady<>("the state is being restored");
    volatile Function<Request, Result<Decision>> check =
            request -> new Result.NotReady<>("the state is being restored");
    volatile Function<Map<String, String>, Result<SharedPolicyUsage>> shared =
            key -> new Result.NotReady<>("the state is being restored");
    volatile Result<ReservationPage> reservations = new Result.NotReady<>("the state is being restored");
    volatile Result<QueueView> queue = new Result.NotReady<>("the state is being restored");

    volatile Result<SortedMap<String, QueueView>> draining = new Result.Partial<>(new TreeMap<>(), Set.of());

    final AtomicReference<Map<String, String>> requestedKey = new AtomicReference<>();

    /** The answers of ledgers to the last check. */
    final AtomicReference<Map<LedgerQuestion, LeaseResponse.Checked>> answered = new AtomicReference<>();

    /** The last request. */
    final AtomicReference<Request> request = new AtomicReference<>();

    @Override
    public Result<List<PolicyUsage>> usage(Request request, Supplier<List<Request>> others) {
        this.request.set(request);
        return usage;
    }

    @Override
    public Result<ReservationPage> reservations(String client, String after, int most) {
        request.set(Request.builder(after, client).cost(most).build());
        return reservations;
    }

    @Override
    public Result<Decision> check(Request request, Map<LedgerQuestion, LeaseResponse.Checked> ledgers) {
        this.request.set(request);
        answered.set(ledgers);
        return check.apply(request);
    }

    @Override
    public Result<SharedPolicyUsage> shared(LedgerQuestion question) {
        return shared.apply(question.key());
    }

    @Override
    public Result<QueueView> queue(String id) {
        return queue;
    }

    @Override
    public Result<SortedMap<String, QueueView>> unusualQueues() {
        return draining;
    }

    @Override
    public Result<QueueView> key(String id, Map<String, String> key) {
        requestedKey.set(key);
        return queue;
    }
}
