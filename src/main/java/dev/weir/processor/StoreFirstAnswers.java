package dev.weir.processor;

import dev.weir.codec.FirstAnswerCodec;
import dev.weir.codec.KeyCodec;
import dev.weir.config.WeirConfig;
import dev.weir.policy.FirstAnswers;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.state.KeyValueIterator;
import org.apache.kafka.streams.state.KeyValueStore;

/** First answers in two stores: the answers, and their notes. */
final class StoreFirstAnswers {

    private StoreFirstAnswers() {}

    /** Goes on with what is in the stores. */
    static FirstAnswers open(
            KeyValueStore<Bytes, byte[]> answers, KeyValueStore<Bytes, byte[]> notes, WeirConfig.State config) {
        FirstAnswerCodec codec = new FirstAnswerCodec();
        long oldest = first(notes.all(), 0);
        long next = first(notes.reverseAll(), oldest - 1) + 1;
        FirstAnswers.Kept kept = new FirstAnswers.Kept(
                new StoreTable<>(answers, KeyCodec::encode, codec::encode, codec::decodeEntry),
                new StoreTable<>(notes, KeyCodec::number, FirstAnswerCodec::encode, FirstAnswerCodec::decodeNote),
                oldest,
                next);
        return new FirstAnswers(
                kept, config.maxRemembered(), config.forgetAfter().toMillis());
    }

    private static long first(KeyValueIterator<Bytes, byte[]> notes, long ifNone) {
        try (notes) {
            return notes.hasNext() ? KeyCodec.readNumber(notes.next().key.get()) : ifNone;
        }
    }
}
