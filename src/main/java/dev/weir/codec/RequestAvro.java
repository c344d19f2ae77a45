package dev.weir.codec;

import dev.weir.avro.RequestEvent;
import dev.weir.policy.Kind;
import dev.weir.policy.Request;

/** Requests as {@code RequestEvent}s. Threads may share an instance. */
public final class RequestAvro {

    private final AvroBytes<RequestEvent> bytes = new AvroBytes<>(new RequestEvent(), 1);

    public byte[] encode(Request request) {
        return bytes.encode(RequestEvent.newBuilder()
                .setRequestId(request.requestId())
                .setClient(request.client())
                .setKind(dev.weir.avro.Kind.valueOf(request.kind().name()))
                .setTier(request.tier())
                .setCost(request.cost())
                .setSizeBytes(request.sizeBytes())
                .setAttributes(request.attributes())
                .setDeadline(AvroBytes.toInstant(request.deadlineMs()))
                .setPayload(AvroBytes.toBuffer(request.payload()))
                .setQueue(request.queue())
                .build());
    }

    /**
     * Reads a request.
     *
     * @param timestampMs the record's time
     * @param source where the record is
     * @throws UnreadableException if the bytes are no request event
     */
    public Request decode(byte[] value, long timestampMs, Request.Source source) throws UnreadableException {
        RequestEvent event = bytes.decode(value);
        return new Request(
                event.getRequestId(),
                event.getClient(),
                Kind.valueOf(event.getKind().name()),
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
