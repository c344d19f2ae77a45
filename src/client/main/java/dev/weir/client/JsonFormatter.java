package dev.weir.client;

import dev.weir.wire.DecisionAvro;
import dev.weir.wire.DecisionJson;
import dev.weir.wire.LeaseUsageAvro;
import dev.weir.wire.LeaseUsageJson;
import dev.weir.wire.NdjsonWriter;
import dev.weir.wire.ReleaseAvro;
import dev.weir.wire.ReleaseJson;
import dev.weir.wire.SchemaRegistry;
import dev.weir.wire.SchemaRegistryProvider;
import dev.weir.wire.UnreadableException;
import java.io.IOException;
import java.io.PrintStream;
import java.io.StringWriter;
import java.io.UncheckedIOException;
import java.io.Writer;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.MessageFormatter;
import org.apache.kafka.common.errors.SerializationException;

/**
 * Lets {@code kafka-console-consumer.sh} print decisions and releases as NDJSON, as {@code weir watch} does, and lease
 * usage. A topic whose name ends in {@code releases} or {@code lease-usage} has those records, any other has decisions,
 * unless the property {@code records} says which. The properties of Apicurio's serdes, as {@code
 * apicurio.registry.url}, name a schema registry.
 */
public final class JsonFormatter implements MessageFormatter {

    private static final String RECORDS = "records";
    private static final String RELEASES = "releases";
    private static final String DECISIONS = "decisions";
    private static final String LEASE_USAGE = "lease-usage";

    private final StringWriter line = new StringWriter();
    private Optional<SchemaRegistry> registry = Optional.empty();
    private String records;
    private Printer printer;

    /** Writes a record's value to {@link #line}. */
    private interface Printer {
        void print(byte[] value) throws UnreadableException, IOException;
    }

    private interface Decoder<T> {
        T decode(byte[] value) throws UnreadableException;
    }

    private interface Json<T> {
        NdjsonWriter<T> to(Writer out) throws IOException;
    }

    @Override
    public void configure(Map<String, ?> properties) {
        registry = SchemaRegistryProvider.of(properties);
        Object which = properties.get(RECORDS);
        if (which != null && !List.of(DECISIONS, RELEASES, LEASE_USAGE).contains(which)) {
            throw new IllegalArgumentException(
                    "%s must be %s, %s or %s, is '%s'".formatted(RECORDS, DECISIONS, RELEASES, LEASE_USAGE, which));
        }
        records = (String) which;
    }

    /** @throws SerializationException if the record is none of those; the message names topic, partition and offset */
    @Override
    public void writeTo(ConsumerRecord<byte[], byte[]> record, PrintStream output) {
        line.getBuffer().setLength(0);
        try {
            printer(record.topic()).print(record.value());
        } catch (UnreadableException e) {
            throw new SerializationException(
                    "topic %s, partition %d, offset %d: %s"
                            .formatted(record.topic(), record.partition(), record.offset(), e.getMessage()),
                    e);
        } catch (IOException e) {
            throw new UncheckedIOException(e); // it writes to memory
        }
        output.print(line);
    }

    private Printer printer(String topic) throws IOException {
        if (printer == null) {
            String which = records == null ? topic : records;
            if (which.endsWith(RELEASES)) {
                printer = printer(new ReleaseAvro(registry)::decode, ReleaseJson::new);
            } else if (which.endsWith(LEASE_USAGE)) {
                printer = printer(new LeaseUsageAvro(registry)::decode, LeaseUsageJson::new);
            } else {
                printer = printer(new DecisionAvro(registry)::decode, DecisionJson::new);
            }
        }
        return printer;
    }

    private <T> Printer printer(Decoder<T> avro, Json<T> json) throws IOException {
        NdjsonWriter<T> out = json.to(line);
        return value -> {
            out.write(avro.decode(value));
            out.flush();
        };
    }
}
