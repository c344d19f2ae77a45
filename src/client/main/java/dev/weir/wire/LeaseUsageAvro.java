package dev.weir.wire;

import dev.weir.event.LeaseUsage;
import dev.weir.event.PolicyVersion;
import java.util.Optional;

/** Lease usage as Avro. Threads may share an instance. */
public final class LeaseUsageAvro {

    /** The version of the schema that is written field by field. */
    private static final long SCHEMA = 0xC0157AD3123E6B80L;

    private final AvroBytes<dev.weir.avro.LeaseUsage> avro;
    private final byte[] header;

    /** Reads Confluent's wire format too if there is a registry; writes single-object encoding. */
    public LeaseUsageAvro(Optional<SchemaRegistry> registry) {
        avro = AvroBytes.withRegistry(SCHEMA, new dev.weir.avro.LeaseUsage(), 0, registry);
        header = AvroBytes.header(SCHEMA);
    }

    /**
     * Writes Confluent's wire format if there is a registry.
     *
     * @param topic the topic that is written
     * @throws RegistryException if the registry does not answer, or rejects the schema
     */
    public LeaseUsageAvro(Optional<SchemaRegistry> registry, String topic) {
        avro = AvroBytes.withRegistry(SCHEMA, new dev.weir.avro.LeaseUsage(), 0, registry);
        header = avro.header(registry, topic);
    }

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
     * Reads a record of any version.
     *
     * @throws UnreadableException if the bytes are no lease usage
     * @throws RegistryException if the registry that has its schema does not answer
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
