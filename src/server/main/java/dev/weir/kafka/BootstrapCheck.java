package dev.weir.kafka;

import dev.weir.config.WeirConfig;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.Set;
import java.util.concurrent.CompletionService;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorCompletionService;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Consumer;
import java.util.function.Predicate;
import org.apache.kafka.clients.CommonClientConfigs;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AdminClientConfig;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.security.auth.SecurityProtocol;

/**
 * Checks that brokers respond, and finds out why they do not. Kafka's clients report only that a timeout has passed, by
 * default after 30 seconds or more.
 *
 * <p>A refused connection, an unknown host or a rejected login is reported at once. How long a check waits for brokers
 * that are slow depends on the method, unless the configuration sets {@code default.api.timeout.ms}.
 */
public final class BootstrapCheck {

    /** After this time, callers learn that the check goes on. */
    private static final Duration NOTICE = Duration.ofSeconds(5);

    /** How long to wait for brokers that are slow, or for a machine that is. */
    private static final Duration LIMIT = Duration.ofSeconds(30);

    private static final Duration DIAGNOSIS = Duration.ofSeconds(10);

    /** Addresses are checked concurrently, because each can take the whole time. */
    private static final int MAX_THREADS = 16;

    private final WeirConfig config;
    private final Properties settings;
    private final SecurityProtocol protocol;
    private final List<String> addresses;
    private final Duration limit;
    private final long startNanos = System.nanoTime();

    /** Why an address does not respond; empty if it does. */
    private record Result(String address, Optional<BrokerFailure> failure) {}

    /** @param unlessSet the limit if the configuration sets none */
    private BootstrapCheck(WeirConfig config, Duration unlessSet) {
        this.config = config;
        settings = KafkaSettings.admin(config);
        AdminClientConfig parsed = new AdminClientConfig(settings);
        protocol = SecurityProtocol.forName(parsed.getString(CommonClientConfigs.SECURITY_PROTOCOL_CONFIG));
        addresses = Arrays.stream(settings.getProperty(CommonClientConfigs.BOOTSTRAP_SERVERS_CONFIG)
                        .split(","))
                .map(String::strip)
                .toList();
        addresses.forEach(BrokerAddress::parse);
        String timeout = AdminClientConfig.DEFAULT_API_TIMEOUT_MS_CONFIG;
        limit = settings.containsKey(timeout) ? Duration.ofMillis(parsed.getInt(timeout)) : unlessSet;
    }

    /**
     * Requires that a bootstrap server responds and names a broker that accepts connections. Waits up to 30 seconds for
     * brokers that do not respond.
     *
     * @param connecting receives the addresses without a result, once, if the check goes on after 5 seconds
     * @throws UnreachableException if none responds; the message has the addresses, the reasons and what to do
     * @throws KafkaException if Kafka's clients reject the {@code kafka} section
     */
    public static void require(WeirConfig config, Consumer<String> connecting) {
        new BootstrapCheck(config, LIMIT).failure(connecting).ifPresent(why -> {
            throw new UnreachableException(why, null);
        });
    }

    /**
     * Returns why no bootstrap server responds, as in the message of {@link #require}; empty as soon as one does. Waits
     * up to 30 seconds for brokers that do not respond.
     */
    public static Optional<String> outage(WeirConfig config) {
        return new BootstrapCheck(config, LIMIT).failure(waiting -> {});
    }

    private Optional<String> failure(Consumer<String> connecting) {
        Map<String, Optional<BrokerFailure>> results =
                results(true, connecting, result -> result.failure().isEmpty());
        if (results.containsValue(Optional.empty())) {
            return Optional.empty();
        }
        KafkaSettings.requireValid(config);
        List<String> reasons = new ArrayList<>();
        Set<String> advice = new LinkedHashSet<>();
        for (String address : addresses) {
            BrokerFailure failure = results.get(address).orElseThrow();
            reasons.add(address + " (" + failure.reason() + ")");
            advice.add(failure.advice());
        }
        return Optional.of("no broker responds at " + String.join(", ", reasons) + "; " + String.join("; ", advice));
    }

    /**
     * Returns the bootstrap servers, in order, with the reason why they do not respond; empty for those that do. The
     * brokers that they name are not checked. Waits up to 10 seconds for slow brokers.
     *
     * @throws KafkaException if Kafka's clients reject the {@code kafka} section
     */
    public static Map<String, Optional<BrokerFailure>> results(WeirConfig config) {
        return new BootstrapCheck(config, DIAGNOSIS).results(false, connecting -> {}, result -> false);
    }

