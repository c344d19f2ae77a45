package dev.weir.codec;

import dev.weir.avro.Header;
import dev.weir.policy.Admission;
import dev.weir.policy.Rejection;
import dev.weir.policy.Request;
import java.nio.ByteBuffer;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;

/** Admissions as Avro. Threads may share an instance. */
public final class AdmissionAvro {

    /** A request's headers are bounded by its size alone: the most that fit into 2 MiB, of which each takes 10 bytes. */
    private static final int MAX_HEADERS = (2 << 20) / 10;

    private final AvroBytes<dev.weir.avro.Admission> bytes =
            new AvroBytes<>(new dev.weir.avro.Admission(), 1, MAX_HEADERS);
    private final RequestAvro requests = new RequestAvro();

    public byte[] encode(Admission admission) {
        Request request = admission.request();
        List<Header> headers = new ArrayList<>(admission.headers().size());
        for (Admission.Header header : admission.headers()) {
            headers.add(new Header(header.key(), AvroBytes.toBuffer(header.value())));
        }
        return bytes.encode(dev.weir.avro.Admission.newBuilder()
                .setRequest(ByteBuffer.wrap(requests.encode(request)))
                .setTimestamp(Instant.ofEpochMilli(request.timestampMs()))
                .setSourcePartition(request.source().partition())
                .setSourceOffset(request.source().offset())
                .setQueue(admission.queue())
                .setPolicyId(admission.policyId())
                .setPolicyVersion(admission.policyVersion())
                .setLimitedBy(admission.limitedBy())
                .setLimit(admission.limit())
                .setRepeated(admission.repeated())
                .setRememberUntil(Instant.ofEpochMilli(admission.rememberUntilMs()))
                .setHeaders(headers)
                .build());
    }

    /** @throws UnreadableException if the bytes are no admission */
    public Admission decode(byte[] value) throws UnreadableException {
        dev.weir.avro.Admission event = bytes.decode(value);
        Request.Source source = new Request.Source(event.getSourcePartition(), event.getSourceOffset());
        List<Admission.Header> headers = new ArrayList<>(event.getHeaders().size());
        for (Header header : event.getHeaders()) {
            headers.add(new Admission.Header(header.getKey(), AvroBytes.toArray(header.getValue())));
        }
        Request request = requests.decode(
                AvroBytes.toArray(event.getRequest()), event.getTimestamp().toEpochMilli(), source);
        if (request.cost() < 0) { // a queue's time would go backwards, or out of its range
            throw new UnreadableException(Rejection.NEGATIVE_COST, "cost is " + request.cost());
        }
        return new Admission(
                request,
                event.getQueue(),
                event.getPolicyId(),
                event.getPolicyVersion(),
                event.getLimitedBy(),
                event.getLimit(),
                event.getRepeated(),
                event.getRememberUntil().toEpochMilli(),
                headers);
    }
}
