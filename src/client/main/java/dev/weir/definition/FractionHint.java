package dev.weir.definition;

import dev.weir.policy.DurationsAndSizes;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.util.regex.Pattern;

/** How to write a limit with decimals, such as 0.5 per second, in whole tokens. */
final class FractionHint {

    private static final Pattern DECIMAL = Pattern.compile("[0-9]{0,9}\\.[0-9]{1,6}");

    private FractionHint() {}

    /**
     * Returns the rest of a message, such as {@code ; write limit: 1, per: 2s}.
     *
     * @param limit the value of {@code limit}
     * @param per the value of {@code per}
     * @return the hint; empty if the limit is not a positive number with decimals
     */
    static String of(YamlTree limit, YamlTree per) {
        if (!limit.isScalar() || !DECIMAL.matcher(limit.text()).matches()) {
            return "";
        }
        BigDecimal tokens = new BigDecimal(limit.text());
        BigInteger whole = tokens.unscaledValue();
        BigInteger scale = BigInteger.TEN.pow(tokens.scale());
        BigInteger divisor = whole.gcd(scale);
        if (whole.signum() == 0) {
            return "";
        }
        return "; write limit: " + whole.divide(divisor) + ", per: " + times(per, scale.divide(divisor));
    }

    private static String times(YamlTree per, BigInteger times) {
        try {
            return DurationsAndSizes.duration(Math.multiplyExact(
                    DurationsAndSizes.durationMs(per.isScalar() ? per.text() : ""), times.longValueExact()));
        } catch (IllegalArgumentException | ArithmeticException e) {
            return times + " times as long";
        }
    }
}
