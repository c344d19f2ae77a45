package dev.weir.wire;

import dev.weir.avro.Header;
import dev.weir.event.Admission;
import dev.weir.event.IdempotentAnswer;
import dev.weir.event.LimitStatus;
import dev.weir.event.PolicyVersion;
import dev.weir.event.Rejection;
import dev.weir.event.Request;
import dev.weir.fault.UnreadableException;
import java.util.ArrayList;
import java.util.List;

/** The Avro codec of admissions. Thread-safe. */
public final class AdmissionAvro {

    /**
     * The maximum number of headers of a request, which is bounded only by its size: 2 MiB, with at least 10 bytes
     * per header.
     */
    private static final int MAX_HEADERS = (2 << 20) / 10;

    /** The fingerprint of the schema version that is written field by field. */
    private static final long SCHEMA = 0xC570D68D32F0326EL;

    private final AvroBytes<dev.weir.avro.Admission> avro =
            AvroBytes.withRegistry(SCHEMA, new dev.weir.avro.Admission(), MAX_HEADERS);
    private final RequestCodec requests = new RequestCodec();
    private final byte[] header = AvroBytes.header(SCHEMA);

    /** Creates a codec. */
    public AdmissionAvro() {}

    /**
     * Encodes an admission in single-object encoding.
     *
     * @param admission the admission
     * @return the value of a record
     */
    public byte[] encode(Admission admission) {
        Request request = admission.request();
        byte[] requestBytes = requests.encode(request);
        BytesEncoder out = BytesEncoder.begin(header);
        out.write(requestBytes);
        out.write(request.timestampMs());
        out.write(request.source().partition());
        out.write(request.source().offset());
        out.write(admission.queue());
        PolicyVersion policy = admission.policy();
        LimitStatus exceeded = admission.exceeded();
        out.writeOptional(policy == null ? null : policy.id());
        out.writeOptional(policy == null ? null : (Long) policy.version());
        out.writeOptional(exceeded == null ? null : exceeded.label());
        out.writeOptional(exceeded == null ? null : exceeded.limit());
        out.write(admission.repeated());
        out.write(admission.idempotentUntilMs());
        write(admission.headers(), out);
        DecisionContextAvro.write(admission.context(), out);
        out.write(admission.key());
        writeTexts(admission.sent().observedBy(), out);
        out.write(admission.identity().reservation());
        out.writeOptional(admission.reservedUntilMs());
        return out.end();
    }

    private static void writeTexts(List<String> texts, BytesEncoder out) {
        if (!texts.isEmpty()) {
            out.write(texts.size());
        }
        texts.forEach(out::write);
        out.writeEnd();
    }

    private static void write(List<Admission.Header> headers, BytesEncoder out) {
        if (!headers.isEmpty()) {
            out.write(headers.size());
        }
        for (Admission.Header header : headers) {
            out.write(header.key());
            out.writeOptional(header.value());
        }
        out.writeEnd();
    }

    /**
     * Decodes an admission of any version.
     *
     * @param value the value of a record
     * @return the admission
     * @throws UnreadableException if the value is not an admission, or its cost is negative
     */
    public Admission decode(byte[] value) throws UnreadableException {
        dev.weir.avro.Admission event = avro.decode(value);
        Request.Source source = new Request.Source(event.getSourcePartition(), event.getSourceOffset());
        List<Admission.Header> headers = new ArrayList<>(event.getHeaders().size());
        for (Header header : event.getHeaders()) {
            headers.add(new Admission.Header(header.getKey(), AvroBytes.toArray(header.getValue())));
        }
        Request request = requests.decode(
                AvroBytes.toArray(event.getRequest()), event.getTimestamp().toEpochMilli(), source);
        if (request.cost() < 0) { // it would move the time of a queue backwards or out of its range
            throw new UnreadableException(Rejection.NEGATIVE_COST, "cost must not be negative, is " + request.cost());
        }
        return new Admission(
                request,
                new IdempotentAnswer.SentToQueue(
                        event.getQueue(),
                        PolicyVersionAvro.read(event.getPolicyId(), event.getPolicyVersion()),
                        event.getLimitedBy() == null ? null : LimitStatus.of(event.getLimitedBy(), event.getLimit()),
                        event.getObservedBy()),
                event.getQueueKey(),
                new Admission.Identity(
                        event.getRepeated(),
                        event.getRememberUntil().toEpochMilli(),
                        event.getReservation(),
                        AvroBytes.toMs(event.getReservedUntil())),
                headers,
                DecisionContextAvro.read(event.getOrder(), event.getPoliciesChecksum()));
    }
}
