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
 * Which instance works on a key of an application. Partitions are those of Kafka's default partitioner, over the key's
 * bytes in UTF-8.
 *
 * @param self this instance, as {@link #address} names it
 */
public record PartitionOwners(KafkaStreams application, HostInfo self) {

    /** Nobody listens there. */
    private static final int NO_PORT = 0;

    /**
     * What the other instances know this one by; one that has no address is known by a name of its own, so that all can
     * tell its partitions from theirs.
     */
    public static String address(Optional<String> reachable) {
        return reachable.orElseGet(() -> UUID.randomUUID() + ":" + NO_PORT);
    }

    private static String address(HostInfo host) {
        boolean isIpv6 = host.host().indexOf(':') >= 0;
        return (isIpv6 ? "[" + host.host() + "]" : host.host()) + ":" + host.port();
    }

    /** The addresses of the other instances that can be asked; none while the application is not running. */
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
     * Answers here if this instance works on a key, else tells who does.
     *
     * @param here given the partition; what it asks of a store that closes meanwhile may throw
     */
    <T> Result<T> answer(String store, String key, IntFunction<Result<T>> here) {
        return answer(store, key.getBytes(StandardCharsets.UTF_8), here);
    }

    /**
     * Answers with the part of this instance.
     *
     * @param here given the addresses of the other instances that have partitions of the store
     */
    <T> Result<T> part(String store, Function<Set<String>, Result<T>> here) {
        return whileRunning(() -> here.apply(application.streamsMetadataForStore(store).stream()
                .map(StreamsMetadata::hostInfo)
                .filter(host -> !host.equals(self) && !host.equals(HostInfo.unavailable()))
                .map(PartitionOwners::address)
                .collect(Collectors.toCollection(TreeSet::new))));
    }

    /** As {@link #answer(String, String, IntFunction)}, for a key that is no text. */
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
                    ? new Result.NotReady<>("the instance that has the partition answers no questions")
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
