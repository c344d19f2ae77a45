package dev.weir.api;

import dev.weir.backtest.BacktestBudget;
import dev.weir.backtest.BacktestComparison;
import dev.weir.config.WeirConfig;
import dev.weir.deadletter.DeadLetterList;
import dev.weir.deadletter.DeadLetterPosition;
import dev.weir.deadletter.DeadLetterReplay;
import dev.weir.definition.PolicyFile;
import dev.weir.definition.PolicyFile.Contents;
import dev.weir.event.Request;
import dev.weir.fault.FaultsException;
import dev.weir.policy.Policy;
import dev.weir.policy.PolicyTable;
import dev.weir.policy.ThrottleConflict;
import dev.weir.processor.policy.PolicyRegistry;
import dev.weir.query.DecisionFilter;
import dev.weir.query.MissingKeyFields;
import dev.weir.query.RecentClientRequests;
import dev.weir.query.RecentDecisions;
import dev.weir.query.RequestSample;
import dev.weir.rules.ConflictException;
import dev.weir.rules.PolicyTopic;
import dev.weir.rules.PolicyTopic.Change;
import dev.weir.rules.PolicyTopic.Effect;
import dev.weir.rules.PolicyTopic.Expected;
import dev.weir.rules.PolicyTopic.Options;
import dev.weir.rules.PolicyWarnings;
import dev.weir.rules.QueueCommands;
import dev.weir.server.http.ProblemDetails;
import dev.weir.server.http.VersionPrecondition;
import dev.weir.shape.command.QueueCommand;
import dev.weir.shape.rules.QueueRules;
import dev.weir.wire.ChangeAuthor;
import dev.weir.wire.PolicyAvro.Applied;
import dev.weir.wire.PolicyAvro.Kind;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.Semaphore;
import java.util.function.BooleanSupplier;
import java.util.function.Function;
import java.util.function.Supplier;

/**
 * The policies and queues in force on this instance, and access to the topics that hold definitions, decisions
 * and requests.
 */
final class RuleService {

    /**
     * How many changes may run at once, so that threads are left for requests served from memory. Reads have permits of
     * their own, so that they cannot block a change.
     */
    private static final int MAX_CHANGES = 4;

    private static final int MAX_READS = 4;

    /** How many backtests may run at once. Each holds its requests on the heap. */
    private static final int MAX_BACKTESTS = 1;

    private static final long APPLY_TIMEOUT_MS = 5_000;
    private static final long POLL_INTERVAL_MS = 5;

    private final Semaphore changePermits = new Semaphore(MAX_CHANGES);
    private final Semaphore readPermits = new Semaphore(MAX_READS);
    private final Semaphore backtestPermits = new Semaphore(MAX_BACKTESTS);
    private final WeirConfig config;
    private final PolicyRegistry live;
    private final PolicyTopic topic;
    private final QueueCommands commands;
    private final RequestSample recent;

    RuleService(WeirConfig config, PolicyRegistry live, PolicyTopic topic) {
        this.config = config;
        this.live = live;
        this.topic = topic;
        this.commands = new QueueCommands(config);
        this.recent = new RequestSample(config);
    }

    /** Returns the definitions in force on this instance, sorted by id. */
    List<Applied> applied(Kind kind) {
        return live.applied(kind);
    }

    /** Returns the definition in force on this instance. */
    Optional<Applied> applied(Kind kind, String id) {
        return Optional.ofNullable(live.applied(kind, id));
    }

    /** Returns the rules of a queue in force on this instance, null if there is none. */
    QueueRules queue(String id) {
        return live.queue(id);
    }

    /** Returns the versions in the history, newest first. */
    List<Applied> history(Kind kind, String id) {
        return withPermit(readPermits, () -> topic.history(kind, id));
    }

    /** Returns the queues that a policy may refer to, for a change. */
    Set<String> queues() {
        return withPermit(changePermits, topic::queues);
    }

    /** Returns the same as {@link #queues}, for a dry run. */
    Set<String> queuesForDryRun() {
        return withPermit(readPermits, topic::queues);
    }

