package dev.weir.wire;

import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.event.RequestKind;
import dev.weir.event.StateKey;
import dev.weir.policy.RequestKey;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HexFormat;
import java.util.List;
import java.util.Random;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

class KeyCodecTest {

    private static final Comparator<StateKey> LOGICAL = Comparator.comparing(
                    StateKey::client, KeyCodecTest::byCodePoints)
            .thenComparing(StateKey::policyId)
            .thenComparing(StateKey::namesAndValues, KeyCodecTest::byValues);

    @Test
    void the_order_of_the_bytes_is_the_order_of_the_keys() {
        Random random = new Random(7);
        List<StateKey> keys = new ArrayList<>();
        for (int i = 0; i < 2_000; i++) {
            keys.add(new StateKey(text(random), "p" + random.nextInt(3), List.of(text(random), text(random))));
        }
        keys.sort(LOGICAL);
        for (int i = 1; i < keys.size(); i++) {
            int bytes = Arrays.compareUnsigned(KeyCodec.encode(keys.get(i - 1)), KeyCodec.encode(keys.get(i)));
            int logical = LOGICAL.compare(keys.get(i - 1), keys.get(i));
            assertThat(Integer.signum(bytes)).isEqualTo(Integer.signum(logical));
        }
    }

    @Test
    void a_key_survives_a_round_trip_and_has_the_prefix_of_its_client() {
        Random random = new Random(8);
        for (int i = 0; i < 2_000; i++) {
            List<String> others = Stream.generate(() -> text(random))
                    .limit(2L * random.nextInt(3))
                    .toList();
            StateKey key = new StateKey(text(random), "p" + random.nextInt(3), others);
            byte[] bytes = KeyCodec.encode(key);
            assertThat(KeyCodec.decode(bytes)).isEqualTo(key);
            assertThat(bytes).startsWith(KeyCodec.prefix(key.client()));
        }
    }

    /** Keys are stored, so their bytes must not change. */
    @Test
    void the_bytes_of_a_key_are_stable() {
        StateKey key = new StateKey("\0a\0\0", "p", List.of("", "ż\0", "\uD83D\uDE00", "\uD83D"));
        assertThat(HexFormat.of().formatHex(KeyCodec.encode(key)))
                .isEqualTo("00ff6100ff00ff00" + "7000" + "00" + "c5bc00ff00" + "f09f988000" + "3f00");
        assertThat(HexFormat.of().formatHex(KeyCodec.encode(new RequestKey("a\0b", RequestKind.PEEK, "\0"))))
                .isEqualTo("01" + "6100ff6200" + "5045454b00" + "00ff00");
    }

    @Test
    void segments_are_sorted_by_log_id_and_number() {
        byte[] state = KeyCodec.encode(new StateKey("c", "p", List.of()));
        assertThat(Arrays.compareUnsigned(KeyCodec.segment(state, 0, 300), KeyCodec.segment(state, 1, 0)))
                .isNegative();
        assertThat(Arrays.compareUnsigned(KeyCodec.segment(state, 1, 255), KeyCodec.segment(state, 1, 256)))
                .isNegative();
    }

    /**
     * Returns a short text of few distinct characters, so that many texts are similar. The characters include those
     * that end and escape a text.
     */
    private static String text(Random random) {
        String alphabet = "\0\1ab\u00ffż\uD83C\uDF0A";
        StringBuilder text = new StringBuilder();
        for (int i = random.nextInt(4); i > 0; i--) {
            int index = random.nextInt(7);
            text.append(index == 6 ? alphabet.substring(6, 8) : alphabet.substring(index, index + 1));
        }
        return text.toString();
    }

    private static int byCodePoints(String a, String b) {
        return Arrays.compare(a.codePoints().toArray(), b.codePoints().toArray());
    }

    private static int byValues(List<String> a, List<String> b) {
        for (int i = 0; i < a.size(); i++) {
            int order = byCodePoints(a.get(i), b.get(i));
            if (order != 0) {
                return order;
            }
        }
        return 0;
    }
}
