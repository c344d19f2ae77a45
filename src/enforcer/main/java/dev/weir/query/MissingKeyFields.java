package dev.weir.query;

import dev.weir.config.WeirConfig;
import dev.weir.event.Request;
import dev.weir.fault.SafeText;
import dev.weir.fault.Spelling;
import dev.weir.policy.Policy;
import dev.weir.policy.PolicyTable;
import dev.weir.processor.RequestReader;
import dev.weir.topics.RecordReader;
import dev.weir.topics.SchemaRegistries;
import dev.weir.topics.UnreachableException;
import dev.weir.topology.Topics;
import dev.weir.wire.RegistryException;
import dev.weir.wire.RequestCodec;
import dev.weir.wire.UnreadableException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Finds key fields that none of the recent requests of a policy has, such as one with a spelling mistake: all of these
 * requests share one count. Reads the end of the request topic.
 */
public final class MissingKeyFields {

    private static final Logger LOG = LoggerFactory.getLogger(MissingKeyFields.class);

    /** How many records are read of all partitions together. */
    static final int MOST_READ = 5_000;

    private static final int MIN_READ_OF_PARTITION = 20;
    private static final int MAX_NAMES = 1_000;
    private static final int MAX_SHOWN = 100;

    private final RequestReader reader;
    private final PolicyTable policies;
    private final Set<String> ids;
    private final Map<KeyField, Seen> seen = new TreeMap<>();

    private record KeyField(String policy, String field) implements Comparable<KeyField> {
        @Override
        public int compareTo(KeyField other) {
            int order = policy.compareTo(other.policy);
            return order == 0 ? field.compareTo(other.field) : order;
        }
    }

    private static final class Seen {
        private long requests;
        private long without;
        private final Set<String> names = new TreeSet<>();
    }

    private MissingKeyFields(WeirConfig config, PolicyTable policies, Set<String> ids) {
        reader = new RequestReader(
                new RequestCodec(SchemaRegistries.of(config)), config.requests().rules());
        this.policies = policies;
        this.ids = ids;
    }

    /**
     * Returns a warning for each key field that no recent request of its policy has.
     *
     * @param policies the policies that apply
     * @param ids the policies that are checked; empty for all
     * @param nowMs the time at which the requests are matched
     * @return the warnings by the id of the policy; none if recent requests cannot be read, for lack of permissions or
     *     within 10 s: they are a hint, without which policies can be checked and applied all the same
     */
    public static Map<String, List<String>> of(WeirConfig config, PolicyTable policies, Set<String> ids, long nowMs) {
        MissingKeyFields missing = new MissingKeyFields(config, policies, ids);
        try (RecordReader records =
                new RecordReader(config, Topics.of(config).requests(), RecordReader.Options.ofQuery())) {
            List<TopicPartition> all = records.partitions();
            long ofEach = Math.max(MIN_READ_OF_PARTITION, MOST_READ / Math.max(1, all.size()));
            Map<TopicPartition, Long> from = records.beginning(all);
            Map<TopicPartition, Long> end = records.end(all);
            from.replaceAll((partition, beginning) -> Math.max(beginning, end.get(partition) - ofEach));
            records.read(from, end, record -> missing.add(record, nowMs));
        } catch (UnreachableException | RegistryException | KafkaException e) {
            LOG.debug("Recent requests cannot be read", e);
            return Map.of();
        }
        return missing.warnings();
    }

    private void add(ConsumerRecord<byte[], byte[]> record, long nowMs) {
        Request request;
        try {
            Request.Source source = new Request.Source(record.partition(), record.offset());
            request = reader.read(record.key(), record.value(), record.headers(), record.timestamp(), source);
        } catch (UnreadableException e) { // a dead letter
            return;
        }
        for (Policy policy : policies.applicableAt(request, nowMs)) {
            if (ids.isEmpty() || ids.contains(policy.id())) {
                for (String field : policy.key()) {
                    if (!field.equals("client")) {
                        count(policy, field, request);
                    }
                }
            }
        }
    }

    private void count(Policy policy, String field, Request request) {
        Seen counts = seen.computeIfAbsent(new KeyField(policy.id(), field), none -> new Seen());
        counts.requests++;
        if (request.field(field) == null) {
            counts.without++;
            for (String name : request.attributes().keySet()) {
                if (counts.names.size() < MAX_NAMES) {
                    counts.names.add(name);
                }
            }
        }
    }

    private Map<String, List<String>> warnings() {
        Map<String, List<String>> warnings = new TreeMap<>();
        seen.forEach((of, counts) -> {
            if (counts.without == counts.requests) {
                warnings.computeIfAbsent(of.policy, none -> new ArrayList<>()).add(message(of, counts));
            }
        });
        return warnings;
    }

    private static String message(KeyField of, Seen counts) {
        String meant = Spelling.nearest(of.field, counts.names);
        String requests =
                counts.requests == 1 ? "the last request" : "all of the last " + counts.requests + " requests";
        return "policy '" + of.policy + "': " + requests + " that it applies to had no '" + of.field
                + "', which its key has, so they share one count"
                + (meant == null ? "" : "; did you mean \"" + SafeText.of(meant, MAX_SHOWN) + "\"?");
    }
}
