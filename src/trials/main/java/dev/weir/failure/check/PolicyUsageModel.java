package dev.weir.failure.check;

import dev.weir.event.Request;
import dev.weir.failure.check.PolicyVersionHistory.Version;
import dev.weir.limit.LimitOracle;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;

/** The usage of one key under one policy, by the last version that was in force for it. */
final class PolicyUsageModel {

    private Version version;
    private List<LimitOracle> tallies = List.of();
    private long requestedMs;
    private long bookedMs;
    private long latestMs; // the latest time to which the key may have been advanced
    private final List<Deferred> deferred = new ArrayList<>();

    /**
     * A request that a policy of another layer delayed.
     *
     * @param mayExceed whether the usage was corrected upwards since the request was admitted, which takes no account of
     *     requests that have yet to start
     */
    record Deferred(Request request, long requestMs, long startMs, boolean mayExceed) {
        Deferred exceeding() {
            return new Deferred(request, requestMs, startMs, true);
        }
    }

    /** Records that a request starts later. Its cost is recorded then; only its time counts now. */
    void defer(Deferred request) {
        open(request.requestMs);
        requestedMs = Math.max(requestedMs, request.requestMs);
        bookedMs = Math.max(bookedMs, request.requestMs);
        deferred.add(request);
        deferred.sort(Comparator.comparingLong(Deferred::startMs));
    }

    /**
     * Removes and returns the deferred requests that have started, by start. Those that were deferred under another version
     * are omitted, since they may exceed the limits of this one.
     */
    List<Deferred> startedBy(long atMs) {
        List<Deferred> started = new ArrayList<>();
        while (!deferred.isEmpty() && deferred.get(0).startMs <= atMs) {
            started.add(deferred.remove(0));
        }
        return started;
    }

    /** Returns whether nothing is in use at a time, and no deferred request has yet to start. */
    boolean isUnused(long atMs) {
        return deferred.isEmpty() && tallies.stream().allMatch(tally -> tally.isUnused(atMs));
    }

    /** Returns the version that counts. */
    Version version() {
        return version;
    }

    /** Returns the time of the last request that changed the usage. */
    long requestedMs() {
        return requestedMs;
    }

    /** Records that a request may have advanced the time of the key, although the model does not charge it. */
    void mayAdvance(long requestMs) {
        latestMs = Math.max(latestMs, requestMs);
    }

    /** Returns whether the enforcer's time of the key may be later than a time of the model. */
    boolean mayBeAfter(long atMs) {
        return latestMs > atMs;
    }

    /** Returns the time at which a cost is recorded: not before the last one. */
    long notBefore(long atMs) {
        return Math.max(atMs, bookedMs);
    }

    /**
     * Counts under a version from now on. A limit continues with the usage of its predecessor if that is certain: each
     * version has a single limit, or both have the same algorithms in the same order, each once. Other limits start
     * without usage, which is never stricter than the enforcer. The usage under the new terms counts as of the time of
     * the change, and later charges are not recorded before it.
     *
     * @param requestMs the time of the request that is decided under the version
     */
    void goBy(Version next, long requestMs, long atMs) {
        if (next.equals(version) || tallies.isEmpty()) {
            version = next;
            return;
        }
        if (!isUnused(atMs)) {
            advance(requestMs, atMs);
        }
        boolean paired = arePaired(version.limits(), next.limits());
        List<LimitOracle> changed = new ArrayList<>();
        for (int i = 0; i < next.limits().size(); i++) {
            PolicyTerms terms = next.limits().get(i);
            changed.add(
                    paired && version.limits().get(i).counts()
                            ? under(terms, tallies.get(i), atMs)
                            : terms.oracle(atMs));
        }
        version = next;
        tallies = changed;
        deferred.clear();
    }

    /**
     * Records a cost that is charged whether it fits or not. A refund is ignored if nothing is in use, unless it can be
     * the first charge, with which the steps of an interval begin.
     *
     * @param requested the terms of the request
     */
    void correct(int limit, PolicyTerms requested, long cost, boolean isDenial, long requestMs, long atMs) {
        PolicyTerms terms = version.limits().get(limit);
        if (cost < 0) {
            mayAdvance(requestMs);
        }
        boolean isUnused = tallies.isEmpty() || tallies.get(limit).isUnused(atMs);
        if (cost == 0 || (cost < 0 && isUnused && !terms.algorithm().equals(PolicyTerms.INTERVAL))) {
            return;
        }
        open(atMs);
        boolean counts = terms.counts();
        long mostUsed = counts ? requested.capacity() + (isDenial ? requested : terms).capacity() : Long.MAX_VALUE;
        boolean isBounded = counts && !(isDenial && terms.algorithm().equals("sliding-window-log"));
        LimitOracle tally = tallies.get(limit);
        // the usage is rounded down, so one token less may be charged than by the enforcer
        long booked = isBounded ? Math.min(cost, Math.max(0, mostUsed - tally.used(atMs) - 1)) : cost;
        tally.charge(booked, atMs);
        if (booked > 0) {
            deferred.replaceAll(Deferred::exceeding);
        }
        if (booked != 0 && counts) {
            advance(requestMs, atMs);
        }
    }

    /**
     * Records an admitted cost. Returns by how much the usage exceeds the limit; 0 or less if it does not.
     *
     * @param requested the terms of the request, which differ from those of the policy in a window's limit at most
     */
    long admit(int limit, PolicyTerms requested, long cost, long requestMs, long atMs) {
        if (cost == 0) {
            return 0;
        }
        open(atMs);
        tallies.get(limit).charge(cost, atMs);
        if (version.limits().get(limit).counts()) {
            advance(requestMs, atMs);
        }
        long more = requested.limit() - version.limits().get(limit).limit(); // only limits of windows can be overridden
        return cost > 0 ? tallies.get(limit).excess(atMs) - more : 0;
    }

    /** Starts to count at the first charge. */
    private void open(long atMs) {
        if (tallies.isEmpty()) {
            tallies = version.limits().stream().map(terms -> terms.oracle(atMs)).toList();
        }
    }

    private void advance(long requestMs, long atMs) {
        requestedMs = Math.max(requestedMs, requestMs);
        bookedMs = Math.max(bookedMs, atMs);
    }

    /**
     * Returns the usage under other terms. It keeps its times where they mean the same under the new terms; otherwise
     * the usage in whole tokens counts as of now. The enforcer rounds up where this model rounds down, so it must not
     * admit more than the model.
     */
    private static LimitOracle under(PolicyTerms terms, LimitOracle before, long atMs) {
        LimitOracle next = terms.oracle(atMs);
        boolean isContinued = next.continueFrom(before, atMs);
        if (!isContinued && terms.counts()) {
            next.charge(before.used(atMs), atMs);
        }
        if (terms.counts() && waitGrows(terms)) {
            next.charge(Math.min(0, terms.capacity() - 1 - next.used(atMs)), atMs); // the usage is rounded down
        }
        return next;
    }

    /** Returns whether the wait grows with the usage. If it does, a change carries over at most one full limit. */
    private static boolean waitGrows(PolicyTerms terms) {
        return !terms.algorithm().equals("fixed-window") && !terms.algorithm().equals("sliding-window-log");
    }

    private static boolean arePaired(List<PolicyTerms> before, List<PolicyTerms> after) {
        List<String> algorithms = after.stream().map(PolicyTerms::algorithm).toList();
        return before.size() == after.size()
                && (after.size() == 1
                        || (before.stream().map(PolicyTerms::algorithm).toList().equals(algorithms)
                                && new HashSet<>(algorithms).size() == algorithms.size()));
    }
}
