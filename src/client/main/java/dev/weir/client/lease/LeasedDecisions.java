package dev.weir.client.lease;

import dev.weir.event.Decision;
import dev.weir.event.Request;
import dev.weir.event.StateKey;
import dev.weir.lease.LeaseRequest;
import dev.weir.lease.LeaseResponse;
import dev.weir.lease.holder.ClockStepDetector;
import dev.weir.lease.holder.LeaseSession;
import dev.weir.wire.SchemaRegistry;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;

/** Decides requests in this process, by leases of shared limits that it requests from their ledgers. */
// The caller's thread decides under the locks of the leases that a request uses. One thread does maintenance: it sends
// messages to the ledgers and decides the requests that wait. Another thread reads the responses. Quota that is
// returned is removed from the book, under its lock, before the message is sent, so it cannot be used afterwards.
//
//   decide     DecisionAttempt → decision, or ClientLease.park
//   response   LeaseTopics → answered → ClientLease.respond → LeaseMaintenance → decision for those that wait
public final class LeasedDecisions implements AutoCloseable {

    /**
     * How long {@link #close} waits for the thread, and for responses to open requests, so that their leases can
     * be returned.
     */
    private static final long LAST_ANSWERS_MS = 1_000;

    /** How long {@link #close} passes messages to the producer. */
    private static final long GIVE_BACK_NANOS = TimeUnit.SECONDS.toNanos(2);

    /** The key of no policy, since ids of policies have no such character. Ledgers refuse it and store nothing. */
    private static final StateKey OF_NO_POLICY = new StateKey(StateKey.NO_CLIENT, "?", List.of());

    /** How long {@link #start} waits for the first response, on a machine that is slow or busy. */
    private static final long FIRST_ANSWER_MS = 2_000;

    private final LeaseSession session = newSession();
    private final ClientPolicyRegistry policies;
    private final LeaseTopics topics;
    private final LedgerClocks ledgers = new LedgerClocks();
    private final ClientLeases leases = new ClientLeases(session, ledgers);
    private final boolean hasCircuit;
    private final LeaseMaintenance maintenance;
    private final AttemptPool attempts;
    private final Set<StateKey> open = ConcurrentHashMap.newKeySet();
    private final CountDownLatch firstAnswer = new CountDownLatch(1);
    private final Semaphore lastAnswers = new Semaphore(0);

    /**
     * Creates Kafka's clients.
     *
     * @param settings the settings
     * @param registry the schema registry; empty if there is none
     * @throws org.apache.kafka.common.KafkaException if the settings are invalid
     */
    public LeasedDecisions(LeaseSettings settings, Optional<SchemaRegistry> registry) {
        hasCircuit = settings.hasCircuit();
        policies = new ClientPolicyRegistry(settings.longest());
        topics = new LeaseTopics(settings, registry, session.name(), policies, this::answered);
        DecisionAttempt.Waits waits =
                new DecisionAttempt.Waits(settings.unanswered().toMillis(), hasCircuit);
        maintenance = new LeaseMaintenance(session, leases, policies, topics, waits);
        attempts = new AttemptPool(maintenance::newAttempt);
    }

    private static LeaseSession newSession() {
        ClockStepDetector clockSteps = new ClockStepDetector();
        return new LeaseSession(
                "c-" + UUID.randomUUID(), 1, () -> clockSteps.observe(System::nanoTime, System::currentTimeMillis));
    }

    /**
     * Reads the policies. Can be repeated after a failure.
     *
     * @throws org.apache.kafka.common.KafkaException if a topic does not exist, or the brokers reject a call or do
     *     not respond
     */
    public void connect() {
        ledgers.setPartitions(topics.connect());
    }

