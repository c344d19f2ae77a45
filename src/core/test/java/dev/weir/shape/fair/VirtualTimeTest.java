package dev.weir.shape.fair;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class VirtualTimeTest {

    private static VirtualTime time(long whole, long part, long weight) {
        return new VirtualTime(whole, part, weight);
    }

    @Test
    void sums_by_one_weight_are_exact() {
        VirtualTime sum = time(0, 0, 9_973); // a prime
        for (int n = 0; n < 9_973; n++) {
            sum = sum.plus(1_000_003);
        }
        assertThat(sum).isEqualTo(time(1_000_003, 0, 9_973));
    }

    @Test
    void rounding_moves_by_less_than_a_part_and_carries() {
        VirtualTime third = time(5, 0, 3).plus(1);
        assertThat(third.roundedUpTo(7)).isEqualByComparingTo(third); // a whole part
        VirtualTime seventeenth = time(5, 0, 17).plus(1);
        assertThat(seventeenth.roundedUpTo(2)).isGreaterThan(seventeenth);
        assertThat(seventeenth.roundedDownTo(2)).isLessThan(seventeenth);
        long part = seventeenth.roundedUpTo(2).part();
        assertThat(seventeenth.roundedDownTo(2).part()).isEqualTo(part - 1);
        VirtualTime last = time(5, VirtualTime.PARTS * VirtualTime.MAX_WEIGHT - 1, VirtualTime.MAX_WEIGHT);
        assertThat(last.roundedUpTo(1)).isEqualTo(time(6, 0, 1));
        assertThat(last.roundedUpTo(VirtualTime.MAX_WEIGHT - 1)).isEqualTo(time(6, 0, VirtualTime.MAX_WEIGHT - 1));
    }

    @Test
    void times_are_compared_by_their_difference_when_they_wrap_around() {
        VirtualTime before = time(Long.MAX_VALUE, 1, 1);
        assertThat(before.plus(1)).isEqualTo(time(Long.MIN_VALUE, 1, 1)).isGreaterThan(before);
        assertThat(before.plus(1L << 61)).isGreaterThan(before);
        assertThat(time(0, 1, 3)).isLessThan(time(0, 1, 2)).isLessThan(time(0, 2, 5));
    }
}
