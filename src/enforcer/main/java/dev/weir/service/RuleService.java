package dev.weir.service;

import dev.weir.backtest.BacktestBudget;
import dev.weir.backtest.WhatIf;
import dev.weir.config.WeirConfig;
import dev.weir.definition.PolicyFile.Contents;
import dev.weir.processor.PolicyRegistry;
import dev.weir.query.RecentDecisions;
import dev.weir.rules.ConflictException;
import dev.weir.rules.PolicyTopic;
import dev.weir.rules.PolicyTopic.Change;
import dev.weir.rules.PolicyTopic.Expected;
import dev.weir.rules.PolicyTopic.Options;
import dev.weir.wire.ChangeAuthor;
import dev.weir.wire.PolicyAvro.Applied;
import dev.weir.wire.PolicyAvro.Kind;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.concurrent.Semaphore;
import java.util.function.BooleanSupplier;
import java.util.function.Function;
import java.util.function.Supplier;

/** The policies and queues: those that this instance decides by, and the topics, to change them and to look back. */
final class RuleService {

    /** At once on the topics, so that threads are left for what is in memory, and no reader keeps out a change. */
    private static final int MAX_CHANGES = 4;

    private static final int MAX_READS = 4;

    /** Each holds the requests that it reads. */
    private static final int MAX_WHAT_IFS = 1;

    /** How often a change of whichever version starts over, because another one came first. */
    private static final int MAX_ATTEMPTS = 10;

    private static final long FOLLOWS_WITHIN_MS = 5_000;
    private static final long LOOK_EVERY_MS = 5;

    private final Semaphore changes = new Semaphore(MAX_CHANGES);
    private final Semaphore reads = new Semaphore(MAX_READS);
    private final Semaphore whatIfs = new Semaphore(MAX_WHAT_IFS);
    private final WeirConfig config;
    private final PolicyRegistry live;
    private final PolicyTopic topic;

    RuleService(WeirConfig config, PolicyRegistry live) {
        this.config = config;
        this.live = live;
        topic = new PolicyTopic(config);
    }

    /** Those in force here, by id. */
    List<Applied> applied(Kind kind) {
        return live.applied().stream().filter(one -> one.kind() == kind).toList();
    }

    /** The one in force here. */
    Optional<Applied> applied(Kind kind, String id) {
        return Optional.ofNullable(live.applied(kind, id));
    }

    /** The versions that are known, newest first. */
    List<Applied> history(Kind kind, String id) {
        return call(reads, () -> topic.history(kind, id));
    }

    /** The queues that a policy may name that is to be applied. */
    Set<String> queues() {
        return call(changes, topic::queues);
    }

    /** As {@link #queues}, for one that is only tried out. */
    Set<String> queuesToTryOut() {
        return call(reads, topic::queues);
    }

    /** What applying would change. */
    List<Change> tryOut(Contents contents, boolean prune) {
        Options options = Options.DEFAULTS.withPrune(prune).withDryRun(true);
        return call(reads, () -> topic.apply(contents, options, System.currentTimeMillis()));
    }

    /**
     * Applies one policy or queue; when this returns, it is in force here, or is about to be.
     *
     * @throws ProblemDetails.Found if the condition does not hold, 412 or 428
     */
    Change apply(Contents contents, VersionPrecondition condition, ChangeAuthor changedBy) {
        Change change = require(
                        condition, changedBy, options -> topic.apply(contents, options, System.currentTimeMillis()))
                .get(0);
        await(() -> applied(change.kind(), change.id())
                .filter(one -> one.version() >= change.version())
                .isPresent());
        return change;
    }

    /**
     * Deletes one; when this returns, it is out of force here, or is about to be. False if there is none.
     *
     * @throws ProblemDetails.Found if the condition does not hold, 412 or 428
     */
    boolean delete(Kind kind, String id, VersionPrecondition condition, ChangeAuthor changedBy) {
        List<Change> changes;
        try {
            changes = require(
                    condition,
                    changedBy,
                    options -> topic.delete(kind, List.of(id), options, System.currentTimeMillis()));
        } catch (ProblemDetails.Found found) {
            if (found.problem().tellsThereIsNone()) {
                return false; // without the condition, it would not be found either
            }
            throw found;
        }
        for (Change change : changes) {
            await(() -> applied(kind, id).map(Applied::version).orElse(Long.MAX_VALUE) > change.version());
        }
        return !changes.isEmpty();
    }

    private List<Change> require(
            VersionPrecondition condition, ChangeAuthor changedBy, Function<Options, List<Change>> change) {
        Expected expected = condition instanceof VersionPrecondition.Version of
                ? new Expected.Version(of.version())
                : condition instanceof VersionPrecondition.Unsaid || condition instanceof VersionPrecondition.None
                        ? new Expected.Absent()
                        : new Expected.Version(Long.MAX_VALUE);
        for (int attempt = 1; ; attempt++) {
            Options options = Options.DEFAULTS.withExpected(expected).withChangedBy(changedBy);
            try {
                return call(changes, () -> change.apply(options));
            } catch (ConflictException e) {
                boolean again = condition instanceof VersionPrecondition.Any
                        && e.current().isPresent()
                        && attempt < MAX_ATTEMPTS;
                if (!again) {
                    throw notAsExpected(condition, e.current());
                }
                expected = new Expected.Version(e.current().getAsLong());
            }
        }
    }

    private static ProblemDetails.Found notAsExpected(VersionPrecondition condition, OptionalLong current) {
        if (condition instanceof VersionPrecondition.Unsaid) {
            return ProblemDetails.conditionMissing(current).found();
        }
        return ProblemDetails.changed(current).found();
    }

    /** Until what was changed has come here, up to a time. */
    private static void await(BooleanSupplier hasCome) {
        long deadline = System.nanoTime() + FOLLOWS_WITHIN_MS * 1_000_000;
        while (System.nanoTime() - deadline < 0 && !hasCome.getAsBoolean()) {
            try {
                Thread.sleep(LOOK_EVERY_MS);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                return;
            }
        }
    }

    /** What the policies and queues would have done. */
    WhatIf whatIf(Contents tried, int minutes, BooleanSupplier isAwaited) {
        return call(whatIfs, () -> {
            BacktestBudget budget = new BacktestBudget(config.service().backtestTimeout(), isAwaited);
            return WhatIf.of(config, live, tried, minutes, budget);
        });
    }

    /** What was decided of a client lately. */
    RecentDecisions decisions(String client, int most) {
        return call(reads, () -> RecentDecisions.of(config, client, most));
    }

    private static <T> T call(Semaphore permits, Supplier<T> call) {
        if (!permits.tryAcquire()) {
            throw ProblemDetails.notNow("too many calls on the topics at once").found();
        }
        try {
            return call.get();
        } finally {
            permits.release();
        }
    }
}
