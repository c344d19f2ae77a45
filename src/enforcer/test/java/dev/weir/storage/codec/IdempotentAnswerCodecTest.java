package dev.weir.storage.codec;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.weir.decision.state.IdempotencyCache.Entry;
import dev.weir.decision.state.IdempotencyCache.EvictionEntry;
import dev.weir.event.Decision;
import dev.weir.event.IdempotentAnswer;
import dev.weir.event.LimitStatus;
import dev.weir.event.Outcome;
import dev.weir.event.PolicyVersion;
import dev.weir.event.Reason;
import dev.weir.event.Request;
import dev.weir.event.RequestKind;
import dev.weir.policy.ContentHash;
import dev.weir.policy.RequestKey;
import dev.weir.wire.KeyCodec;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;

class IdempotentAnswerCodecTest {

    private final IdempotentAnswerCodec codec = new IdempotentAnswerCodec();

    @Test
    void answers_survive_a_round_trip() {
        Decision decision = new Decision(
                        new Decision.Identity("żądanie", "żółw", new Request.Source(3, 14)),
                        new Decision.Status(Outcome.QUEUED, Reason.SHAPED, 202, true, true, false, List.of("próba")),
                        new Decision.Timing(1_785_000_000_123L, null, 7L))
                .withLimit(new PolicyVersion("p", 3), new LimitStatus("gcra 1/1s", 1L, 1_000L, 0L, 5L))
                .withQueueing(new Decision.Queueing("q", 4L, 400L));
        for (IdempotentAnswer answer : List.of(
                decision,
                new IdempotentAnswer.SentToQueue(
                        "kolejka", new PolicyVersion("reguła", Long.MAX_VALUE), LimitStatus.of("gcra 1/1s", 0L)),
                new IdempotentAnswer.SentToQueue("q", new PolicyVersion("p", 1), null, List.of("próba", "o")),
                new IdempotentAnswer.SentToQueue("q", new PolicyVersion("p", 1), null))) {
            for (Entry entry : List.of(
                    new Entry(0, -1, new ContentHash(0, -1, Long.MIN_VALUE, Long.MAX_VALUE), answer),
                    new Entry(1L << 40, 253_402_300_799_999L, new ContentHash(4, 3, 2, 1), answer))) {
                assertThat(codec.decodeEntry(codec.encode(entry))).isEqualTo(entry);
            }
        }
    }

    @Test
    void notes_survive_a_round_trip() {
        for (RequestKind kind : RequestKind.values()) {
            EvictionEntry entry = new EvictionEntry(new RequestKey("żółw\0", kind, "r"), -5, 253_402_300_799_999L);
            assertThat(IdempotentAnswerCodec.decodeEvictionEntry(IdempotentAnswerCodec.encode(entry)))
                    .isEqualTo(entry);
        }
    }

    @Test
    void bytes_of_another_version_are_rejected() {
        byte[] bytes =
                IdempotentAnswerCodec.encode(new EvictionEntry(new RequestKey("c", RequestKind.CONSUME, "r"), 0, 1));
        bytes[0] = 2;
        assertThatThrownBy(() -> IdempotentAnswerCodec.decodeEvictionEntry(bytes))
                .hasMessage("an eviction entry has format version 2, expected 1");
        IdempotentAnswer sent = new IdempotentAnswer.SentToQueue("q", new PolicyVersion("p", 1), null);
        byte[] ofAnswer = codec.encode(new Entry(0, 1, new ContentHash(0, 0, 0, 0), sent));
        ofAnswer[0] = 2;
        assertThatThrownBy(() -> codec.decodeEntry(ofAnswer))
                .hasMessage("an idempotency entry has format version 2, expected 1");
    }

    @Test
    void no_two_requests_have_one_key() {
        List<byte[]> keys = new ArrayList<>();
        for (String[] texts : new String[][] {{"a", "bc"}, {"ab", "c"}, {"a\0", "bc"}, {"a", "\0bc"}}) {
            for (RequestKind kind : RequestKind.values()) {
                keys.add(KeyCodec.encode(new RequestKey(texts[0], kind, texts[1])));
            }
        }
        assertThat(keys).doesNotHaveDuplicates();
    }

    @Test
    void the_order_of_numbers_is_the_order_of_their_bytes() {
        List<Long> numbers = List.of(0L, 1L, 127L, 128L, 255L, 256L, 1L << 40, Long.MAX_VALUE);
        for (int i = 1; i < numbers.size(); i++) {
            byte[] key = KeyCodec.encodeNumber(numbers.get(i));
            assertThat(KeyCodec.decodeNumber(key)).isEqualTo(numbers.get(i));
            assertThat(Arrays.compareUnsigned(KeyCodec.encodeNumber(numbers.get(i - 1)), key))
                    .isNegative();
        }
    }
}
