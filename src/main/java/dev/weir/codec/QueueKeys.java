package dev.weir.codec;

import dev.weir.shape.Flow;
import dev.weir.shape.QueueStore.Alarm;
import dev.weir.shape.QueueStore.Place;
import dev.weir.shape.QueueStore.Ticket;
import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;

/**
 * Keys of the queues' stores as bytes whose order is the keys' order: queue first, then tier, client and position of a slot;
 * client and id of a ticket; bucket and index of an alarm. Texts are written as in {@link KeyCodec}.
 */
public final class QueueKeys {

    private QueueKeys() {}

    /** A slot of a queue. */
    public record SlotKey(String queue, Place place) {}

    public static byte[] queue(String queue) {
        ByteArrayOutputStream out = start(queue);
        return out.toByteArray();
    }

    public static byte[] slot(String queue, Place place) {
        ByteArrayOutputStream out = start(queue);
        KeyCodec.write(out, place.flow().tier());
        KeyCodec.write(out, place.flow().client());
        write(out, place.position());
        return out.toByteArray();
    }

    public static byte[] ticket(String queue, Ticket ticket) {
        ByteArrayOutputStream out = start(queue);
        KeyCodec.write(out, ticket.client());
        KeyCodec.write(out, ticket.requestId());
        return out.toByteArray();
    }

    public static byte[] alarm(String queue, Alarm alarm) {
        ByteArrayOutputStream out = start(queue);
        write(out, alarm.bucket());
        write(out, alarm.index());
        return out.toByteArray();
    }

    /** Reads what {@link #slot} wrote. */
    public static SlotKey readSlot(byte[] key) {
        ByteBuffer in = ByteBuffer.wrap(key);
        String queue = KeyCodec.readText(in);
        String tier = KeyCodec.readText(in);
        String client = KeyCodec.readText(in);
        return new SlotKey(queue, new Place(new Flow(tier, client), in.getLong()));
    }

    private static ByteArrayOutputStream start(String queue) {
        ByteArrayOutputStream out = new ByteArrayOutputStream(64);
        KeyCodec.write(out, queue);
        return out;
    }

    /** Positions and buckets are 0 or more: their bytes sort as they do. */
    private static void write(ByteArrayOutputStream out, long number) {
        out.writeBytes(ByteBuffer.allocate(Long.BYTES).putLong(number).array());
    }
}
