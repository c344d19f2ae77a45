package dev.weir.deadletter;

import dev.weir.topics.RecordReader;
import java.nio.charset.StandardCharsets;
import java.util.BitSet;
import java.util.HashMap;
import java.util.Map;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;

/**
 * A record of the dead-letter topic that is no dead letter: it says that the one at an offset of its partition was
 * replayed. It is written in the same transaction as the request, and is deleted with the dead letters of its time.
 */
final class ReplayMarker {

    /** The header with the offset of the dead letter. */
    static final String HEADER = "weir.replayed";

    private ReplayMarker() {}

    static ProducerRecord<byte[], byte[]> of(String topic, DeadLetterPosition letter) {
        ProducerRecord<byte[], byte[]> marker = new ProducerRecord<>(topic, letter.partition(), null, null);
        marker.headers().add(HEADER, Long.toString(letter.offset()).getBytes(StandardCharsets.UTF_8));
        return marker;
    }

    /** Returns whether a record is a marker. A dead letter has a value or a source, also if its sender set the header. */
    static boolean isIn(ConsumerRecord<byte[], byte[]> record) {
        return record.key() == null
                && record.value() == null
                && DeadLetter.of(record).source() == null
                && DeadLetter.header(record, HEADER) != null;
    }

    /** The dead letters that were replayed, of some partitions. */
    static final class Replayed {

        private final Map<TopicPartition, Long> from;
        private final Map<Integer, BitSet> offsets = new HashMap<>(); // from the first one that is read

        private Replayed(Map<TopicPartition, Long> from) {
            this.from = from;
        }

        /** Reads the markers between offsets of each partition. */
        static Replayed read(RecordReader reader, Map<TopicPartition, Long> from, Map<TopicPartition, Long> end) {
            Replayed replayed = new Replayed(from);
            reader.iterator(from, end).forEachRemaining(replayed::add);
            return replayed;
        }

        private void add(ConsumerRecord<byte[], byte[]> record) {
            if (!isIn(record)) {
                return;
            }
            String text = DeadLetter.header(record, HEADER);
            boolean isOffset = text.matches("[0-9]{1,18}");
            long index = isOffset ? Long.parseLong(text) - first(record) : -1;
            if (index >= 0 && index < record.offset() - first(record) && index < Integer.MAX_VALUE) {
                offsets.computeIfAbsent(record.partition(), none -> new BitSet())
                        .set((int) index);
            }
        }

        private long first(ConsumerRecord<byte[], byte[]> record) {
            return from.get(new TopicPartition(record.topic(), record.partition()));
        }

        boolean contains(ConsumerRecord<byte[], byte[]> letter) {
            BitSet ofPartition = offsets.get(letter.partition());
            long index = letter.offset() - first(letter);
            return ofPartition != null && index < Integer.MAX_VALUE && ofPartition.get((int) index);
        }
    }
}
