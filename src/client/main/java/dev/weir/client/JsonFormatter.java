package dev.weir.client;

import dev.weir.fault.UnreadableException;
import dev.weir.wire.DecisionCodec;
import dev.weir.wire.LeaseUsageAvro;
import dev.weir.wire.ReleaseCodec;
import dev.weir.wire.SchemaRegistry;
import dev.weir.wire.SchemaRegistryProvider;
import dev.weir.wire.json.DecisionJson;
import dev.weir.wire.json.LeaseUsageJson;
import dev.weir.wire.json.NdjsonWriter;
import dev.weir.wire.json.ReleaseJson;
import java.io.IOException;
import java.io.PrintStream;
import java.io.StringWriter;
import java.io.UncheckedIOException;
import java.io.Writer;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.MessageFormatter;
import org.apache.kafka.common.errors.SerializationException;

/**
 * A formatter with which {@code kafka-console-consumer.sh} prints decisions, releases and lease usage as NDJSON, like
 * {@code weir watch}.
 *
 * <p>A topic whose name ends in {@code releases} or {@code lease-usage} contains those records, any other topic
 * contains decisions. The property {@code records} overrides this for all topics; its values are {@code decisions},
 * {@code releases} and {@code lease-usage}. For records that are written with a schema registry, set the properties of
 * Apicurio's serdes, such as {@code apicurio.registry.url}. Not thread-safe.
 */
public final class JsonFormatter implements MessageFormatter {

    private static final String RECORDS = "records";
    private static final String RELEASES = "releases";
    private static final String DECISIONS = "decisions";
    private static final String LEASE_USAGE = "lease-usage";

    private final StringWriter line = new StringWriter();
    private Optional<SchemaRegistry> registry = Optional.empty();
    private String records;
    private final Map<String, Printer> printers = new HashMap<>(); // by the type of the records

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

    /** Creates a formatter, which Kafka then {@linkplain #configure configures}. */
    public JsonFormatter() {}

    /**
     * Sets the type of the records and the schema registry.
     *
     * @param properties the properties of the command line, among them {@code records}
     * @throws IllegalArgumentException if {@code records} has an unknown value
     * @throws dev.weir.wire.RegistryException if the properties of the schema registry are invalid
     */
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

    /**
     * Prints a record as one line of JSON.
     *
     * @param record a record of the configured type
     * @param output where to print the line
     * @throws SerializationException if the record cannot be decoded; the message names topic, partition and offset
     */
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
            throw new UncheckedIOException(e); // cannot happen: it writes to memory
        }
        output.print(line);
    }

    private Printer printer(String topic) throws IOException {
        String type = type(records == null ? topic : records);
        Printer printer = printers.get(type);
        if (printer == null) {
            printer = switch (type) {
                case RELEASES -> printer(new ReleaseCodec(registry)::decode, ReleaseJson::new);
                case LEASE_USAGE -> printer(new LeaseUsageAvro(registry)::decode, LeaseUsageJson::new);
                default -> printer(new DecisionCodec(registry)::decode, DecisionJson::new);
            };
            printers.put(type, printer);
        }
        return printer;
    }

    private static String type(String name) {
        return name.endsWith(RELEASES) ? RELEASES : name.endsWith(LEASE_USAGE) ? LEASE_USAGE : DECISIONS;
    }

    private <T> Printer printer(Decoder<T> avro, Json<T> json) throws IOException {
        NdjsonWriter<T> out = json.to(line);
        return value -> {
            out.write(avro.decode(value));
            out.flush();
        };
    }
}
