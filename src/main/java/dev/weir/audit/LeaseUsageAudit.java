package dev.weir.audit;

import dev.weir.audit.Difference.Place;
import dev.weir.audit.Difference.Topic;
import dev.weir.codec.LeaseUsageAvro;
import dev.weir.codec.UnreadableException;
import java.util.Iterator;
import org.apache.kafka.clients.consumer.ConsumerRecord;

/** Adds what leased clients report to the sums of shared quotas. */
final class LeaseUsageAudit {

    private final LeaseUsageAvro avro;
    private final Sums sums;

    LeaseUsageAudit(LeaseUsageAvro avro, Sums sums) {
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
