package dev.weir.processor;

import java.nio.charset.StandardCharsets;
import java.util.OptionalInt;
import org.apache.kafka.common.header.Header;

/**
 * The partitions of the topic of replies, of which a request selects one by a header. Thread-safe.
 */
public final class ReplyPartitions {

    /** The header of a request that names the partition of its reply: a decimal number in ASCII. */
    public static final String HEADER = "weir.reply-partition";

    private static final int MAX_DIGITS = 5;

    private volatile int count;

    /**
     * Creates an instance.
     *
     * @param count the number of partitions, at least 0
     */
    public ReplyPartitions(int count) {
        this.count = count;
    }

    /** Sets the number of partitions. It can grow while an enforcer is running. */
    public void update(int partitions) {
        if (partitions != count) {
            count = partitions;
        }
    }

    /** Returns the partition that a header selects; empty if it is not a partition of the topic. */
    OptionalInt selected(Header header) {
        byte[] value = header.value();
        if (value == null || value.length == 0 || value.length > MAX_DIGITS) {
            return OptionalInt.empty();
        }
        for (byte digit : value) {
            if (digit < '0' || digit > '9') {
                return OptionalInt.empty();
            }
        }
        int partition = Integer.parseInt(new String(value, StandardCharsets.US_ASCII));
        return partition < count ? OptionalInt.of(partition) : OptionalInt.empty();
    }
}
