package dev.weir.processor;

import dev.weir.codec.FirstAnswerCodec;
import dev.weir.codec.KeyCodec;
import dev.weir.config.WeirConfig;
import dev.weir.policy.FirstAnswers;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.state.KeyValueIterator;
import org.apache.kafka.streams.state.KeyValueStore;

/** First answers in a store: the answers, and before them their notes. */
final class StoreFirstAnswers {

    private static final Bytes FIRST_NOTE = Bytes.wrap(KeyCodec.note(0));
    private static final Bytes LAST_NOTE = Bytes.wrap(KeyCodec.note(Long.MAX_VALUE));

    private StoreFirstAnswers() {}

    /** Goes on with what is in the store. */
    static FirstAnswers open(KeyValueStore<Bytes, byte[]> store, WeirConfig.State config) {
        FirstAnswerCodec codec = new FirstAnswerCodec();
        long oldest = first(store.range(FIRST_NOTE, LAST_NOTE), 0);
        long next = first(store.reverseRange(FIRST_NOTE, LAST_NOTE), oldest - 1) + 1;
        FirstAnswers.Kept kept = new FirstAnswers.Kept(
                new StoreTable<>(store, KeyCodec::encode, codec::encode, codec::decodeEntry),
                new StoreTable<>(store, KeyCodec::note, FirstAnswerCodec::encode, FirstAnswerCodec::decodeNote),
                oldest,
                next);
        return new FirstAnswers(
                kept, config.maxRemembered(), config.forgetAfter().toMillis());
    }

    private static long first(KeyValueIterator<Bytes, byte[]> notes, long ifNone) {
        try (notes) {
            return notes.hasNext() ? KeyCodec.readNote(notes.next().key.get()) : ifNone;
        }
    }
}
