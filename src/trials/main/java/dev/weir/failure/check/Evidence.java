package dev.weir.failure.check;

import dev.weir.config.WeirConfig;
import dev.weir.event.Decision;
import dev.weir.event.Rejection;
import dev.weir.event.Release;
import dev.weir.event.Request;
import dev.weir.fault.UnreadableException;
import dev.weir.kafka.Topics;
import dev.weir.requests.RequestPlacement;
import dev.weir.requests.RequestReader;
import dev.weir.wire.DeadLetterHeaders;
import dev.weir.wire.DecisionCodec;
import dev.weir.wire.PolicyAvro;
import dev.weir.wire.ReleaseCodec;
import dev.weir.wire.RequestCodec;
import java.lang.ref.SoftReference;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.function.Supplier;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeaders;

/**
 * Everything that a run has written. Records are kept as bytes and decoded on access, so a million requests take some
 * 700 MB.
 *
 * @param config the configuration, which contains the rules for requests and the bounds of state
 * @param requests the records of the requests topic; this and all other lists are in offset order within a partition
 * @param deadLetters the committed dead letters of requests
 * @param rules every version of every policy and queue, in the order in which they were applied
 */
public record Evidence(
        WeirConfig config,
        List<Entry> requests,
        TopicRecords<Entry> decisions,
        TopicRecords<Entry> releases,
        List<Dead> deadLetters,
        List<PolicyAvro.Applied> rules) {

    private static final RequestCodec REQUESTS = new RequestCodec();
    private static final DecisionCodec DECISIONS = new DecisionCodec();
    private static final ReleaseCodec RELEASES = new ReleaseCodec();
    private static final PolicyAvro RULES = new PolicyAvro();

    /**
     * A record of a topic.
     *
     * @param decoded its decision, which the invariants read many times
     */
    @SuppressWarnings("ArrayRecordComponent") // the arrays are compared by identity
    public record Entry(
            int partition, long offset, long timestampMs, byte[] key, byte[] value, DecodedDecision decoded) {

        Entry(int partition, long offset, long timestampMs, byte[] key, byte[] value) {
            this(partition, offset, timestampMs, key, value, new DecodedDecision());
        }

        static Entry of(ConsumerRecord<byte[], byte[]> record) {
            return new Entry(record.partition(), record.offset(), record.timestamp(), record.key(), record.value());
        }

        Request.Source place() {
            return new Request.Source(partition, offset);
        }

        Decision decision() {
            return decoded.get(() -> decode(DECISIONS::decode));
        }

        Release release() {
            return decode(RELEASES::decode);
        }

        private <T> T decode(Decoder<T> decoder) {
            try {
                return decoder.decode(value);
            } catch (UnreadableException e) {
                throw new IllegalStateException("cannot decode partition " + partition + ", offset " + offset, e);
            }
        }
    }

    /** A decision that is kept once it is decoded, as long as there is memory. */
    static final class DecodedDecision {
        private SoftReference<Decision> kept = new SoftReference<>(null);

        private Decision get(Supplier<Decision> decode) {
            Decision decision = kept.get();
            if (decision == null) {
                decision = decode.get();
                kept = new SoftReference<>(decision);
            }
            return decision;
        }
    }

    private interface Decoder<T> {
        T decode(byte[] value) throws UnreadableException;
    }

    /** A record of the requests topic that has a dead letter. */
    public record Dead(Request.Source source, String reason) {}

    /** A decoded record of the requests topic: a request, or the reason for its rejection. The other field is null. */
    record Read(Request request, Rejection rejection) {}

    /**
     * Reads all topics to their current ends. Nothing may be written at the same time.
     *
     * @param config the configuration, with the prefix of the topics and the brokers
     * @param timeout the time limit for each topic
     */
    public static Evidence read(WeirConfig config, Duration timeout) {
        Topics topics = Topics.of(config);
        return new Evidence(
                config,
                TopicRecords.read(config, topics.requests(), Entry::of, timeout).committed(),
                TopicRecords.read(config, topics.decisions(), Entry::of, timeout),
                TopicRecords.read(config, topics.releases(), Entry::of, timeout),
                TopicRecords.read(config, topics.deadLetters(), letter -> dead(letter, topics.requests()), timeout)
                        .committed(),
                TopicRecords.read(config, topics.policyHistory(), Evidence::rules, timeout)
                        .committed());
    }

    /**
     * Reads all topics repeatedly until every request is decided and every queued request has ended, or until
     * {@code timeout} is over. No requests may be sent at the same time.
     *
     * @param timeout the time limit, also for each topic
     */
    public static Evidence readSettled(WeirConfig config, Duration timeout) {
        long startNanos = System.nanoTime();
        Evidence evidence = read(config, timeout);
        while (!Oracle.isSettled(evidence) && System.nanoTime() - startNanos < timeout.toNanos()) {
            evidence = read(config, timeout);
        }
        return evidence;
    }

    /** Returns the requests by partition. */
    SortedMap<Integer, List<Entry>> requestsByPartition() {
        SortedMap<Integer, List<Entry>> partitions = new TreeMap<>();
        for (Entry entry : requests) {
            partitions
                    .computeIfAbsent(entry.partition(), partition -> new ArrayList<>())
                    .add(entry);
        }
        return partitions;
    }

    /** Returns the number of requests that are not in the partition of their client. */
    long misplaced() {
        return requests.stream()
                .filter(entry -> {
                    Request request = request(entry).request();
                    return request != null && taskOf(request.client()) != entry.partition();
                })
                .count();
    }

    /** Returns the task that decides the requests of a client: the number of the client's partition. */
    int taskOf(String client) {
        RequestPlacement placement = new RequestPlacement(
                config.topics().partitions(), config.requests().misplaced());
        return placement.partitionOf(client.getBytes(StandardCharsets.UTF_8));
    }

    /** Returns the positions of the requests to which shared limits apply, or to whose reservations they did. */
    Set<Request.Source> shared(PolicyVersionHistory rules) {
        Set<Request.Source> shared = new HashSet<>();
        Set<List<String>> reserved = new HashSet<>();
        Map<Request.Source, List<String>> ends = new HashMap<>();
        for (Entry entry : requests) {
            Request request = request(entry).request();
            List<String> id = request == null ? List.of() : List.of(request.client(), request.reservationId());
            if (request != null && request.isForReservation()) {
                ends.put(entry.place(), id);
            } else if (request != null && rules.isShared(request)) {
                shared.add(entry.place());
                reserved.add(id);
            }
        }
        ends.forEach((place, id) -> {
            if (reserved.contains(id)) {
                shared.add(place);
            }
        });
        return shared;
    }

    /** Decodes a record of the requests topic as an enforcer does. */
    Read request(Entry entry) {
        try {
            RequestReader reader = new RequestReader(REQUESTS, config.requests().rules());
            return new Read(
                    reader.read(entry.key(), entry.value(), new RecordHeaders(), entry.timestampMs(), entry.place()),
                    null);
        } catch (UnreadableException e) {
            return new Read(null, e.rejection());
        }
    }

    private static Dead dead(ConsumerRecord<byte[], byte[]> letter, String requests) {
        if (!requests.equals(header(letter, DeadLetterHeaders.TOPIC))) {
            return null;
        }
        int partition = Integer.parseInt(header(letter, DeadLetterHeaders.PARTITION));
        long offset = Long.parseLong(header(letter, DeadLetterHeaders.OFFSET));
        return new Dead(new Request.Source(partition, offset), header(letter, DeadLetterHeaders.REASON));
    }

    private static String header(ConsumerRecord<byte[], byte[]> letter, String name) {
        Header header = letter.headers().lastHeader(name);
        return header == null ? null : new String(header.value(), StandardCharsets.UTF_8);
    }

    private static PolicyAvro.Applied rules(ConsumerRecord<byte[], byte[]> version) {
        String key = new String(version.key(), StandardCharsets.UTF_8);
        if (key.startsWith("command/")) {
            return null; // of an operator, to a queue
        }
        if (version.value() == null) {
            throw new IllegalStateException("the history no longer has " + key + ": the run changed it too often");
        }
        try {
            return RULES.decode(key.substring(0, key.lastIndexOf('/')), version.value());
        } catch (UnreadableException e) {
            throw new IllegalStateException("cannot decode in the policy history: " + key, e);
        }
    }
}
