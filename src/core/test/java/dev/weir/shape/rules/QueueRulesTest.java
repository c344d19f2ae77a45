package dev.weir.shape.rules;

import static org.assertj.core.api.Assertions.assertThat;

import java.math.BigInteger;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class QueueRulesTest {

    private static final long DAY_MS = 86_400_000;

    /** The service of a request with slots and a rate is the larger part of the two, as far as it can be counted. */
    @ParameterizedTest
    @CsvSource({
        "1, 1, 10, 1, 500",
        "100, 1, 10, 1, 500",
        "1, 1, 10, 10, 500",
        "3, 7, 100, 5, 0",
        "1, 30, 100000, 30000, 1000",
        "1, 30, 100000, 40000, 1000",
        "1, 30, 100000, 100000, 2592000000",
    })
    void service_is_the_larger_part_of_rate_and_slots(long limit, long days, long slots, long cost, long durationMs) {
        QueueRules rules = QueueRules.builder("q", limit, days * DAY_MS)
                .burst(cost)
                .inFlight(InFlightRules.of(slots))
                .build();
        BigInteger[] each = big(slots).multiply(big(days * DAY_MS)).divideAndRemainder(big(limit));
        BigInteger perToken = each[0].add(big(each[1].signum()));
        BigInteger expected = big(Math.min(cost, slots))
                .multiply(perToken)
                .max(big(cost).min(big(slots)).multiply(big(durationMs)))
                .min(big(QueueRules.MAX_SERVICE));
        assertThat(rules.service(cost, durationMs)).isEqualTo(expected.longValueExact());
    }

    private static BigInteger big(long value) {
        return BigInteger.valueOf(value);
    }
}
