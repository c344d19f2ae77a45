package dev.weir.storage.codec;

import dev.weir.event.DecisionOrder;

/**
 * Encodes positions in the sequence of a task's decisions.
 *
 * <pre>
 *   position  = version 1 | afterOffset | step
 * </pre>
 */
public final class DecisionOrderCodec {

    private static final int VERSION = 1;

    private DecisionOrderCodec() {}

    public static byte[] encode(DecisionOrder order) {
        StateBytes out = StateBytes.toWrite(VERSION);
        out.writeSigned(order.afterOffset());
        out.writeSigned(order.step());
        return out.written();
    }

    /** @throws IllegalStateException if the bytes are not a position, that is, if the store is damaged */
    public static DecisionOrder decode(byte[] bytes) {
        StateBytes in = StateBytes.toRead(bytes, VERSION, "the position of a task's decisions");
        return new DecisionOrder(in.readSigned(), (int) in.readSigned());
    }
}
