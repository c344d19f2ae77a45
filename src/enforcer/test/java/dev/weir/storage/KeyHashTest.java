package dev.weir.storage;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;

class KeyHashTest {

    private static final int LONGEST = 40;

    private final KeyHash hashing = new KeyHash(1);

    private static byte[] key(int length) {
        byte[] key = new byte[length];
        for (int i = 0; i < length; i++) {
            key[i] = (byte) (length + i);
        }
        return key;
    }

    @Test
    void equal_bytes_have_one_hash_and_each_byte_changes_it() {
        for (int length = 0; length <= LONGEST; length++) {
            byte[] key = key(length);
            assertThat(hashing.hash(key)).isEqualTo(hashing.hash(key(length)));
            assertThat(hashing.equal(key, key(length))).isTrue();
            assertThat(hashing.compare(key, key(length))).isZero();
            for (int i = 0; i < length; i++) {
                byte[] other = key(length);
                other[i]++;
                assertThat(hashing.equal(other, key)).isFalse();
                assertThat(hashing.hash(other)).isNotEqualTo(hashing.hash(key));
                assertThat(Integer.signum(hashing.compare(other, key)))
                        .isEqualTo(Integer.signum(Arrays.compareUnsigned(other, key)));
            }
        }
    }

    @Test
    void keys_that_differ_little_spread_over_a_table() {
        int tables = 1 << 16;
        Set<Integer> places = new HashSet<>();
        for (int i = 0; i < tables; i++) {
            int hash = hashing.hash(client(i));
            places.add((hash ^ (hash >>> 16)) & (tables - 1));
        }
        assertThat(places).as("a random hash fills 63 % of the places").hasSizeGreaterThan(tables * 6 / 10);
    }

    @Test
    void keys_that_collide_under_one_seed_do_not_collide_under_another() {
        KeyHash other = new KeyHash(2);
        Map<Integer, byte[]> byHash = new HashMap<>();
        int pairs = 0;
        for (int i = 0; i < 500_000; i++) {
            byte[] key = client(i);
            byte[] earlier = byHash.put(hashing.hash(key), key);
            if (earlier != null) {
                pairs++;
                assertThat(other.hash(earlier)).isNotEqualTo(other.hash(key));
            }
        }
        assertThat(pairs).as("a random hash has 29").isBetween(10, 60);
    }

    private static byte[] client(int number) {
        return ("client-" + number).getBytes(StandardCharsets.UTF_8);
    }
}