    /** Returns what applying the contents would change. */
    List<Change> dryRun(Contents contents, boolean prune) {
        Options options = Options.DEFAULTS.withPrune(prune).withDryRun(true).withoutWarnings();
        long nowMs = System.currentTimeMillis();
        return withPermit(readPermits, () -> {
            List<Change> changes = topic.apply(contents, options, nowMs);
            PolicyTable tried = tried(changes);
            return addMissingKeyFields(withWarnings(changes, tried, nowMs), tried, nowMs);
        });
    }

    /**
     * Applies one policy or queue. Returns when it is in force on this instance, or after
     * {@value #APPLY_TIMEOUT_MS} ms.
     *
     * @throws ProblemDetails.ProblemException with 412 or 428 if the precondition fails
     */
    Change apply(Contents contents, VersionPrecondition condition, ChangeAuthor changedBy) {
        Change change = changeIf(
                        condition, changedBy, options -> topic.apply(contents, options, System.currentTimeMillis()))
                .get(0);
        await(() -> applied(change.kind(), change.id())
                .filter(one -> one.version() >= change.version())
                .isPresent());
        return withWarnings(List.of(change), live.table(), System.currentTimeMillis())
                .get(0);
    }

    /** @param policies the policies after the changes */
    private List<Change> withWarnings(List<Change> changes, PolicyTable policies, long nowMs) {
        Set<String> ids = new TreeSet<>();
        live.applied(Kind.POLICY).forEach(one -> ids.add(one.id()));
        changes.forEach(change -> ids.add(change.id()));
        List<ThrottleConflict.InForce> all = new ArrayList<>();
        ids.forEach(id -> all.addAll(policies.inForce(id)));
        return PolicyWarnings.addTo(changes, all, policies, nowMs);
    }

    /** Returns the policies as they would be after changes that were not made. */
    private PolicyTable tried(List<Change> changes) {
        PolicyTable policies = live.table();
        for (Change change : changes) {
            if (change.kind() == Kind.POLICY && change.effect() == Effect.DELETED) {
                policies = policies.with(change.id(), List.of());
            } else if (change.kind() == Kind.POLICY && change.effect() != Effect.UNCHANGED) {
                List<Policy> versions = new ArrayList<>(policies.versions(change.id()));
                versions.removeIf(version -> version.version() >= change.version());
                try {
                    versions.add(PolicyFile.parse(change.id(), change.after(), change.version()));
                } catch (FaultsException e) {
                    throw new IllegalStateException("a change has an invalid definition", e);
                }
                policies = policies.with(change.id(), versions);
            }
        }
        return policies;
    }

    /** Adds what recent requests show about the keys of the policies. */
    private List<Change> addMissingKeyFields(List<Change> changes, PolicyTable policies, long nowMs) {
        Set<String> ids = new HashSet<>();
        changes.stream()
                .filter(change -> change.kind() == Kind.POLICY && change.effect() != Effect.DELETED)
                .forEach(change -> ids.add(change.id()));
        return ids.isEmpty()
                ? changes
                : PolicyWarnings.addMissingKeyFields(changes, MissingKeyFields.of(recent.get(), policies, ids, nowMs));
    }

    /**
     * Deletes a policy or queue. Returns when it is no longer in force on this instance, or after
     * {@value #APPLY_TIMEOUT_MS} ms. Returns false if there is none.
     *
     * @throws ProblemDetails.ProblemException with 412 or 428 if the precondition fails
     */
    boolean delete(Kind kind, String id, VersionPrecondition condition, ChangeAuthor changedBy) {
        List<Change> changes;
        try {
            changes = changeIf(
                    condition,
                    changedBy,
                    options -> topic.delete(kind, List.of(id), options, System.currentTimeMillis()));
        } catch (ProblemDetails.ProblemException found) {
            if (found.problem().isTargetAbsent()) {
                return false; // a missing one is reported as 404, with or without a precondition
            }
            throw found;
        }
        for (Change change : changes) {
            await(() -> applied(kind, id)
                    .filter(last -> last.version() <= change.version())
                    .isEmpty());
        }
        return !changes.isEmpty();
    }

