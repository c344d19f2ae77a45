package dev.weir.audit.shared;

import dev.weir.audit.finding.Mismatch.AuditedTopic;
import dev.weir.audit.finding.Mismatch.RecordPosition;
import dev.weir.fault.UnreadableException;
import dev.weir.wire.LeaseUsageAvro;
import java.util.Iterator;
import org.apache.kafka.clients.consumer.ConsumerRecord;

/** Adds the usage that leased clients report to the sums of shared quotas. */
public final class LeaseUsageAudit {

    private final LeaseUsageAvro avro;
    private final SharedQuotaAudit sharedQuotas;

    public LeaseUsageAudit(LeaseUsageAvro avro, SharedQuotaAudit sums) {
        this.avro = avro;
        this.sharedQuotas = sums;
    }

    /** Adds the records of one partition. */
    public void add(Iterator<ConsumerRecord<byte[], byte[]>> records) {
        records.forEachRemaining(record -> {
            RecordPosition place = new RecordPosition(AuditedTopic.LEASE_USAGE, record.partition(), record.offset());
            try {
                sharedQuotas.add(avro.decode(record.value()), place, record.timestamp());
            } catch (UnreadableException e) {
                sharedQuotas.unreadable(place, record.timestamp(), e);
            }
        });
    }
}
