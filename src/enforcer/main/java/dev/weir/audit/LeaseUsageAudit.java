package dev.weir.audit;

import dev.weir.audit.Mismatch.Place;
import dev.weir.audit.Mismatch.Topic;
import dev.weir.wire.LeaseUsageAvro;
import dev.weir.wire.UnreadableException;
import java.util.Iterator;
import org.apache.kafka.clients.consumer.ConsumerRecord;

/** Adds what leased clients report to the sums of shared quotas. */
final class LeaseUsageAudit {

    private final LeaseUsageAvro avro;
    private final SharedQuotaAudit sums;

    LeaseUsageAudit(LeaseUsageAvro avro, SharedQuotaAudit sums) {
        this.avro = avro;
        this.sums = sums;
    }

    /** Adds the records of one partition. */
    void add(Iterator<ConsumerRecord<byte[], byte[]>> records) {
        records.forEachRemaining(record -> {
            Place place = new Place(Topic.LEASE_USAGE, record.partition(), record.offset());
            try {
                sums.add(avro.decode(record.value()), place, record.timestamp());
            } catch (UnreadableException e) {
                sums.unreadable(place, record.timestamp(), e);
            }
        });
    }
}