    /** @param last whether the results after this one are not needed */
    private Map<String, Optional<BrokerFailure>> results(
            boolean withNamedBrokers, Consumer<String> connecting, Predicate<Result> last) {
        ExecutorService threads =
                Executors.newFixedThreadPool(Math.min(addresses.size(), MAX_THREADS), BootstrapCheck::daemon);
        try {
            CompletionService<Result> checks = new ExecutorCompletionService<>(threads);
            addresses.forEach(address -> checks.submit(() -> new Result(address, failure(address, withNamedBrokers))));
            Map<String, Optional<BrokerFailure>> results = new LinkedHashMap<>();
            addresses.forEach(address -> results.put(address, Optional.of(BrokerFailure.noResponse(limit))));
            Set<String> pending = new LinkedHashSet<>(addresses);
            boolean isNoticed = limit.compareTo(NOTICE) <= 0;
            for (int done = 0; done < addresses.size(); ) {
                Duration wait = left(isNoticed ? limit : NOTICE);
                Future<Result> next = checks.poll(wait.toNanos(), TimeUnit.NANOSECONDS);
                if (next != null) {
                    Result result = next.get();
                    results.put(result.address(), result.failure());
                    pending.remove(result.address());
                    if (last.test(result)) {
                        return results;
                    }
                    done++;
                } else if (isNoticed) {
                    return results;
                } else {
                    isNoticed = true;
                    connecting.accept(String.join(", ", pending));
                }
            }
            return results;
        } catch (ExecutionException e) {
            throw e.getCause() instanceof RuntimeException failure ? failure : new IllegalStateException(e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new UnreachableException("interrupted while connecting to the brokers", e);
        } finally {
            threads.shutdownNow();
        }
    }

    private static Thread daemon(Runnable task) {
        Thread thread = new Thread(task, "bootstrap-check");
        thread.setDaemon(true); // resolving a host name cannot be interrupted
        return thread;
    }

    private Optional<BrokerFailure> failure(String text, boolean withNamedBrokers) throws InterruptedException {
        BrokerAddress address = BrokerAddress.parse(text);
        boolean usesTls = protocol == SecurityProtocol.SSL || protocol == SecurityProtocol.SASL_SSL;
        Optional<BrokerFailure> failure =
                usesTls ? address.connectFailure(remaining()) : address.plaintextFailure(remaining());
        if (failure.isPresent()) {
            return failure.map(this::withWholeLimit);
        }
        try {
            Collection<Node> named = namedBrokers(text);
            return withNamedBrokers ? namedFailure(address, named) : Optional.empty();
        } catch (ExecutionException e) {
            return Optional.of(
                    e.getCause() instanceof org.apache.kafka.common.errors.TimeoutException
                            ? BrokerFailure.noExchange(protocol, limit)
                            : BrokerFailure.rejected(e.getCause()));
        } catch (TimeoutException e) {
            return Optional.of(BrokerFailure.noExchange(protocol, limit));
        }
    }

    /** Returns a time-out as one of the whole check, of which a part was spent before the connection. */
    private BrokerFailure withWholeLimit(BrokerFailure failure) {
        return failure.isTimeout() ? BrokerFailure.noResponse(limit) : failure;
    }

    private Collection<Node> namedBrokers(String address)
            throws ExecutionException, InterruptedException, TimeoutException {
        Properties alone = new Properties();
        alone.putAll(settings);
        alone.put(CommonClientConfigs.BOOTSTRAP_SERVERS_CONFIG, address);
        Admin admin = Admin.create(alone);
        try {
            return admin.describeCluster().nodes().get(remaining().toMillis(), TimeUnit.MILLISECONDS);
        } finally {
            admin.close(Duration.ZERO);
        }
    }

    /** Returns why none of the brokers that an address names can be reached; empty if one can. */
    private Optional<BrokerFailure> namedFailure(BrokerAddress address, Collection<Node> named) {
        Optional<BrokerFailure> failure = Optional.empty();
        for (Node node : named) {
            BrokerAddress advertised = new BrokerAddress(node.host(), node.port());
            Optional<BrokerFailure> why = advertised.equals(address)
                    ? Optional.empty()
                    : advertised.connectFailure(remaining()).map(this::withWholeLimit);
            if (why.isEmpty()) {
                return why;
            }
            failure = Optional.of(new BrokerFailure(
                    "names the broker " + advertised + ": " + why.get().reason(),
                    "make that address reachable, or correct advertised.listeners of the broker",
                    why.get().isTimeout()));
        }
        return failure;
    }

    private Duration remaining() {
        return left(limit);
    }

    /** Returns how long it is until a time after the start, at least 1 ms. */
    private Duration left(Duration afterStart) {
        return Duration.ofNanos(Math.max(1_000_000, afterStart.toNanos() - (System.nanoTime() - startNanos)));
    }
}
