package dev.weir.testing;

import dev.weir.event.Acknowledgement;
import dev.weir.event.Acknowledgement.Result;
import dev.weir.event.Decision;
import dev.weir.event.Reason;
import dev.weir.event.Release;
import dev.weir.event.Request;
import dev.weir.event.RequestKind;
import dev.weir.shape.rules.InFlightRules;
import dev.weir.shape.rules.QueueRules;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Checks the attempts of released requests against what queues with slots guarantee. When an attempt ends follows from
 * its release, from the acknowledgements that the queue accepted, and from the rules of the queue.
 */
final class AttemptAudit {

    private static final long NANOS_PER_MS = 1_000_000;

    /** An acknowledgement that the queue accepted at a time, in milliseconds of queue time. */
    private record Accepted(Request request, long atMs) {
        Acknowledgement content() {
            return request.acknowledgement();
        }

        boolean isExtension() {
            return request.kind() == RequestKind.EXTEND;
        }
    }

    /**
     * What the acknowledgements of an attempt say: a client, and what was accepted in the order of the decisions. Their
     * times can go back, since a task that takes over continues from the time of the last release.
     */
    private record Acknowledged(String client, List<Accepted> accepted) {
        Stream<Accepted> completions() {
            return accepted.stream().filter(each -> !each.isExtension());
        }
    }

    /** How an attempt has ended, and what was accepted although it had ended. */
    private record Ended(AttemptEnd end, List<Accepted> late) {}

    /**
     * The end of an attempt.
     *
     * @param result what its worker reported; null if its time was over
     * @param isFailure whether it counts towards {@code max-attempts}
     * @param retryAfterMs the wait that the worker asked for; null for the backoff
     */
    private record AttemptEnd(long atMs, Result result, boolean isFailure, Long retryAfterMs) {
        static AttemptEnd lost(long atMs, boolean isClaimed) {
            return new AttemptEnd(atMs, null, isClaimed, null);
        }

        static AttemptEnd completed(Accepted by) {
            Acknowledgement content = by.content();
            return new AttemptEnd(by.atMs, content.result(), content.result() == Result.RETRY, content.retryAfterMs());
        }

        boolean endsRequest() {
            return result == Result.DONE || result == Result.FAILED;
        }

        long retryAtMs(InFlightRules rules, int failures) {
            return atMs + (retryAfterMs == null ? rules.backoffMs(failures) : retryAfterMs);
        }
    }

    private final Map<String, Acknowledged> byReceipt = new LinkedHashMap<>();
    private final Map<String, Release> released = new HashMap<>();

    /** @param decisions those of each client in the order of the topic */
    AttemptAudit(List<Request> requests, List<Decision> decisions, List<Release> releases) {
        releases.stream()
                .filter(release -> release.attempt() != null)
                .forEach(release -> released.put(release.attempt().receipt(), release));
        Map<Request.Source, Request> bySource = new HashMap<>();
        requests.forEach(request -> bySource.put(request.source(), request));
        decisions.stream()
                .filter(decision -> decision.reason() == Reason.COMPLETED || decision.reason() == Reason.EXTENDED)
                .filter(decision -> bySource.containsKey(decision.source()))
                .forEach(decision -> accept(new Accepted(bySource.get(decision.source()), decision.decidedAtMs())));
    }

    private void accept(Accepted accepted) {
        byReceipt
                .computeIfAbsent(
                        accepted.content().receipt(),
                        receipt -> new Acknowledged(accepted.request.client(), new ArrayList<>()))
                .accepted
                .add(accepted);
    }

    /** Returns whether the worker of an attempt has reported that the request is processed. */
    boolean isDone(Release attempt) {
        return has(attempt, Result.DONE);
    }

    private boolean has(Release attempt, Result result) {
        return acknowledged(attempt)
                .completions()
                .anyMatch(each -> each.content().result() == result);
    }

    private Acknowledged acknowledged(Release attempt) {
        return byReceipt.getOrDefault(attempt.attempt().receipt(), new Acknowledged(attempt.client(), List.of()));
    }

    List<String> acknowledgements() {
        List<String> faults = new ArrayList<>();
        byReceipt.forEach((receipt, acknowledged) -> {
            Release attempt = released.get(receipt);
            if (attempt == null || !attempt.client().equals(acknowledged.client)) {
                faults.add("no attempt of " + acknowledged.client + " for the acknowledgement "
                        + acknowledged.accepted.get(0).request.requestId());
            } else if (acknowledged.completions().count() > 1) {
                faults.add(name(attempt) + " was completed "
                        + acknowledged.completions().count() + " times");
            }
        });
        return faults;
    }

