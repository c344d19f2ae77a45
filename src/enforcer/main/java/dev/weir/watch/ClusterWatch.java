package dev.weir.watch;

import dev.weir.config.WeirConfig;
import dev.weir.kafka.KafkaSettings;
import dev.weir.kafka.UnreachableException;
import dev.weir.watch.ClusterProblem.Kind;
import java.time.Duration;
import java.util.Collection;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Looks for problems of the cluster that would stop an instance without a message: deleted topics, and transactions that
 * do not end. While no broker responds, the problems stay as they are.
 */
public final class ClusterWatch implements AutoCloseable {

    private static final Logger LOG = LoggerFactory.getLogger(ClusterWatch.class);

    private static final Duration INTERVAL = Duration.ofSeconds(2);

    private static final String REQUEST_MS = "5000";
    private static final String CALL_MS = "8000";

    private final Admin admin;
    private final TopicWatch topics;
    private final TransactionWatch transactions;
    private final Supplier<? extends Collection<TopicPartition>> read;
    private final ClusterProblems problems = new ClusterProblems();

    /** A thread for each kind, because judging a transaction can take a minute. */
    private final ScheduledExecutorService looks = Executors.newScheduledThreadPool(2, ClusterWatch::thread);

    /** @param read returns the partitions that the instance reads or restores from */
    public ClusterWatch(WeirConfig config, Supplier<? extends Collection<TopicPartition>> read) {
        this.read = read;
        admin = Admin.create(KafkaSettings.admin(config.withKafka("admin.request.timeout.ms", REQUEST_MS)
                .withKafka("admin.default.api.timeout.ms", CALL_MS)));
        topics = new TopicWatch(admin, config);
        transactions = new TransactionWatch(admin, config, System::nanoTime);
    }

    private static Thread thread(Runnable looks) {
        Thread thread = new Thread(looks, "cluster-watch");
        thread.setDaemon(true);
        return thread;
    }

    /** Starts to look, every 2 s. */
    public void begin() {
        begin(Kind.TOPIC_DELETED, topics::look);
        begin(Kind.HANGING_TRANSACTION, () -> transactions.look(partitions()));
    }

    private void begin(Kind kind, Supplier<List<ClusterProblem>> found) {
        var unused =
                looks.scheduleWithFixedDelay(() -> look(kind, found), 0, INTERVAL.toMillis(), TimeUnit.MILLISECONDS);
    }

    private Set<TopicPartition> partitions() {
        Set<TopicPartition> all = new LinkedHashSet<>(read.get());
        all.addAll(topics.outputs());
        return all;
    }

    private void look(Kind kind, Supplier<List<ClusterProblem>> found) {
        try {
            problems.set(kind, found.get());
        } catch (KafkaException | UnreachableException e) {
            LOG.debug("The cluster cannot be checked now: {}", e.getMessage());
        } catch (Throwable e) {
            LOG.warn("The cluster cannot be checked", e); // the next look must take place, even after an Error
        }
    }

    /** Returns the present problems; empty before the first look. */
    public List<ClusterProblem> problems() {
        return problems.all();
    }

    @Override
    public void close() {
        looks.shutdownNow();
        admin.close(Duration.ZERO);
    }
}
