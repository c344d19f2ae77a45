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

    /**
     * Returns whether a record is a marker. A dead letter has a value or a source, also if its sender set the header.
     */
    static boolean isIn(ConsumerRecord<byte[], byte[]> record) {
        return record.key() == null
                && record.value() == null
                && DeadLetter.of(record).source() == null
                && DeadLetter.header(record, HEADER) != null;
    }

    /** The dead letters that were replayed, of some partitions. */
    static final class Replayed {

        private final Map<TopicPartition, Long> from;
        private final Map<TopicPartition, Long> end;
        private final Map<Integer, BitSet> offsets = new HashMap<>(); // from the first one that is read
        private final Map<Integer, BitSet> rejectedAgain = new HashMap<>(); // likewise

        private Replayed(Map<TopicPartition, Long> from, Map<TopicPartition, Long> end) {
            this.from = from;
            this.end = end;
        }

        /** Reads the markers between offsets of each partition. */
        static Replayed read(RecordReader reader, Map<TopicPartition, Long> from, Map<TopicPartition, Long> end) {
            Replayed replayed = new Replayed(from, end);
            reader.iterator(from, end).forEachRemaining(replayed::add);
            return replayed;
        }

        private void add(ConsumerRecord<byte[], byte[]> record) {
            if (isIn(record)) {
                String text = DeadLetter.header(record, HEADER);
                boolean isOffset = text.matches("[0-9]{1,18}");
                if (isOffset && Long.parseLong(text) < record.offset()) {
                    set(offsets, record.topic(), record.partition(), Long.parseLong(text));
                }
                return;
            }
            String source = DeadLetter.header(record, DeadLetterReplay.REPLAYED_FROM);
            if (source != null && source.matches("[0-9]{1,9}:[0-9]{1,18}")) {
                DeadLetterPosition replayed = DeadLetterPosition.parse(source);
                set(rejectedAgain, record.topic(), replayed.partition(), replayed.offset());
            }
        }

        private void set(Map<Integer, BitSet> bits, String topic, int partition, long offset) {
            TopicPartition of = new TopicPartition(topic, partition);
            Long first = from.get(of);
            // A sender can set the header of replayed requests to any offset.
            if (first != null && offset >= first && offset < end.get(of) && offset - first < Integer.MAX_VALUE) {
                bits.computeIfAbsent(partition, none -> new BitSet()).set((int) (offset - first));
            }
        }

        private boolean isSet(Map<Integer, BitSet> of, ConsumerRecord<byte[], byte[]> letter) {
            BitSet ofPartition = of.get(letter.partition());
            long index = letter.offset() - from.get(new TopicPartition(letter.topic(), letter.partition()));
            return ofPartition != null && index < Integer.MAX_VALUE && ofPartition.get((int) index);
        }

        boolean contains(ConsumerRecord<byte[], byte[]> letter) {
            return isSet(offsets, letter);
        }

        /**
         * Returns whether a letter was replayed and its request was rejected again, so that there is a later letter of
         * it.
         */
        boolean isRejectedAgain(ConsumerRecord<byte[], byte[]> letter) {
            return contains(letter) && isSet(rejectedAgain, letter);
        }
    }
}
