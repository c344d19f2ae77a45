package dev.weir.processor;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.HashSet;
import java.util.Set;
import org.junit.jupiter.api.Test;

class EncodedKeyTest {

    private static final int LONGEST = 40;

    private static byte[] key(int length) {
        byte[] key = new byte[length];
        for (int i = 0; i < length; i++) {
            key[i] = (byte) (length + i);
        }
        return key;
    }

    @Test
    void equal_bytes_are_equal_keys_and_each_byte_makes_another_one() {
        for (int length = 0; length <= LONGEST; length++) {
            EncodedKey key = new EncodedKey(key(length));
            assertThat(key).isEqualTo(new EncodedKey(key(length))).hasSameHashCodeAs(new EncodedKey(key(length)));
            assertThat(key).isEqualByComparingTo(new EncodedKey(key(length)));
            for (int i = 0; i < length; i++) {
                byte[] other = key(length);
                other[i]++;
                assertThat(new EncodedKey(other)).isNotEqualTo(key);
                assertThat(new EncodedKey(other).hashCode()).isNotEqualTo(key.hashCode());
                assertThat(Integer.signum(new EncodedKey(other).compareTo(key)))
                        .isEqualTo(Integer.signum(Arrays.compareUnsigned(other, key(length))));
            }
        }
    }

    @Test
    void keys_that_differ_little_spread_over_a_table() {
        int tables = 1 << 16;
        Set<Integer> places = new HashSet<>();
        for (int i = 0; i < tables; i++) {
            int hash = new EncodedKey(("client-" + i).getBytes(StandardCharsets.UTF_8)).hashCode();
            places.add((hash ^ (hash >>> 16)) & (tables - 1));
        }
        assertThat(places).as("by chance 63 % of the places are taken").hasSizeGreaterThan(tables * 6 / 10);
    }
}
