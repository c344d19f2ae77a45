package dev.weir.live;

import dev.weir.metrics.EnforcerMetrics;
import dev.weir.metrics.LimitedRequest;
import dev.weir.metrics.RecentRing;
import dev.weir.prometheus.MetricSource;
import dev.weir.shape.view.QueueView;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Samples the figures of this instance each second. Keeps those of the last five minutes, and sums by the minute of the
 * last day.
 */
public final class Sampler implements AutoCloseable {

    /** The number of seconds that are kept. */
    public static final int KEPT_SECONDS = 300;

    /** The maximum number of queues that are listed for all instances. */
    static final int MAX_QUEUES = 20;

    /** The maximum number of further queues with key fields in a report, and in each second of it. */
    static final int MAX_FURTHER_QUEUES = 20;

    static final int MAX_RECENT = 20;
    static final int MAX_KEYS = 8;

    /** The maximum number of ids in a report, of up to 128 characters each. */
    static final int MAX_IDS = 1_000;

    private static final int MAX_TIERS = 12;
    private static final long MS_PER_SECOND = 1_000;

    /**
     * How long after the end of a second it is sampled, so that a small clock error does not place the sample before
     * the end.
     */
    private static final long DELAY_MS = 20;

    /** If the clock goes back by no more than this, sampling waits until it has caught up. */
    static final long MAX_BACKWARD_MS = 3_000;

    private static final Comparator<QueueView> MOST_WAITING = Comparator.comparingLong(QueueView::waiting)
            .reversed()
            .thenComparing(queue -> queue.rules().id());

    private static final InstanceStatus.ProcessInfo PROCESS = InstanceStatus.ProcessInfo.ofThis();
    private static final Logger LOG = LoggerFactory.getLogger(Sampler.class);

    private final MetricSource source;
    private final String address;
    private final PartitionStatus partitionStatus;
    private final RecentCounts recentCounts;
    private final Deque<InstanceSecond> seconds = new ArrayDeque<>();
    private final MinuteHistory minutes = new MinuteHistory();
    private final LimitedHistory limitedHistory = new LimitedHistory();
    private long limited;
    private final ScheduledExecutorService thread;
    private InstanceStatus now;
    private boolean isFailing;

    /**
     * @param address the address at which other instances reach this one
     * @param policiesTopic the policies topic
     */
    public Sampler(MetricSource source, String address, String policiesTopic) {
        this.source = source;
        this.address = address;
        partitionStatus = new PartitionStatus(source.applications(), policiesTopic);
        recentCounts = new RecentCounts(source.metrics());
        limited = source.metrics().limited().since(Long.MAX_VALUE).added();
        now = new InstanceStatus(address, health(), PROCESS, List.of(), InstanceStatus.InstanceQueues.NONE, List.of());
        thread = Executors.newSingleThreadScheduledExecutor(task -> {
            Thread sampling = new Thread(task, "live");
            sampling.setDaemon(true);
            return sampling;
        });
        long untilNextMs = MS_PER_SECOND - System.currentTimeMillis() % MS_PER_SECOND + DELAY_MS;
        var unused = thread.scheduleAtFixedRate(
                () -> sample(System.currentTimeMillis()), untilNextMs, MS_PER_SECOND, TimeUnit.MILLISECONDS);
    }

    /** Returns the kept seconds after a given one, and the present state. */
    public synchronized InstanceReport since(long at) {
        return new InstanceReport(
                seconds.stream().filter(second -> second.at() > at).toList(), now);
    }

    /** Returns the kept minutes after a given one that are complete, and the present state. */
    public synchronized InstanceReport minutesSince(long at) {
        return new InstanceReport(minutes.since(at), now);
    }

    /** Returns the limited requests and the results of policies since a time. */
    public synchronized LimitedReport limitedSince(long fromMs, long nowMs, LimitedReport.Selection selection) {
        return limitedHistory.since(fromMs, nowMs, selection);
    }

    @Override
    public void close() {
        thread.shutdownNow();
    }

    /**
     * Returns whether a second has been sampled. If the clock was set back, forgets the seconds that are ahead of it.
     */
    private synchronized boolean isSampled(long second) {
        if (!seconds.isEmpty() && seconds.getLast().at() - second > MAX_BACKWARD_MS) {
            seconds.removeIf(sampled -> sampled.at() >= second);
        }
        return !seconds.isEmpty() && second <= seconds.getLast().at();
    }

    /** Samples the last second before a time. */
    void sample(long nowMs) {
        if (isSampled(lastSecondMs(nowMs))) {
            return; // after a pause, the missed executions run at once
        }
        try {
            takeSample(nowMs, partitionStatus.partitions(), source.queues().get());
            isFailing = false;
        } catch (RuntimeException e) { // an exception would end the schedule
            if (!isFailing) {
                LOG.warn("The figures of the live page cannot be sampled: {}", e.toString());
            }
            isFailing = true;
        }
    }