    /**
     * Checks the attempts of one request.
     *
     * @param ofRequest its releases by one queue
     * @param ends the decisions that ended it
     */
    List<String> attempts(List<Release> ofRequest, List<Decision> ends, QueueRules rules) {
        List<String> faults = new ArrayList<>();
        List<Release> inOrder = ofRequest.stream()
                .filter(release -> release.attempt() != null)
                .sorted(Comparator.comparingInt(release -> release.attempt().number()))
                .toList();
        int failures = 0;
        int number = 0;
        AttemptEnd last = null;
        for (Release attempt : inOrder) {
            number++;
            if (attempt.attempt().number() != number) {
                faults.add(name(attempt) + " should be attempt " + number);
                return faults;
            }
            if (last != null && last.endsRequest()) {
                faults.add(name(attempt) + " is released after it was " + last.result);
            } else if (failures >= rules.inFlight().maxAttempts()) {
                faults.add(name(attempt) + " is released after " + failures + " failed attempts");
            } else if (last != null
                    && attempt.releaseAtNanos() < last.retryAtMs(rules.inFlight(), failures) * NANOS_PER_MS) {
                faults.add(name(attempt) + " is released before " + last.retryAtMs(rules.inFlight(), failures) + " ms");
            }
            last = endOf(attempt, rules.inFlight());
            failures += last.isFailure ? 1 : 0;
            ends.stream()
                    .filter(end -> isAfter(attempt, end, rules))
                    .forEach(end -> faults.add(name(attempt) + " is released after it was " + end.reason()));
            outOfTime(attempt, rules.inFlight()).forEach(faults::add);
        }
        for (Decision end : ends) {
            if (end.reason() == Reason.ATTEMPTS_EXHAUSTED
                    && failures < rules.inFlight().maxAttempts()) {
                faults.add(end.requestId() + " was given up after " + failures + " failed attempts");
            } else if (end.reason() == Reason.FAILED && inOrder.stream().noneMatch(each -> has(each, Result.FAILED))) {
                faults.add(end.requestId() + " was given up, but no worker reported that it failed");
            }
        }
        return faults;
    }

    /** Look-ahead writes a release before its time, and a worker may acknowledge it before that. */
    private static boolean isAfter(Release attempt, Decision end, QueueRules rules) {
        long latestMs = end.decidedAtMs() + 1 + rules.lookAheadMs();
        return attempt.releaseAtNanos() > latestMs * NANOS_PER_MS;
    }

    /** Returns the acknowledgements that were accepted although their attempt had ended. */
    private Stream<String> outOfTime(Release attempt, InFlightRules rules) {
        Ended ended = endingOf(attempt, rules);
        return ended.late.stream()
                .map(each ->
                        name(attempt) + " was acknowledged at " + each.atMs + " ms, but ended at " + ended.end.atMs);
    }

    private AttemptEnd endOf(Release attempt, InFlightRules rules) {
        return endingOf(attempt, rules).end;
    }

    private Ended endingOf(Release attempt, InFlightRules rules) {
        long startMs = -Math.floorDiv(-attempt.releaseAtNanos(), NANOS_PER_MS);
        long untilMs = startMs + attempt.attempt().ackTimeoutMs();
        boolean isClaimed = false;
        List<Accepted> accepted = acknowledged(attempt).accepted;
        for (int i = 0; i < accepted.size(); i++) {
            Accepted each = accepted.get(i);
            if (each.atMs >= untilMs) {
                return new Ended(AttemptEnd.lost(untilMs, isClaimed), accepted.subList(i, accepted.size()));
            }
            if (!each.isExtension()) {
                return new Ended(AttemptEnd.completed(each), accepted.subList(i + 1, accepted.size()));
            }
            isClaimed = true;
            untilMs = Math.max(untilMs, Math.min(each.atMs + rules.ackTimeoutMs(), startMs + rules.maxDurationMs()));
        }
        return new Ended(AttemptEnd.lost(untilMs, isClaimed), List.of());
    }

    /** A change of the slots in use. */
    private record Change(long atNanos, long slots, Release attempt) {}

    /** Checks that the attempts of a bucket never use more slots than it, their tier and their client have. */
    List<String> inFlight(List<Release> bucket, InFlightRules rules) {
        List<String> faults = new ArrayList<>(inFlight(bucket, rules, rules.most(), 0));
        rules.caps().ofTier().forEach((tier, most) -> {
            List<Release> ofTier = bucket.stream()
                    .filter(release -> tier.equals(release.tier() == null ? "" : release.tier()))
                    .toList();
            faults.addAll(inFlight(ofTier, rules, most, 0));
        });
        rules.caps().ofClient().ifPresent(most -> bucket.stream()
                .collect(Collectors.groupingBy(Release::client, TreeMap::new, Collectors.toList()))
                .values()
                .forEach(ofClient -> faults.addAll(inFlight(ofClient, rules, most, 0))));
        return faults;
    }

    /**
     * Checks that attempts never use more slots than they have together.
     *
     * @param most these slots; an attempt that costs more takes all of them
     * @param earlyMs how long before the end of an attempt another may begin
     */
    List<String> inFlight(List<Release> releases, InFlightRules rules, long most, long earlyMs) {
        List<Change> changes = new ArrayList<>();
        for (Release attempt : releases) {
            if (attempt.attempt() != null) {
                long slots = Math.min(most, rules.slots(attempt.cost()));
                long startNanos = attempt.releaseAtNanos();
                long endNanos = (endOf(attempt, rules).atMs - earlyMs) * NANOS_PER_MS;
                if (endNanos > startNanos) {
                    changes.add(new Change(startNanos, slots, attempt));
                    changes.add(new Change(endNanos, -slots, attempt));
                }
            }
        }
        changes.sort(Comparator.comparingLong(Change::atNanos).thenComparingLong(Change::slots));
        List<String> faults = new ArrayList<>();
        long used = 0;
        for (Change change : changes) {
            used += change.slots;
            if (change.slots > 0 && used > most) {
                faults.add(name(change.attempt) + " is in flight with " + used + " of " + most + " slots used");
            }
        }
        return faults;
    }

    private static String name(Release attempt) {
        return QueueAudit.name(attempt);
    }
}
