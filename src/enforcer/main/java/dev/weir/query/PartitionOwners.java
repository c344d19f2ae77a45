package dev.weir.query;

import dev.weir.query.InstanceQueries.Result;
import java.nio.charset.StandardCharsets;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.UUID;
import java.util.function.Function;
import java.util.function.IntFunction;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.KeyQueryMetadata;
import org.apache.kafka.streams.StreamsMetadata;
import org.apache.kafka.streams.errors.InvalidStateStoreException;
import org.apache.kafka.streams.state.HostInfo;

/**
 * Finds the instance that owns the partition of a key. Partitions are those of Kafka's default partitioner.
 *
 * @param application the application whose partitions are looked up
 * @param self the {@link #address(Optional) address} of this instance
 */
public record PartitionOwners(KafkaStreams application, HostInfo self) {

    /** The port of instances that serve no queries. */
    private static final int NO_PORT = 0;

    /**
     * Returns the {@code application.server} of this instance. An instance that serves no queries gets a unique name,
     * so that other instances can distinguish its partitions from theirs.
     *
     * @param reachable {@code host:port} at which this instance serves queries; empty if it serves none
     */
    public static String address(Optional<String> reachable) {
        return reachable.orElseGet(() -> UUID.randomUUID() + ":" + NO_PORT);
    }

    private static String address(HostInfo host) {
        boolean isIpv6 = host.host().indexOf(':') >= 0;
        return (isIpv6 ? "[" + host.host() + "]" : host.host()) + ":" + host.port();
    }

    /** Returns the addresses of the other instances that serve queries; empty while the application is not running. */
    public Set<String> others() {
        if (!application.state().isRunningOrRebalancing()) {
            return Set.of();
        }
        return application.metadataForAllStreamsClients().stream()
                .map(StreamsMetadata::hostInfo)
                .filter(host -> !host.equals(self) && !host.equals(HostInfo.unavailable()) && host.port() != NO_PORT)
                .map(PartitionOwners::address)
                .collect(Collectors.toCollection(TreeSet::new));
    }

    /**
     * Runs a query if this instance owns the key; otherwise returns the instance that does.
     *
     * @param key the key as text, which is encoded in UTF-8
     * @param here the query, which accepts the partition; it may throw if a store is closed while it runs
     */
    <T> Result<T> answer(String store, String key, IntFunction<Result<T>> here) {
        return answer(store, key.getBytes(StandardCharsets.UTF_8), here);
    }

    /**
     * Runs a query on the partitions of this instance.
     *
     * @param here the query, which accepts the addresses of the other instances that have partitions of the store
     */
    <T> Result<T> part(String store, Function<Set<String>, Result<T>> here) {
        return whileRunning(() -> here.apply(application.streamsMetadataForStore(store).stream()
                .map(StreamsMetadata::hostInfo)
                .filter(host -> !host.equals(self) && !host.equals(HostInfo.unavailable()))
                .map(PartitionOwners::address)
                .collect(Collectors.toCollection(TreeSet::new))));
    }

    /** Like {@link #answer(String, String, IntFunction)}, for a binary key. */
    <T> Result<T> answer(String store, byte[] key, IntFunction<Result<T>> here) {
        return whileRunning(() -> {
            KeyQueryMetadata owner = application.queryMetadataForKey(store, key, new ByteArraySerializer());
            if (owner == null
                    || owner.equals(KeyQueryMetadata.NOT_AVAILABLE)
                    || owner.activeHost().equals(HostInfo.unavailable())) {
                return new Result.NotReady<>("the partitions are not assigned yet");
            }
            if (owner.activeHost().equals(self)) {
                return here.apply(owner.partition());
            }
            return owner.activeHost().port() == NO_PORT
                    ? new Result.NotReady<>("the instance that owns the partition serves no queries")
                    : new Result.Remote<>(address(owner.activeHost()));
        });
    }

    private <T> Result<T> whileRunning(Supplier<Result<T>> answer) {
        try {
            return answer.get();
        } catch (InvalidStateStoreException e) {
            return new Result.NotReady<>(e.getMessage());
        } catch (IllegalStateException e) {
            if (application.state().isRunningOrRebalancing()) {
                throw e;
            }
            return new Result.NotReady<>("the instance is not running");
        }
    }
}
