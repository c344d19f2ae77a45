package dev.weir.storage;

import dev.weir.event.Admission;
import dev.weir.event.DecisionContext;
import dev.weir.event.Request;
import dev.weir.event.StateKey;
import dev.weir.wire.AdmissionAvro;
import dev.weir.wire.KeyCodec;
import dev.weir.wire.UnreadableException;
import java.util.List;

/**
 * Requests that wait for a lease as bytes. How long they have waited is not kept: after a restart they wait anew.
 *
 * <pre>
 *   waiter  = version 1 | maxWaitMs | the key of what it waits for | the request, as an admission to no queue
 * </pre>
 */
public final class WaiterCodec {

    private static final int VERSION = 1;

    private final AdmissionAvro requests = new AdmissionAvro();

    /**
     * A request that waits.
     *
     * @param key what it waits for
     * @param maxWaitMs for how long at most
     * @param headers of its record
     */
    public record Waiter(StateKey key, long maxWaitMs, Request request, List<Admission.Header> headers) {

        /** The same, waiting for something else. */
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

    /** @throws IllegalStateException if the bytes are not those of a waiter: the store is broken */
    public Waiter decode(byte[] bytes) {
        StateBytes in = StateBytes.toRead(bytes, VERSION, "a request that waits");
        long maxWaitMs = in.readSigned();
        StateKey on = KeyCodec.decode(in.readBytes());
        try {
            Admission admission = requests.decode(in.readBytes());
            return new Waiter(on, maxWaitMs, admission.request(), admission.headers());
        } catch (UnreadableException e) {
            throw new IllegalStateException("a request that waits cannot be read", e);
        }
    }
}