    /**
     * Starts the threads, and requests a lease of no policy. The first request takes longest, since it opens
     * connections and runs code for the first time, here and in the enforcer. Waits for its response for up to 2 s, so
     * that requests which then come need not wait for that.
     */
    public void start() {
        topics.start();
        maintenance.start();
        topics.requestLease(OF_NO_POLICY, new LeaseRequest(1, session.name(), 1, 1, List.of(), 0, 0));
        topics.flush();
        try {
            var unused = firstAnswer.await(FIRST_ANSWER_MS, TimeUnit.MILLISECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt(); // the client is closed
        }
    }

    /**
     * Decides a request with the available quota, and does not wait.
     *
     * @param request the request
     * @return the decision; empty if that is not possible
     */
    public Optional<Decision> tryDecide(Request request) {
        DecisionAttempt attempt = attempts.take();
        LeaseReply reply = attempt.tryDecide(request);
        attempts.giveBack(attempt);
        return reply instanceof LeaseReply.Decided decided ? Optional.of(decided.decision()) : Optional.empty();
    }

    /**
     * Decides a request, or lets it wait for a lease.
     *
     * @param waiter the request
     * @return the decision, or why there is none
     */
    public LeaseReply decide(LeaseWaiter waiter) {
        DecisionAttempt attempt = attempts.take();
        LeaseReply reply = attempt.decide(waiter);
        attempts.giveBack(attempt);
        return reply;
    }

    /**
     * Returns the number of keys of which quota is held or was held recently.
     *
     * @return the number of keys
     */
    public int keys() {
        return leases.size();
    }

    /**
     * Returns whether requests do not wait for some ledgers, because these do not answer.
     *
     * @return whether the circuit for leases is open; {@code false} if there is none
     */
    public boolean isCircuitOpen() {
        return hasCircuit && ledgers.areSilent(System.nanoTime());
    }

    /**
     * Returns the last failure.
     *
     * @return the failure; empty if the same operation has succeeded since
     */
    public Optional<RuntimeException> failure() {
        return maintenance.failure().or(topics::failure);
    }

    /**
     * Returns whether an error has ended one of the threads.
     *
     * @return whether one has; {@link #failure} is then the reason
     */
    public boolean hasStopped() {
        return maintenance.hasStopped() || topics.hasStopped();
    }

    /** Returns the policies in force. */
    ClientPolicyRegistry policies() {
        return policies;
    }

    /** Processes a response. A lease of a key that is no longer used is returned. */
    private void answered(StateKey key, LeaseResponse response) {
        if (key.equals(OF_NO_POLICY)) {
            firstAnswer.countDown();
            return;
        }
        ledgers.answered(key, System.nanoTime());
        ClientLease lease = leases.get(key);
        boolean isTaken = lease != null && answered(lease, response);
        if (isTaken) {
            maintenance.wake();
        } else if (response instanceof LeaseResponse.Granted granted) {
            LeaseRequest.Report unused = new LeaseRequest.Report(granted.leaseId(), 0, granted.fromMs(), 0);
            topics.requestLease(key, LeaseRequest.report(session.name(), List.of(unused), 0));
        }
        if (!isTaken && open.remove(key)) {
            lastAnswers.release();
        }
    }

    private boolean answered(ClientLease lease, LeaseResponse response) {
        lease.lock();
        try {
            if (!lease.isRemoved()) {
                lease.respond(response, leases.nowMs());
                leases.setDue(lease);
            }
            return !lease.isRemoved();
        } finally {
            lease.unlock();
        }
    }

    /** Sends the messages that wait in the producer for further ones, and does not wait until they are written. */
    public void flush() {
        topics.flush();
    }

    /** Returns all leases and reports their usage. */
    @Override
    public void close() {
        leases.close();
        maintenance.wake();
        boolean isInterrupted = false;
        try {
            maintenance.join(LAST_ANSWERS_MS);
        } catch (InterruptedException e) {
            isInterrupted = true;
        }
        int requested = 0;
        long startNanos = System.nanoTime();
        for (ClientLease lease : leases.all()) {
            if (System.nanoTime() - startNanos > GIVE_BACK_NANOS) {
                break; // the brokers are away; leases that are not returned end by themselves
            }
            requested += giveBack(lease) ? 1 : 0;
        }
        leases.all().forEach(leases::retire);
        try {
            var unused = lastAnswers.tryAcquire(requested, LAST_ANSWERS_MS, TimeUnit.MILLISECONDS);
        } catch (InterruptedException e) {
            isInterrupted = true;
        }
        topics.close();
        if (isInterrupted) {
            Thread.currentThread().interrupt();
        }
    }

    /**
     * Returns a lease to its ledger. Returns whether a request for another lease is open, whose lease must be returned
     * as well.
     */
    private boolean giveBack(ClientLease lease) {
        ClientLease.Messages messages;
        boolean isOpen;
        lease.lock();
        try {
            if (lease.isRemoved()) {
                return false;
            }
            isOpen = lease.book().request().isPending();
            if (isOpen) {
                open.add(lease.key());
            }
            messages = lease.last();
            leases.retire(lease);
        } finally {
            lease.unlock();
        }
        maintenance.send(lease, messages);
        return isOpen;
    }

    /** Closes Kafka's clients, before {@link #start}. */
    public void discard() {
        leases.close();
        maintenance.wake();
        topics.discard();
    }
}
