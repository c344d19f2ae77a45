package dev.weir.storage;

import dev.weir.shape.rules.BucketId;
import dev.weir.shape.rules.Flow;
import dev.weir.shape.store.QueueStore.ExpiryTimer;
import dev.weir.shape.store.QueueStore.Place;
import dev.weir.shape.store.QueueStore.Ticket;
import dev.weir.shape.store.ScheduleKey;
import dev.weir.shape.timer.TimerKey;
import dev.weir.wire.KeyCodec;
import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/**
 * Encodes the keys of the queues' stores so that the order of the bytes is the order of the keys. Texts are
 * encoded as in {@link KeyCodec}. The key of a bucket starts with the number of its texts in one byte.
 *
 * <pre>
 *   last loan      0xFE
 *   entry          queue  key of the bucket  tier of the flow  value of the flow  position
 *   ticket         queue  key of the bucket  client  request id
 *   expiry timer   queue  key of the bucket  tenth of a second  index
 *   schedule       queue  key of the bucket  0  time  number;  for its tickets 1  client  request id
 *   timer          queue  tier  epoch  start  width  index
 * </pre>
 */
public final class QueueKeys {

    /** The byte in place of the number of texts in a bucket's key. No bucket has so many. */
    private static final byte LEDGER = Byte.MAX_VALUE;

    private static final byte SCHEDULED = 0;
    private static final byte SCHEDULE_TICKET = 1;

    /** The byte before the key of a bucket in the key of its orders, likewise. */
    private static final byte ORDERS = Byte.MAX_VALUE - 1;

    /** No text begins with these bytes. */
    private static final byte LAST_LOAN = (byte) 0xFE;

    private static final byte END = (byte) 0xFF;

    private QueueKeys() {}

    /** The key of an entry of a bucket. */
    public record EntryKey(BucketId bucket, Place place) {}

    /** Returns the key of a queue's rules. It sorts before the keys of the queue's buckets. */
    public static byte[] rules(String queue) {
        ByteArrayOutputStream out = new ByteArrayOutputStream(64);
        KeyCodec.write(out, queue);
        return out.toByteArray();
    }

    /** Returns the key of the ledger of a queue's total. It sorts after the keys of the queue's buckets. */
    public static byte[] ledger(String queue) {
        ByteArrayOutputStream out = new ByteArrayOutputStream(64);
        KeyCodec.write(out, queue);
        out.write(LEDGER);
        return out.toByteArray();
    }

    /** Returns whether a key was encoded by {@link #ledger}. */
    public static boolean isLedger(byte[] key) {
        return hasMark(key, LEDGER);
    }

    private static boolean hasMark(byte[] key, byte mark) {
        ByteBuffer in = ByteBuffer.wrap(key);
        KeyCodec.readText(in);
        return in.hasRemaining() && in.get() == mark;
    }

    /** Returns the key of the orders for a queue or a bucket. It sorts after the keys of the queue's buckets. */
    public static byte[] orders(BucketId target) {
        ByteArrayOutputStream out = new ByteArrayOutputStream(64);
        KeyCodec.write(out, target.queue());
        out.write(ORDERS);
        out.write(target.key().size());
        target.key().forEach(text -> KeyCodec.write(out, text));
        return out.toByteArray();
    }

    /** Returns whether a key was encoded by {@link #orders}. */
    public static boolean isOrders(byte[] key) {
        return hasMark(key, ORDERS);
    }

    /** Decodes a key encoded by {@link #orders}. */
    public static BucketId readOrders(byte[] key) {
        ByteBuffer in = ByteBuffer.wrap(key);
        String queue = KeyCodec.readText(in);
        in.get();
        return readBucket(queue, in);
    }

    /** Returns the key of the sentinel after the records of all queues. A scan that does not reach it is incomplete. */
    public static byte[] end() {
        return new byte[] {END};
    }

    /** Returns whether a key equals {@link #end}. */
    public static boolean isEnd(byte[] key) {
        return key.length == 1 && key[0] == END;
    }

    /** Returns the key of the number of the last loan to a removed queue. It sorts after the records of all queues. */
    public static byte[] lastLoan() {
        return new byte[] {LAST_LOAN};
    }

    /** Returns whether a key equals {@link #lastLoan}. */
    public static boolean isLastLoan(byte[] key) {
        return key.length == 1 && key[0] == LAST_LOAN;
    }

    /** Returns the queue that a key starts with. */
    public static String readQueue(byte[] key) {
        return KeyCodec.readText(ByteBuffer.wrap(key));
    }

