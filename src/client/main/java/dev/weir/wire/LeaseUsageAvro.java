package dev.weir.wire;

import dev.weir.event.LeaseUsage;
import dev.weir.event.PolicyVersion;
import dev.weir.fault.UnreadableException;
import java.util.Optional;

/** The Avro codec of lease usage. Thread-safe. */
public final class LeaseUsageAvro {

    /** The fingerprint of the schema version that is written field by field. */
    private static final long SCHEMA = 0xC0157AD3123E6B80L;

    private final AvroBytes<dev.weir.avro.LeaseUsage> avro;
    private final byte[] header;

    /**
     * Creates a codec that writes single-object encoding and, if there is a registry, also reads Confluent's
     * wire format.
     *
     * @param registry the schema registry; empty for none
     */
    public LeaseUsageAvro(Optional<SchemaRegistry> registry) {
        avro = AvroBytes.withRegistry(SCHEMA, new dev.weir.avro.LeaseUsage(), registry);
        header = AvroBytes.header(SCHEMA);
    }

    /**
     * Creates a codec that, if there is a registry, reads and writes Confluent's wire format.
     *
     * @param registry the schema registry; empty for none
     * @param topic the topic to which lease usage is written
     * @throws RegistryException if the registry does not respond or rejects the schema
     */
    public LeaseUsageAvro(Optional<SchemaRegistry> registry, String topic) {
        avro = AvroBytes.withRegistry(SCHEMA, new dev.weir.avro.LeaseUsage(), registry);
        header = avro.header(registry, topic);
    }

    /**
     * Encodes a report on lease usage.
     *
     * @param usage the report
     * @return the value of a record
     */
    public byte[] encode(LeaseUsage usage) {
        BytesEncoder out = BytesEncoder.begin(header);
        out.write(usage.origin().holder());
        out.write(usage.origin().leaseId());
        out.write(usage.origin().number());
        out.write(usage.policy().id());
        out.write(usage.policy().version());
        out.write(usage.key());
        out.write(usage.amount().cost());
        out.write(usage.amount().requests());
        out.write(usage.amount().denied());
        out.write(usage.sinceMs());
        out.write(usage.untilMs());
        return out.end();
    }

    /**
     * Decodes a report of any version.
     *
     * @param value the value of a record
     * @return the report
     * @throws UnreadableException if the value is not a report on lease usage
     * @throws RegistryException if the registry that has its schema does not respond
     */
    public LeaseUsage decode(byte[] value) throws UnreadableException {
        dev.weir.avro.LeaseUsage event = avro.decode(value);
        return new LeaseUsage(
                new LeaseUsage.Origin(event.getHolder(), event.getLease(), event.getNumber()),
                new PolicyVersion(event.getPolicyId(), event.getPolicyVersion()),
                event.getKey(),
                new LeaseUsage.Amount(event.getCost(), event.getRequests(), event.getDenied()),
                event.getSince().toEpochMilli(),
                event.getUntil().toEpochMilli());
    }
}
