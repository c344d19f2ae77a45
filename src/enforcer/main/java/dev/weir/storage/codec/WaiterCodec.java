package dev.weir.storage.codec;

import dev.weir.event.Admission;
import dev.weir.event.DecisionContext;
import dev.weir.event.Request;
import dev.weir.event.StateKey;
import dev.weir.fault.UnreadableException;
import dev.weir.wire.AdmissionAvro;
import dev.weir.wire.KeyCodec;
import java.util.List;

/**
 * Encodes requests that wait for a lease. How long they have waited is not stored: after a restart, their wait
 * starts again.
 *
 * <pre>
 *   waiter  = version 1 | maxWaitMs | the key of the lease | the request, as an admission without a queue
 * </pre>
 */
public final class WaiterCodec {

    private static final int VERSION = 1;

    private final AdmissionAvro requests = new AdmissionAvro();

    /**
     * A request that waits for a lease.
     *
     * @param key the policy and key fields of the lease
     * @param maxWaitMs the maximum wait in milliseconds
     * @param headers the headers of the request's record
     */
    public record Waiter(StateKey key, long maxWaitMs, Request request, List<Admission.Header> headers) {

        /** Returns this waiter with another key to wait for. */
        public Waiter withKey(StateKey other) {
            return new Waiter(other, maxWaitMs, request, headers);
        }
    }

    public byte[] encode(Waiter waiter) {
        byte[] request = requests.encode(Admission.of(waiter.request, "", null, null)
                .withHeadersAndContext(waiter.headers, DecisionContext.UNKNOWN));
        StateBytes out = StateBytes.toWrite(VERSION);
        out.writeSigned(waiter.maxWaitMs);
        out.write(KeyCodec.encode(waiter.key));
        out.write(request);
        return out.written();
    }

    /** @throws IllegalStateException if the bytes are not a waiter, that is, if the store is damaged */
    public Waiter decode(byte[] bytes) {
        StateBytes in = StateBytes.toRead(bytes, VERSION, "a waiting request");
        long maxWaitMs = in.readSigned();
        StateKey on = KeyCodec.decode(in.readBytes());
        try {
            Admission admission = requests.decode(in.readBytes());
            return new Waiter(on, maxWaitMs, admission.request(), admission.headers());
        } catch (UnreadableException e) {
            throw new IllegalStateException("a waiting request cannot be decoded", e);
        }
    }
}
