package dev.weir.client.release;

import java.io.ByteArrayOutputStream;
import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;
import java.util.Base64;
import java.util.Map;
import java.util.Optional;
import java.util.SortedSet;
import java.util.TreeMap;

/**
 * The offsets of a partition whose attempts have started, although an earlier offset is not done. Kafka commits a single
 * offset of a partition; these are committed with it, as its metadata, so that the next owner of the partition does not
 * start them again.
 *
 * <p>The metadata is {@value #PREFIX} and, in base64, two numbers for each range: the distance from the end of the
 * previous one (at first, from the committed offset), and the length. A number has seven bits a byte, the least
 * significant ones first. A range may include offsets without a release.
 *
 * <p>Example: of the offsets 5 to 9, 7 and 9 have started, 5 and 6 are not due, and 8 is a transaction marker. 5 is
 * committed, with a single range: distance 2, length 3.
 */
final class StartedOffsets {

    /** The longest metadata. Brokers accept 4,096 bytes unless configured otherwise. */
    static final int MAX_LENGTH = 4_000;

    private static final String PREFIX = "weir1:";

    /** The end of each range, exclusive, by its start. */
    private final TreeMap<Long, Long> ranges = new TreeMap<>();

    /**
     * Adds an offset, and unites ranges.
     *
     * @param undone the offsets that were received and are not done
     * @param received the offset of the record to be received next
     */
    void add(long offset, SortedSet<Long> undone, long received) {
        if (contains(offset)) {
            return;
        }
        long start = offset;
        long end = offset + 1;
        Map.Entry<Long, Long> before = ranges.lowerEntry(start);
        if (before != null && undone.subSet(before.getValue(), start).isEmpty()) {
            start = before.getKey();
        }
        Map.Entry<Long, Long> after = ranges.higherEntry(offset);
        if (after != null
                && after.getKey() <= received
                && undone.subSet(end, after.getKey()).isEmpty()) {
            end = after.getValue();
            ranges.remove(after.getKey());
        }
        ranges.put(start, end);
    }

    boolean contains(long offset) {
        Map.Entry<Long, Long> range = ranges.floorEntry(offset);
        return range != null && offset < range.getValue();
    }

    /** Removes all offsets below one that is committed. */
    void removeBelow(long committed) {
        Map.Entry<Long, Long> first = ranges.firstEntry();
        while (first != null && first.getKey() < committed) {
            ranges.remove(first.getKey());
            if (first.getValue() > committed) {
                ranges.put(committed, first.getValue());
            }
            first = ranges.firstEntry();
        }
    }

    /**
     * Returns the metadata of a commit; empty if it would be too long.
     *
     * @param committed the offset that is committed, which no range starts before
     */
    Optional<String> metadata(long committed) {
        if (ranges.isEmpty()) {
            return Optional.of("");
        }
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        long last = committed;
        for (Map.Entry<Long, Long> range : ranges.entrySet()) {
            write(out, range.getKey() - last);
            write(out, range.getValue() - range.getKey());
            last = range.getValue();
        }
        String text = PREFIX + Base64.getEncoder().withoutPadding().encodeToString(out.toByteArray());
        return text.length() > MAX_LENGTH ? Optional.empty() : Optional.of(text);
    }

    /** Reads the metadata of a commit. Metadata that others have written counts as none. */
    static StartedOffsets read(long committed, String metadata) {
        StartedOffsets started = new StartedOffsets();
        if (metadata == null || !metadata.startsWith(PREFIX)) {
            return started;
        }
        try {
            ByteBuffer in = ByteBuffer.wrap(Base64.getDecoder().decode(metadata.substring(PREFIX.length())));
            long last = committed;
            while (in.hasRemaining()) {
                long start = last + readNumber(in);
                last = start + readNumber(in);
                started.ranges.put(start, last);
            }
            return started;
        } catch (IllegalArgumentException | BufferUnderflowException e) {
            return new StartedOffsets();
        }
    }

    private static void write(ByteArrayOutputStream out, long number) {
        long left = number;
        for (; left > 0x7F; left >>>= 7) {
            out.write((int) (left & 0x7F | 0x80));
        }
        out.write((int) left);
    }

    private static long readNumber(ByteBuffer in) {
        long number = 0;
        for (int shift = 0; shift < Long.SIZE - 1; shift += 7) {
            byte group = in.get();
            number |= (long) (group & 0x7F) << shift;
            if (group >= 0) {
                return number;
            }
        }
        throw new IllegalArgumentException("the number is too long");
    }
}