    private synchronized void takeSample(
            long nowMs, List<InstanceStatus.AssignedPartition> partitions, List<QueueView> views) {
        CounterSnapshot done = recentCounts.nextSecond(lastSecondMs(nowMs));
        List<QueueView> reported = reported(views);
        Map<String, Long> decisions = new TreeMap<>();
        done.decisions().forEach((kind, count) -> decisions.merge(kind.outcome().name(), count, Long::sum));
        seconds.addLast(new InstanceSecond(
                lastSecondMs(nowMs),
                decisions,
                done.deadLetters(),
                done.latenciesMs(),
                lag(partitions),
                reported.stream().map(view -> queueSecond(view, done)).toList()));
        if (seconds.size() > KEPT_SECONDS) {
            seconds.removeFirst();
        }
        minutes.add(seconds.getLast());
        addLimited(lastSecondMs(nowMs), done);
        now = new InstanceStatus(
                address, health(), PROCESS, recentCounts.recentClients(), queues(views, reported), partitions);
    }

    private InstanceStatus.InstanceQueues queues(List<QueueView> views, List<QueueView> reported) {
        return new InstanceStatus.InstanceQueues(
                views.size(),
                views.stream()
                        .filter(QueueView::hasSeveralBuckets)
                        .map(view -> view.rules().id())
                        .limit(MAX_IDS)
                        .toList(),
                views.stream().mapToLong(QueueView::waiting).sum(),
                reported.stream().map(this::queueStatus).toList());
    }

    private void addLimited(long secondMs, CounterSnapshot done) {
        RecentRing.Snapshot<LimitedRequest> look = source.metrics().limited().since(limited);
        limitedHistory.add(secondMs, look, look.added() - limited, done.evaluations());
        limited = look.added();
    }

    /**
     * Returns the {@link #MAX_QUEUES} fullest queues and, of the others with key fields, the
     * {@link #MAX_FURTHER_QUEUES} fullest, most waiting first. Other instances may have larger parts of these, so that they
     * are listed.
     */
    private static List<QueueView> reported(List<QueueView> views) {
        List<QueueView> sorted = views.stream().sorted(MOST_WAITING).toList();
        return Stream.concat(
                        sorted.stream().limit(MAX_QUEUES),
                        sorted.stream()
                                .skip(MAX_QUEUES)
                                .filter(QueueView::hasSeveralBuckets)
                                .limit(MAX_FURTHER_QUEUES))
                .toList();
    }

    /** Returns the second that has just ended. */
    private static long lastSecondMs(long nowMs) {
        return Math.floorDiv(nowMs, MS_PER_SECOND) * MS_PER_SECOND - MS_PER_SECOND;
    }

    private static Long lag(List<InstanceStatus.AssignedPartition> partitions) {
        List<InstanceStatus.AssignedPartition> deciding = partitions.stream()
                .filter(partition -> partition.application().equals("deciding")
                        && partition.role().equals(PartitionStatus.ACTIVE))
                .toList();
        return deciding.stream().anyMatch(partition -> partition.lag() == null)
                ? null
                : (Long) deciding.stream()
                        .mapToLong(InstanceStatus.AssignedPartition::lag)
                        .sum();
    }

    private String health() {
        return source.health().get().name();
    }

    private static InstanceSecond.QueueSecond queueSecond(QueueView view, CounterSnapshot done) {
        String id = view.rules().id();
        return new InstanceSecond.QueueSecond(
                id,
                view.waiting(),
                view.oldestWaitMs(),
                done.queued().getOrDefault(id, 0L),
                done.released().getOrDefault(id, 0L),
                tiers(view).stream()
                        .map(tier -> new InstanceSecond.TierSecond(tier.tier(), tier.waiting()))
                        .toList());
    }

    private QueueStatus queueStatus(QueueView view) {
        String id = view.rules().id();
        List<QueueView.KeyView> longest =
                view.longest().stream().limit(MAX_KEYS).toList(); // most waiting first
        return new QueueStatus(
                id,
                view.buckets() instanceof QueueView.SeveralBuckets several ? (Long) several.keys() : null,
                QueueStatus.RulesStatus.of(view),
                recentCounts.waitsMs(id),
                new QueueStatus.BacklogStatus(view.drainMs(), longest, tiers(view)),
                QueueStatus.InFlightStatus.of(view),
                QueueStatus.OrdersStatus.of(view.orders()));
    }

    /** Returns the first tiers, and the sum of the others. Those that producers invent come after those of the rules. */
    private static List<QueueStatus.TierStatus> tiers(QueueView view) {
        List<QueueView.TierView> ordered = new ArrayList<>(view.tiers());
        ordered.sort(Comparator.comparing(
                tier -> tier.tier() != null && !view.rules().namesTier(tier.tier())));
        Map<String, Long> slots = view.inFlight().slotsByTier();
        List<QueueStatus.TierStatus> tiers = new ArrayList<>();
        long others = 0;
        long otherSlots = view.inFlight().slots();
        for (QueueView.TierView tier : ordered) {
            if (tiers.size() < MAX_TIERS) {
                long slotsOfTier = slots.getOrDefault(tier.tier() == null ? "" : tier.tier(), 0L);
                tiers.add(new QueueStatus.TierStatus(
                        tier.tier(), tier.share().priority(), tier.share().weight(), tier.waiting(), slotsOfTier));
                otherSlots -= slotsOfTier;
            } else {
                others += tier.waiting();
            }
        }
        if (others > 0 || otherSlots > 0) {
            tiers.add(new QueueStatus.TierStatus(EnforcerMetrics.OTHER, 0, 1, others, otherSlots));
        }
        return tiers;
    }
}
