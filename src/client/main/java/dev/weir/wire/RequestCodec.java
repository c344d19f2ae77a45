package dev.weir.wire;

import dev.weir.avro.RequestEvent;
import dev.weir.event.Acknowledgement;
import dev.weir.event.LimitOverride;
import dev.weir.event.Rejection;
import dev.weir.event.Request;
import dev.weir.event.RequestKind;
import dev.weir.fault.UnreadableException;
import dev.weir.wire.json.JsonFields;
import dev.weir.wire.json.MissingFieldException;
import dev.weir.wire.json.RequestJson;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.HexFormat;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.stream.Stream;

/**
 * The codec of requests. It writes Avro with the schema {@code RequestEvent}, and reads Avro and {@link RequestJson}.
 * Thread-safe.
 */
public final class RequestCodec {

    /** The fingerprint of the schema version that is written and read field by field. Avro reads earlier versions. */
    private static final long SCHEMA = 0xBE60EAEA6C285801L;

    /** How many bytes of an unknown format the message shows. */
    private static final int SHOWN_BYTES = 8;

    /** The first byte of a byte order mark. */
    private static final byte UTF_8_BOM = (byte) 0xEF;

    private static final List<RequestKind> KINDS = Stream.of(dev.weir.avro.Kind.values())
            .map(kind -> RequestKind.valueOf(kind.name()))
            .toList();

    /** In the order of the schema. */
    private static final List<Acknowledgement.Result> RESULTS = List.of(Acknowledgement.Result.values());

    private final AvroBytes<RequestEvent> avro;
    private final StringInterner words = new StringInterner();
    private final byte[] header;

    /** Creates a codec for single-object encoding. */
    public RequestCodec() {
        this(Optional.empty());
    }

    /**
     * Creates a codec that writes single-object encoding and, if there is a registry, also reads Confluent's
     * wire format.
     *
     * @param registry the schema registry; empty for none
     */
    public RequestCodec(Optional<SchemaRegistry> registry) {
        avro = AvroBytes.withRegistry(SCHEMA, new RequestEvent(), registry);
        header = AvroBytes.header(SCHEMA);
    }

    /**
     * Creates a codec that, if there is a registry, reads and writes Confluent's wire format.
     *
     * @param registry the schema registry; empty for none
     * @param topic the topic to which requests are written
     * @throws RegistryException if the registry does not respond or rejects the schema
     */
    public RequestCodec(Optional<SchemaRegistry> registry, String topic) {
        avro = AvroBytes.withRegistry(SCHEMA, new RequestEvent(), registry);
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
        LimitOverride override = request.limitOverride();
        if (out.writePresent(override)) {
            out.write(override.limit());
            out.write(override.windowMs());
        }
        out.writeOptional(request.policyId());
        out.writeOptional(request.reserveMs());
        out.writeOptional(request.settles());
        Acknowledgement acknowledgement = request.acknowledgement();
        if (out.writePresent(acknowledgement)) {
            out.write(acknowledgement.receipt());
            if (out.writePresent(acknowledgement.result())) {
                out.write(acknowledgement.result().ordinal());
            }
            out.writeOptional(acknowledgement.retryAfterMs());
            out.writeOptional(acknowledgement.error());
        }
        out.writeOptional(request.notBeforeMs());
        return out.end();
    }

