package dev.weir.live;

import dev.weir.metrics.MetricSource;
import dev.weir.processor.EnforcerMetrics;
import dev.weir.shape.QueueView;
import dev.weir.shape.backlog.QueueRules;
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
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Looks each second at what this instance does, and keeps the last five minutes of it. */
public final class Sampler implements AutoCloseable {

    /** How many seconds are kept. */
    public static final int SECONDS = 300;

    static final int MOST_QUEUES = 20;
    static final int MOST_NAMED = 10;
    static final int MOST_KEYS = 8;
    private static final int MOST_TIERS = 12;
    private static final long MS_PER_SECOND = 1_000;

    /** Behind the end of a second, so that a clock that is a little off does not find itself before it. */
    private static final long BEHIND_MS = 20;

    private static final Comparator<QueueView> MOST_WAITING = Comparator.comparingLong(QueueView::waiting)
            .reversed()
            .thenComparing(queue -> queue.rules().id());

    private static final Logger LOG = LoggerFactory.getLogger(Sampler.class);

    private final MetricSource source;
    private final String address;
    private final PartitionStatus work;
    private final RecentCounts recently;
    private final Deque<InstanceSecond> seconds = new ArrayDeque<>();
    private final ScheduledExecutorService thread;
    private InstanceStatus now;
    private boolean isFailing;

    /**
     * @param address what the other instances know this one by
     * @param policiesTopic the topic of the rules
     */
    public Sampler(MetricSource source, String address, String policiesTopic) {
        this.source = source;
        this.address = address;
        work = new PartitionStatus(source.applications(), policiesTopic);
        recently = new RecentCounts(source.counts());
        now = new InstanceStatus(address, health(), List.of(), List.of(), 0, 0, List.of(), List.of());
        thread = Executors.newSingleThreadScheduledExecutor(task -> {
            Thread sampling = new Thread(task, "live");
            sampling.setDaemon(true);
            return sampling;
        });
        long untilNextMs = MS_PER_SECOND - System.currentTimeMillis() % MS_PER_SECOND + BEHIND_MS;
        var unused = thread.scheduleAtFixedRate(
                () -> sample(System.currentTimeMillis()), untilNextMs, MS_PER_SECOND, TimeUnit.MILLISECONDS);
    }

    /** What came after a second, of what is kept, and how it is now. */
    public synchronized InstanceReport since(long at) {
        return new InstanceReport(
                seconds.stream().filter(second -> second.at() > at).toList(), now);
    }

    @Override
    public void close() {
        thread.shutdownNow();
    }

    private synchronized boolean isTold(long second) {
        return !seconds.isEmpty() && second <= seconds.getLast().at();
    }

    private void sample(long nowMs) {
        if (isTold(second(nowMs))) {
            return; // after a pause, the looks that were missed come at once
        }
        try {
            look(nowMs, work.partitions(), source.queues().get());
            isFailing = false;
        } catch (RuntimeException e) { // or there would be no further look
            if (!isFailing) {
                LOG.warn("the live page gets no figures: {}", e.toString());
            }
            isFailing = true;
        }
    }

    private synchronized void look(long nowMs, List<InstanceStatus.Partition> partitions, List<QueueView> views) {
        CounterSnapshot done = recently.pass();
        List<QueueView> fullest =
                views.stream().sorted(MOST_WAITING).limit(MOST_QUEUES).toList();
        Map<String, Long> decisions = new TreeMap<>();
        done.decisions().forEach((kind, count) -> decisions.merge(kind.outcome().name(), count, Long::sum));
        seconds.addLast(new InstanceSecond(
                second(nowMs),
                decisions,
                done.deadLetters(),
                done.latenciesMs(),
                lag(partitions),
                fullest.stream().map(view -> inSecond(view, done)).toList()));
        if (seconds.size() > SECONDS) {
            seconds.removeFirst();
        }
        now = new InstanceStatus(
                address,
                health(),
                recently.clients(MOST_NAMED),
                recently.policies(MOST_NAMED),
                views.size(),
                views.stream().mapToLong(QueueView::waiting).sum(),
                fullest.stream().map(this::atAGlance).toList(),
                partitions);
    }

    /** The one that has just ended. */
    private static long second(long nowMs) {
        return Math.floorDiv(nowMs, MS_PER_SECOND) * MS_PER_SECOND - MS_PER_SECOND;
    }

    private static Long lag(List<InstanceStatus.Partition> partitions) {
        List<InstanceStatus.Partition> deciding = partitions.stream()
                .filter(partition -> partition.application().equals("deciding")
                        && partition.role().equals(PartitionStatus.ACTIVE))
                .toList();
        return deciding.stream().anyMatch(partition -> partition.lag() == null)
                ? null
                : (Long) deciding.stream()
                        .mapToLong(InstanceStatus.Partition::lag)
                        .sum();
    }

    private String health() {
        return source.health().get().name();
    }

    private static InstanceSecond.OfQueue inSecond(QueueView view, CounterSnapshot done) {
        String id = view.rules().id();
        return new InstanceSecond.OfQueue(
                id,
                view.waiting(),
                view.oldestWaitMs(),
                done.queued().getOrDefault(id, 0L),
                done.released().getOrDefault(id, 0L),
                tiers(view).stream()
                        .map(tier -> new InstanceSecond.OfTier(tier.tier(), tier.waiting()))
                        .toList());
    }

    private InstanceStatus.OfQueue atAGlance(QueueView view) {
        QueueRules rules = view.rules();
        return new InstanceStatus.OfQueue(
                rules.id(),
                view.keys(),
                rules.limit(),
                rules.perMs(),
                rules.burst(),
                rules.capacity(),
                rules.maxWaitMs() == QueueRules.NO_MAX_WAIT ? null : rules.maxWaitMs(),
                recently.waitsMs(rules.id()),
                view.drainMs(),
                view.longest().stream().limit(MOST_KEYS).toList(), // most waiting first
                tiers(view));
    }

    /** Producers make up tiers: those beyond the first few are told together. */
    private static List<InstanceStatus.OfTier> tiers(QueueView view) {
        List<InstanceStatus.OfTier> tiers = new ArrayList<>();
        long others = 0;
        for (QueueView.OfTier tier : view.tiers()) {
            if (tiers.size() < MOST_TIERS) {
                tiers.add(new InstanceStatus.OfTier(
                        tier.tier(), tier.share().priority(), tier.share().weight(), tier.waiting()));
            } else {
                others += tier.waiting();
            }
        }
        if (others > 0) {
            tiers.add(new InstanceStatus.OfTier(EnforcerMetrics.OTHER, 0, 1, others));
        }
        return tiers;
    }
}
