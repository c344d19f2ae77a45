package dev.weir.storage;

import dev.weir.shape.TimerKey;
import dev.weir.shape.backlog.BucketId;
import dev.weir.shape.backlog.Flow;
import dev.weir.shape.backlog.QueueStore.ExpiryTimer;
import dev.weir.shape.backlog.QueueStore.Place;
import dev.weir.shape.backlog.QueueStore.Ticket;
import dev.weir.wire.KeyCodec;
import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/**
 * Keys of the queues' stores as bytes whose order is the keys' order: queue first, then the bucket's key, then tier,
 * client and position of a slot; client and id of a ticket; tenth of a second and index of an alarm; tier, epoch,
 * start, width and index of a timer. Texts are written as in {@link KeyCodec}. The key of a bucket begins with how many
 * texts it has, in a byte.
 */
public final class QueueKeys {

    /** No bucket has so many texts in its key. */
    private static final byte LEDGER = Byte.MAX_VALUE;

    /** No text begins with this byte. */
    private static final byte END = (byte) 0xFF;

    private QueueKeys() {}

    /** A slot of a bucket. */
    public record SlotKey(BucketId bucket, Place place) {}

    /** Of a queue's rules; before the keys of all of its buckets. */
    public static byte[] rules(String queue) {
        ByteArrayOutputStream out = new ByteArrayOutputStream(64);
        KeyCodec.write(out, queue);
        return out.toByteArray();
    }

    /** Of what the ledger of a queue's total has given out; after the keys of all buckets of the queue. */
    public static byte[] ledger(String queue) {
        ByteArrayOutputStream out = new ByteArrayOutputStream(64);
        KeyCodec.write(out, queue);
        out.write(LEDGER);
        return out.toByteArray();
    }

    /** Whether a key is what {@link #ledger} wrote. */
    public static boolean isLedger(byte[] key) {
        ByteBuffer in = ByteBuffer.wrap(key);
        KeyCodec.readText(in);
        return in.hasRemaining() && in.get() == LEDGER;
    }

    /** Of the record behind those of all queues: a walk that does not come to it has left some out. */
    public static byte[] end() {
        return new byte[] {END};
    }

    /** Whether a key is that of {@link #end}. */
    public static boolean isEnd(byte[] key) {
        return key.length == 1 && key[0] == END;
    }

    /** The queue that a key begins with. */
    public static String readQueue(byte[] key) {
        return KeyCodec.readText(ByteBuffer.wrap(key));
    }

    /** Of a record on {@code weir.admissions}: whatever concerns a bucket is on one partition. */
    public static byte[] record(BucketId bucket) {
        return bucket.key().isEmpty() ? bucket.queue().getBytes(StandardCharsets.UTF_8) : bucket(bucket);
    }

    /** Of a bucket's state. */
    public static byte[] bucket(BucketId bucket) {
        return start(bucket).toByteArray();
    }

    /** Reads what {@link #bucket} wrote; null if it is what {@link #rules} wrote. */
    public static BucketId readBucket(byte[] key) {
        ByteBuffer in = ByteBuffer.wrap(key);
        String queue = KeyCodec.readText(in);
        return in.hasRemaining() ? readBucket(queue, in) : null;
    }

    public static byte[] slot(BucketId bucket, Place place) {
        ByteArrayOutputStream out = start(bucket);
        KeyCodec.write(out, place.flow().tier());
        KeyCodec.write(out, place.flow().client());
        write(out, place.position());
        return out.toByteArray();
    }

    public static byte[] ticket(BucketId bucket, Ticket ticket) {
        ByteArrayOutputStream out = start(bucket);
        KeyCodec.write(out, ticket.client());
        KeyCodec.write(out, ticket.requestId());
        return out.toByteArray();
    }

    public static byte[] alarm(BucketId bucket, ExpiryTimer alarm) {
        ByteArrayOutputStream out = start(bucket);
        write(out, alarm.bucket());
        write(out, alarm.index());
        return out.toByteArray();
    }

    /** Of a timer: the queue, the tier if there is one, then its numbers in the order of {@link TimerKey}. */
    public static byte[] timer(TimerKey timer) {
        ByteArrayOutputStream out = new ByteArrayOutputStream(64);
        KeyCodec.write(out, timer.queue());
        out.write(timer.tier() == null ? 0 : 1);
        if (timer.tier() != null) {
            KeyCodec.write(out, timer.tier());
        }
        write(out, timer.epoch());
        write(out, timer.startNanos());
        out.write(timer.widthBits());
        write(out, timer.index());
        return out.toByteArray();
    }

    /** Reads what {@link #slot} wrote. */
    public static SlotKey readSlot(byte[] key) {
        ByteBuffer in = ByteBuffer.wrap(key);
        BucketId bucket = readBucket(KeyCodec.readText(in), in);
        String tier = KeyCodec.readText(in);
        String client = KeyCodec.readText(in);
        return new SlotKey(bucket, new Place(new Flow(tier, client), in.getLong()));
    }

    private static ByteArrayOutputStream start(BucketId bucket) {
        ByteArrayOutputStream out = new ByteArrayOutputStream(64);
        KeyCodec.write(out, bucket.queue());
        out.write(bucket.key().size());
        bucket.key().forEach(text -> KeyCodec.write(out, text));
        return out;
    }

    private static BucketId readBucket(String queue, ByteBuffer in) {
        List<String> key = new ArrayList<>();
        for (int left = in.get(); left > 0; left--) {
            key.add(KeyCodec.readText(in));
        }
        return new BucketId(queue, key);
    }

    /** Positions and buckets are 0 or more: their bytes sort as they do. */
    private static void write(ByteArrayOutputStream out, long number) {
        out.writeBytes(ByteBuffer.allocate(Long.BYTES).putLong(number).array());
    }
}