    /**
     * Decodes a request of any version: JSON if the first byte is <code>{</code>, otherwise Avro with the header of
     * single-object encoding or, with a schema registry, of Confluent's wire format.
     *
     * @param value the value of a record
     * @param timestampMs the timestamp of the record
     * @param source the position of the record
     * @return the request
     * @throws UnreadableException if the value is not a request
     * @throws RegistryException if the registry that has its schema does not respond
     */
    public Request decode(byte[] value, long timestampMs, Request.Source source) throws UnreadableException {
        if (JsonFields.areIn(value)) {
            return json(value, timestampMs, source);
        }
        if (value != null && !avro.recognizes(value)) {
            throw new UnreadableException(Rejection.UNKNOWN_FORMAT, unknownFormat(value));
        }
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

    private static Request json(byte[] value, long timestampMs, Request.Source source) throws UnreadableException {
        try {
            String text = StandardCharsets.UTF_8
                    .newDecoder()
                    .decode(ByteBuffer.wrap(value))
                    .toString();
            return RequestJson.readRecord(text, timestampMs, source);
        } catch (CharacterCodingException e) {
            throw new UnreadableException(Rejection.NOT_JSON, "the value is not UTF-8");
        } catch (MissingFieldException e) {
            Rejection missing = e.field().equals("client") ? Rejection.NO_CLIENT : Rejection.NO_REQUEST_ID;
            throw new UnreadableException(missing, "the value: " + e.getMessage());
        } catch (IllegalArgumentException e) {
            throw new UnreadableException(Rejection.NOT_JSON, "the value: " + e.getMessage());
        }
    }

    private static String unknownFormat(byte[] value) {
        String start = value.length == 0
                ? "it is empty"
                : "it begins with "
                        + HexFormat.ofDelimiter(" ").formatHex(value, 0, Math.min(value.length, SHOWN_BYTES));
        return "the value is none of: JSON, which begins with {; Avro in single-object encoding, which begins with c3 01;"
                + " Avro in Confluent's wire format, which begins with 00 and needs a schema registry; " + start
                + hint(value);
    }

    /** Returns the likely cause. */
    private static String hint(byte[] value) {
        return switch (value.length == 0 ? -1 : value[0]) {
            case 0 -> ". It looks like Confluent's wire format, which needs registry.url and a schema id of 4 bytes";
            case '[' -> ". Send each request of a JSON array as a record";
            case '"' -> ". It looks like JSON that was serialized twice";
            case ' ', '\n', '\r', '\t', UTF_8_BOM -> ". Remove what precedes the {";
            default -> "";
        };
    }

    private Request read(BytesDecoder in, long timestampMs, Request.Source source) throws IOException {
        return Request.builder(in.readString(), in.readString())
                .kind(KINDS.get(in.readBelow(KINDS.size())))
                .tier(in.readPresent() ? in.readWord(words) : null)
                .cost(in.readLong())
                .sizeBytes(in.readPresent() ? (Long) in.readLong() : null)
                .attributes(AttributeMap.read(in, words))
                .deadlineMs(in.readPresent() ? (Long) in.readLong() : null)
                .payload(in.readPresent() ? in.readBytes() : null)
                .queue(in.readPresent() ? in.readWord(words) : null)
                .limitOverride(in.readPresent() ? new LimitOverride(in.readLong(), in.readLong()) : null)
                .policyId(in.readPresent() ? in.readWord(words) : null)
                .reserveMs(in.readPresent() ? (Long) in.readLong() : null)
                .settles(in.readPresent() ? in.readString() : null)
                .acknowledgement(in.readPresent() ? acknowledgement(in) : null)
                .notBeforeMs(in.readPresent() ? (Long) in.readLong() : null)
                .timestampMs(timestampMs)
                .source(source)
                .build();
    }

    private static Acknowledgement acknowledgement(BytesDecoder in) throws IOException {
        return new Acknowledgement(
                in.readString(),
                in.readPresent() ? RESULTS.get(in.readBelow(RESULTS.size())) : null,
                in.readPresent() ? (Long) in.readLong() : null,
                in.readPresent() ? in.readString() : null);
    }

    private static Acknowledgement acknowledgement(dev.weir.avro.Acknowledgement event) {
        return event == null
                ? null
                : new Acknowledgement(
                        event.getReceipt(),
                        event.getResult() == null
                                ? null
                                : Acknowledgement.Result.valueOf(
                                        event.getResult().name()),
                        event.getRetryAfterMs(),
                        event.getError());
    }

    private static LimitOverride override(dev.weir.avro.LimitOverride override) {
        return override == null ? null : new LimitOverride(override.getLimit(), override.getWindowMs());
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
                AvroBytes.toMs(event.getNotBefore()),
                AvroBytes.toArray(event.getPayload()),
                event.getQueue(),
                override(event.getLimitOverride()),
                event.getPolicyId(),
                event.getReserveMs(),
                event.getSettles(),
                acknowledgement(event.getAcknowledgement()),
                timestampMs,
                source);
    }
}