    /** Returns the key of a bucket's records on {@code weir.admissions}, which determines their partition. */
    public static byte[] record(BucketId bucket) {
        return bucket.key().isEmpty() ? bucket.queue().getBytes(StandardCharsets.UTF_8) : bucket(bucket);
    }

    /** Returns the key of a bucket's state. */
    public static byte[] bucket(BucketId bucket) {
        ByteArrayOutputStream out = new ByteArrayOutputStream(64);
        KeyCodec.write(out, bucket.queue());
        out.write(bucket.key().size());
        bucket.key().forEach(text -> KeyCodec.write(out, text));
        return out.toByteArray();
    }

    /** Decodes a key encoded by {@link #bucket}; returns null for one encoded by {@link #rules}. */
    public static BucketId readBucket(byte[] key) {
        ByteBuffer in = ByteBuffer.wrap(key);
        String queue = KeyCodec.readText(in);
        return in.hasRemaining() ? readBucket(queue, in) : null;
    }

    /** @param bucket the key of the bucket's state */
    public static byte[] entry(byte[] bucket, Place place) {
        ByteArrayOutputStream out = startWith(bucket);
        KeyCodec.write(out, place.flow().tier());
        KeyCodec.write(out, place.flow().value());
        write(out, place.position());
        return out.toByteArray();
    }

    /** @param bucket the key of the bucket's state */
    public static byte[] ticket(byte[] bucket, Ticket ticket) {
        ByteArrayOutputStream out = startWith(bucket);
        KeyCodec.write(out, ticket.client());
        KeyCodec.write(out, ticket.requestId());
        return out.toByteArray();
    }

    /** @param bucket the key of the bucket's state */
    public static byte[] expiryTimer(byte[] bucket, ExpiryTimer timer) {
        ByteArrayOutputStream out = startWith(bucket);
        write(out, timer.interval());
        write(out, timer.index());
        return out.toByteArray();
    }

    /** @param bucket the key of the bucket's state */
    public static byte[] schedule(byte[] bucket, ScheduleKey key) {
        ByteArrayOutputStream out = startWith(bucket);
        out.write(SCHEDULED);
        write(out, key.atMs());
        write(out, key.number());
        return out.toByteArray();
    }

    /**
     * Decodes a key encoded by {@link #schedule}.
     *
     * @param bucket the key of the bucket's state
     */
    public static ScheduleKey readSchedule(byte[] bucket, byte[] key) {
        ByteBuffer in = ByteBuffer.wrap(key);
        in.position(bucket.length + 1);
        return new ScheduleKey(in.getLong(), in.getLong());
    }

    /**
     * Returns the key after those of a bucket's {@link #schedule}.
     *
     * @param bucket the key of the bucket's state
     */
    public static byte[] endOfSchedule(byte[] bucket) {
        ByteArrayOutputStream out = startWith(bucket);
        out.write(SCHEDULE_TICKET);
        return out.toByteArray();
    }

    /** @param bucket the key of the bucket's state */
    public static byte[] scheduleTicket(byte[] bucket, Ticket ticket) {
        ByteArrayOutputStream out = startWith(bucket);
        out.write(SCHEDULE_TICKET);
        KeyCodec.write(out, ticket.client());
        KeyCodec.write(out, ticket.requestId());
        return out.toByteArray();
    }

    /** Returns the key of a timer: the queue, the optional tier, then the numbers in the order of {@link TimerKey}. */
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

    /** Decodes a key encoded by {@link #entry}. */
    public static EntryKey readEntry(byte[] key) {
        ByteBuffer in = ByteBuffer.wrap(key);
        BucketId bucket = readBucket(KeyCodec.readText(in), in);
        String tier = KeyCodec.readText(in);
        String value = KeyCodec.readText(in);
        return new EntryKey(bucket, new Place(new Flow(tier, value), in.getLong()));
    }

    private static ByteArrayOutputStream startWith(byte[] bucket) {
        ByteArrayOutputStream out = new ByteArrayOutputStream(bucket.length + 64);
        out.writeBytes(bucket);
        return out;
    }

    private static BucketId readBucket(String queue, ByteBuffer in) {
        List<String> key = new ArrayList<>();
        for (int left = in.get(); left > 0; left--) {
            key.add(KeyCodec.readText(in));
        }
        return new BucketId(queue, key);
    }

    /** Writes a number of 0 or more, so that the order of the bytes is the order of the numbers. */
    private static void write(ByteArrayOutputStream out, long number) {
        for (int bits = Long.SIZE - Byte.SIZE; bits >= 0; bits -= Byte.SIZE) {
            out.write((int) (number >> bits));
        }
    }
}