    private List<Change> changeIf(
            VersionPrecondition condition, ChangeAuthor changedBy, Function<Options, List<Change>> change) {
        Options options = Options.DEFAULTS
                .withExpected(expected(condition))
                .withChangedBy(changedBy)
                .withoutWarnings();
        try {
            return withPermit(changePermits, () -> change.apply(options));
        } catch (ConflictException e) {
            throw notAsExpected(condition, e.current());
        }
    }

    private static Expected expected(VersionPrecondition condition) {
        if (condition instanceof VersionPrecondition.Version of) {
            return new Expected.Version(of.version());
        }
        if (condition instanceof VersionPrecondition.MustExist) {
            return new Expected.Present();
        }
        return condition instanceof VersionPrecondition.UnknownTag ? new Expected.Never() : new Expected.Absent();
    }

    private static ProblemDetails.ProblemException notAsExpected(VersionPrecondition condition, OptionalLong current) {
        if (condition instanceof VersionPrecondition.Unspecified) {
            return ProblemDetails.preconditionRequired(current).exception();
        }
        return ProblemDetails.versionMismatch(current).exception();
    }

    /**
     * Sends a command to a queue, and waits until all its partitions have put it in effect.
     *
     * @param timeout how long to wait for that
     */
    QueueCommands.Result send(QueueCommand command, Duration timeout) {
        return withPermit(changePermits, () -> commands.send(command, timeout));
    }

    /** Returns the last commands that were sent to a queue, newest first. */
    List<QueueCommands.PastCommand> commands(String queue) {
        return withPermit(readPermits, () -> commands.past(queue));
    }

    /** Waits until a change is visible on this instance, for at most {@value #APPLY_TIMEOUT_MS} ms. */
    private static void await(BooleanSupplier hasCome) {
        long deadline = System.nanoTime() + APPLY_TIMEOUT_MS * 1_000_000;
        while (System.nanoTime() - deadline < 0 && !hasCome.getAsBoolean()) {
            try {
                Thread.sleep(POLL_INTERVAL_MS);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                return;
            }
        }
    }

    /** Decides recent requests twice: by the definitions in force, and with the tried ones in their places. */
    BacktestComparison backtest(Contents tried, int minutes, BooleanSupplier isAwaited) {
        return withPermit(backtestPermits, () -> {
            BacktestBudget budget =
                    new BacktestBudget(config.service().timeouts().backtest(), isAwaited);
            return BacktestComparison.of(config, live, tried, minutes, budget);
        });
    }

    /** Returns the recent decisions on a client's requests. */
    RecentDecisions decisions(String client, int most, DecisionFilter filter) {
        return withPermit(readPermits, () -> RecentDecisions.of(config, client, most, filter));
    }

    /**
     * Returns the newest dead letters.
     *
     * @param reason null for any
     */
    DeadLetterList deadLetters(String reason, int most) {
        return withPermit(readPermits, () -> DeadLetterList.read(config, reason, most));
    }

    /**
     * Writes dead letters to the request topic again.
     *
     * @param again whether those are replayed too that were replayed before
     */
    DeadLetterReplay.Result replay(Set<DeadLetterPosition> positions, boolean again) {
        return withPermit(changePermits, () -> DeadLetterReplay.replay(config, positions, again));
    }

    /** Returns the recent requests of a client, as of {@code nowMs}. */
    List<Request> recentRequests(String client, long nowMs) {
        return withPermit(readPermits, () -> RecentClientRequests.of(config, client, nowMs));
    }

    private static <T> T withPermit(Semaphore permits, Supplier<T> call) {
        if (!permits.tryAcquire()) {
            throw ProblemDetails.unavailable("too many requests that access the topics are in progress")
                    .exception();
        }
        try {
            return call.get();
        } finally {
            permits.release();
        }
    }
}
