package dev.weir.failure.check;

import dev.weir.config.WeirConfig;
import dev.weir.fault.UnreadableException;
import dev.weir.kafka.Topics;
import dev.weir.lease.LeaseRequest;
import dev.weir.lease.LeaseResponse;
import dev.weir.wire.KeyCodec;
import dev.weir.wire.LeaseRequestAvro;
import dev.weir.wire.LeaseResponseAvro;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import org.apache.kafka.clients.consumer.ConsumerRecord;

/** What lease holders had of a policy when they sent their last message, as the topics of leases show it. */
public final class UnreportedLeases {

    private final LeaseResponseAvro responses = new LeaseResponseAvro();
    private final LeaseRequestAvro requests = new LeaseRequestAvro();
    private final String policyId;
    private final Map<String, Map<Long, Long>> heldByHolder = new HashMap<>();
    private final Map<String, Long> lastMessageMs = new HashMap<>();

    private UnreportedLeases(String policyId) {
        this.policyId = policyId;
    }

    public static UnreportedLeases read(WeirConfig config, String policyId, Duration timeout) {
        UnreportedLeases leases = new UnreportedLeases(policyId);
        Topics topics = Topics.of(config);
        TopicRecords.read(config, topics.leaseResponses(), leases::granted, timeout);
        TopicRecords.read(config, topics.leaseRequests(), leases::reported, timeout);
        return leases;
    }

    /**
     * Returns the tokens that holders had neither used nor returned, of the holders that sent their last message before
     * a time of the broker.
     */
    public long ofHoldersSilentSince(long timeMs) {
        return heldByHolder.entrySet().stream()
                .filter(holder -> lastMessageMs.getOrDefault(holder.getKey(), 0L) < timeMs)
                .flatMap(holder -> holder.getValue().values().stream())
                .mapToLong(Long::longValue)
                .sum();
    }

    private boolean isOfPolicy(ConsumerRecord<byte[], byte[]> record) {
        return record.key() != null && KeyCodec.decode(record.key()).policyId().equals(policyId);
    }

    private Void granted(ConsumerRecord<byte[], byte[]> record) {
        if (isOfPolicy(record)) {
            try {
                LeaseResponseAvro.Addressed response = responses.decode(record.value(), record.partition());
                if (response.response() instanceof LeaseResponse.Granted lease) {
                    held(response.holder()).put(lease.leaseId(), lease.amount());
                }
            } catch (UnreadableException e) {
                throw new IllegalStateException(e);
            }
        }
        return null;
    }

    private Void reported(ConsumerRecord<byte[], byte[]> record) {
        if (isOfPolicy(record)) {
            try {
                LeaseRequest request = requests.decode(record.value()).request();
                lastMessageMs.merge(request.holder(), record.timestamp(), Math::max);
                request.reports().forEach(report -> held(request.holder()).put(report.leaseId(), report.held()));
            } catch (UnreadableException e) {
                throw new IllegalStateException(e);
            }
        }
        return null;
    }

    private Map<Long, Long> held(String holder) {
        return heldByHolder.computeIfAbsent(holder, any -> new HashMap<>());
    }
}
