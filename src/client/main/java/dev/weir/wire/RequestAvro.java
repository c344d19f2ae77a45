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

/** The Avro codec of requests, whose schema is {@code RequestEvent}. Thread-safe. */
public final class RequestAvro {

    /** The fingerprint of the schema version that is written and read field by field. Avro reads earlier versions. */
    private static final long SCHEMA = 0x4EFF1F0D8C1F344CL;

    private static final List<RequestKind> KINDS = Stream.of(dev.weir.avro.Kind.values())
            .map(kind -> RequestKind.valueOf(kind.name()))
            .toList();

    private final AvroBytes<RequestEvent> avro;
    private final StringInterner words = new StringInterner();
    private final byte[] header;

    /** Creates a codec for single-object encoding. */
    public RequestAvro() {
        this(Optional.empty());
    }

    /**
     * Creates a codec that writes single-object encoding and, if there is a registry, also reads Confluent's
     * wire format.
     *
     * @param registry the schema registry; empty for none
     */
    public RequestAvro(Optional<SchemaRegistry> registry) {
        avro = AvroBytes.withRegistry(SCHEMA, new RequestEvent(), 1, registry);
        header = AvroBytes.header(SCHEMA);
    }

    /**
     * Creates a codec that, if there is a registry, reads and writes Confluent's wire format.
     *
     * @param registry the schema registry; empty for none
     * @param topic the topic to which requests are written
     * @throws RegistryException if the registry does not respond or rejects the schema
     */
    public RequestAvro(Optional<SchemaRegistry> registry, String topic) {
        avro = AvroBytes.withRegistry(SCHEMA, new RequestEvent(), 1, registry);
        header = avro.header(registry, topic);
    }

    /**
     * Encodes a request. Its timestamp and source are not part of the value.
     *
     * @param request the request
     * @return the value of a record
     */
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
     * Returns whether a value begins with the header of an encoding that this codec reads.
     *
     * @param value the value of a record
     * @return whether it can be a request in Avro
     */
    public boolean hasHeader(byte[] value) {
        return avro.recognizes(value);
    }

    /**
     * Decodes a request of any version.
     *
     * @param value the value of a record
     * @param timestampMs the timestamp of the record
     * @param source the position of the record
     * @return the request
     * @throws UnreadableException if the value is not a request
     * @throws RegistryException if the registry that has its schema does not respond
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
