package dev.weir.shape;

import static dev.weir.shape.QueueHarness.MS;
import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.event.Decision;
import dev.weir.event.Outcome;
import dev.weir.event.Release;
import dev.weir.event.RequestKind;
import dev.weir.shape.rules.Flow;
import dev.weir.shape.rules.QueueRules;
import dev.weir.shape.rules.TierShare;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeSet;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests laws of a queue under random requests, withdrawals, changes of its rules, and restarts. */
class QueueLawsTest {

    private static final String[] TIERS = {"platinum", "gold", "free", null};
    private static final String[] FAIR_BY = {"client", "tenant", "tier"};
    private static final int STEPS = 3_000;

    /** What was sent, and its outcome. */
    private static final class Sent {
        final Flow flow;
        final String client;
        final long number;
        final long expiresAtMs;

        Sent(Flow flow, String client, long number, long expiresAtMs) {
            this.flow = flow;
            this.client = client;
            this.number = number;
            this.expiresAtMs = expiresAtMs;
        }
    }

    private final Map<String, Sent> waiting = new HashMap<>();
    private final Map<Flow, TreeSet<Long>> numbersByFlow = new HashMap<>();
    private final List<Release> allReleases = new ArrayList<>();
    private int decisionsSeen;
    private String context;

    @ParameterizedTest
    @ValueSource(longs = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20})
    void each_queued_request_ends_once_in_order_and_in_time(long seed) {
        Random random = new Random(seed);
        QueueRules rules = randomRules(random, 1);
        QueueHarness queue = new QueueHarness(rules);
        long nowMs = 0;
        for (int step = 0; step < STEPS; step++) {
            context = "seed " + seed + ", step " + step;
            nowMs += random.nextInt(4) == 0 ? random.nextInt(40) : 0;
            queue.runUntil(nowMs - 1);
            check(queue, nowMs);
            long before = calls(queue);
            switch (random.nextInt(12)) {
                case 0 -> queue.restart();
                case 1 -> {
                    if (!waiting.isEmpty()) {
                        String id = new TreeSet<>(waiting.keySet()).first();
                        Sent victim = waiting.get(id);
                        queue.cancel(id, victim.client, nowMs);
                        assertThat(calls(queue) - before).as(context).isLessThan(20);
                    }
                }
                case 2 -> {
                    if (random.nextInt(20) == 0) {
                        rules = changedShares(random, rules);
                        queue.rules.put("q", rules);
                        queue.carryOut(queue.shaper.refresh(nowMs * MS));
                    }
                }
                default -> {
                    offer(queue, rules, random, step, nowMs);
                    assertThat(calls(queue) - before).as(context).isLessThan(20);
                }
            }
            check(queue, nowMs);
        }
        queue.runDry();
        context = "seed " + seed + ", the end";
        check(queue, Long.MAX_VALUE);
        assertThat(waiting).as(context).isEmpty();
        assertThat(queue.stored.entries).as(context).isEmpty();
        assertThat(queue.tickets.entries).as(context).isEmpty();
        assertThat(queue.expiryTimers.entries).as(context).isEmpty();
        assertThat(allReleases).hasSizeGreaterThan(200);
        assertConforming(rules);
    }

    private static QueueRules randomRules(Random random, long version) {
        Map<String, TierShare> shares = Map.of(
                "platinum", new TierShare(1, 1 + random.nextInt(8)),
                "gold", new TierShare(0, 1 + random.nextInt(8)));
        return QueueRules.builder("q", 50 + random.nextInt(300), 1_000)
                .version(version)
                .burst(1 + random.nextInt(4))
                .capacity(5 + random.nextInt(60))
                .maxWaitMs(random.nextInt(3) == 0 ? QueueRules.NO_MAX_WAIT : 50 + random.nextInt(600))
                .lookAheadMs(0)
                .tiers(shares)
                .fairBy(FAIR_BY[random.nextInt(FAIR_BY.length)])
                .build();
    }

    /** Changes the shares and the field by which tiers share, but not the pace, so that releases can be compared with one rate. */
    private static QueueRules changedShares(Random random, QueueRules rules) {
        return QueueRules.builder("q", rules.limit(), rules.perMs())
                .version(rules.version() + 1)
                .burst(rules.burst())
                .capacity(1 + random.nextInt(60))
                .maxWaitMs(50 + random.nextInt(600))
                .lookAheadMs(0)
                .tiers(Map.of("free", new TierShare(random.nextInt(3) - 1, 1 + random.nextInt(8))))
                .fairBy(FAIR_BY[random.nextInt(FAIR_BY.length)])
                .build();
    }

    private void offer(QueueHarness queue, QueueRules rules, Random random, int step, long nowMs) {
        String id = "r" + step;
        String tier = TIERS[random.nextInt(TIERS.length)];
        String client = "c" + random.nextInt(5);
        Map<String, String> attributes =
                random.nextInt(4) == 0 ? Map.of() : Map.of("tenant", "c" + random.nextInt(3)); // may equal a client
        long cost = random.nextInt(10) == 0 ? random.nextInt(20) : 1;
        Long deadlineMs = random.nextInt(4) == 0 ? (Long) (nowMs + random.nextInt(500)) : null;
        long size = waiting.size();
        String ofTier = tier == null ? "" : tier;
        String value =
                switch (rules.fairBy()) {
                    case "client" -> client;
                    case "tenant" -> attributes.getOrDefault("tenant", "");
                    default -> ofTier;
                };
        Sent sent = new Sent(
                new Flow(ofTier, value),
                client,
                queue.number,
                Math.min(
                        rules.maxWaitMs() == QueueRules.NO_MAX_WAIT ? Long.MAX_VALUE : nowMs + rules.maxWaitMs(),
                        deadlineMs == null ? Long.MAX_VALUE : deadlineMs));
        Decision decision = queue.send(
                QueueHarness.admission(RequestKind.CONSUME, id, client, tier, cost, deadlineMs, attributes), nowMs);
        if (decision.outcome() == Outcome.QUEUED) {
            waiting.put(id, sent);
            numbersByFlow.computeIfAbsent(sent.flow, f -> new TreeSet<>()).add(sent.number);
            assertThat(decision.queueing().position()).as(context).isBetween(1L, size + 1);
        } else {
            assertThat(decision.httpStatus()).as(context).isEqualTo(503);
        }
    }

    private void check(QueueHarness queue, long nowMs) {
        for (; decisionsSeen < queue.decisions.size(); decisionsSeen++) {
            Decision decision = queue.decisions.get(decisionsSeen);
            boolean ofCancel = decision.outcome() == Outcome.ALLOWED;
            Sent sent = ofCancel ? null : waiting.get(decision.requestId());
            if (decision.outcome() == Outcome.QUEUED || sent == null) {
                continue;
            }
            if (decision.outcome() == Outcome.EXPIRED) {
                assertThat(decision.decidedAtMs()).as(context).isEqualTo(sent.expiresAtMs);
                assertThat(nowMs).as(context).isGreaterThanOrEqualTo(sent.expiresAtMs);
            }
            end(decision.requestId());
        }
        for (Release release : queue.releases) {
            Sent sent = waiting.get(release.requestId());
            assertThat(sent)
                    .as("%s: %s is released but does not wait", context, release)
                    .isNotNull();
            assertThat(release.releaseAtNanos() / MS).as(context).isLessThanOrEqualTo(sent.expiresAtMs);
            assertThat(numbersByFlow.get(sent.flow).first()).as(context).isEqualTo(sent.number);
            allReleases.add(release);
            assertThat(release.sequence()).as(context).isEqualTo(allReleases.size());
            end(release.requestId());
        }
        queue.releases.clear();
        for (Sent sent : waiting.values()) { // expired in time: timers may fire a tenth of a second late
            assertThat(nowMs - 101).as(context).isLessThanOrEqualTo(sent.expiresAtMs);
        }
    }

    private void end(String id) {
        Sent sent = waiting.remove(id);
        numbersByFlow.get(sent.flow).remove(sent.number);
    }

    private void assertConforming(QueueRules rules) {
        OutflowPace pace = new OutflowPace(rules.perMs(), rules.burst());
        for (Release release : allReleases) {
            assertThat(pace.earlyNanos(rules.limit(), release.releaseAtNanos(), release.cost()))
                    .as("%s: %s", context, release)
                    .isLessThanOrEqualTo(0);
        }
    }

    private static long calls(QueueHarness queue) {
        return queue.stored.calls + queue.tickets.calls + queue.expiryTimers.calls;
    }
}
