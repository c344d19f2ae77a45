package dev.weir.wire;

import dev.weir.avro.RequestEvent;
import dev.weir.event.Rejection;
import dev.weir.event.Request;
import dev.weir.event.RequestKind;
import java.io.IOException;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.stream.Stream;

/** Requests as {@code RequestEvent}s. Threads may share an instance. */
public final class RequestAvro {

    /** The version of the schema that is written, and read, field by field; earlier ones are read by Avro. */
    private static final long SCHEMA = 0x4EFF1F0D8C1F344CL;

    private static final List<RequestKind> KINDS = Stream.of(dev.weir.avro.Kind.values())
            .map(kind -> RequestKind.valueOf(kind.name()))
            .toList();

    private final AvroBytes<RequestEvent> avro;
    private final StringInterner words = new StringInterner();
    private final byte[] header;

    /** In single-object encoding. */
    public RequestAvro() {
        this(Optional.empty());
    }

    /** Reads what is in Confluent's wire format too, if there is a registry; writes single-object encoding. */
    public RequestAvro(Optional<SchemaRegistry> registry) {
        avro = AvroBytes.withRegistry(SCHEMA, new RequestEvent(), 1, registry);
        header = AvroBytes.header(SCHEMA);
    }

    /**
     * If there is a registry, writes Confluent's wire format too.
     *
     * @param topic where to
     * @throws RegistryException if the registry does not answer, or does not take the schema
     */
    public RequestAvro(Optional<SchemaRegistry> registry, String topic) {
        avro = AvroBytes.withRegistry(SCHEMA, new RequestEvent(), 1, registry);
        header = avro.header(registry, topic);
    }

    public byte[] encode(Request request) {
        BytesEncoder out = BytesEncoder.begin(header);
        out.write(request.requestId());
        out.write(request.client());
        out.write(KINDS.indexOf(request.kind()));
        out.writeOptional(request.tier());
        out.write(request.cost());
        out.writeOptional(request.sizeBytes());
        out.write(request.attributes());
        out.writeOptional(request.deadlineMs());
        out.writeOptional(request.payload());
        out.writeOptional(request.queue());
        return out.end();
    }

    /**
     * Reads a request.
     *
     * @param timestampMs the record's time
     * @param source where the record is
     * @throws UnreadableException if the bytes are no request event
     * @throws RegistryException if the registry that has its schema does not answer
     */
    public Request decode(byte[] value, long timestampMs, Request.Source source) throws UnreadableException {
        OptionalInt start = avro.startOfNewest(value);
        if (start.isEmpty()) {
            return request(avro.decode(value), timestampMs, source);
        }
        try {
            BytesDecoder in = new BytesDecoder(value, start.getAsInt());
            Request request = read(in, timestampMs, source);
            in.end();
            return request;
        } catch (IOException e) {
            throw new UnreadableException(Rejection.NOT_AVRO, e);
        }
    }

    private Request read(BytesDecoder in, long timestampMs, Request.Source source) throws IOException {
        return new Request(
                in.readString(),
                in.readString(),
                KINDS.get(in.readBelow(KINDS.size())),
                in.readPresent() ? in.readWord(words) : null,
                in.readLong(),
                in.readPresent() ? (Long) in.readLong() : null,
                AttributeMap.read(in, words),
                in.readPresent() ? (Long) in.readLong() : null,
                in.readPresent() ? in.readBytes() : null,
                in.readPresent() ? in.readWord(words) : null,
                timestampMs,
                source);
    }

    static Request request(RequestEvent event, long timestampMs, Request.Source source) {
        return new Request(
                event.getRequestId(),
                event.getClient(),
                RequestKind.valueOf(event.getKind().name()),
                event.getTier(),
                event.getCost(),
                event.getSizeBytes(),
                event.getAttributes(),
                AvroBytes.toMs(event.getDeadline()),
                AvroBytes.toArray(event.getPayload()),
                event.getQueue(),
                timestampMs,
                source);
    }
}
