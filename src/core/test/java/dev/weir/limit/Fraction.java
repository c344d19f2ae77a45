package dev.weir.limit;

import java.math.BigInteger;

/** An exact rational number for the models. */
record Fraction(BigInteger numerator, BigInteger denominator) implements Comparable<Fraction> {

    static final Fraction ZERO = of(0);

    Fraction {
        BigInteger divisor = numerator.gcd(denominator).multiply(BigInteger.valueOf(denominator.signum()));
        numerator = numerator.divide(divisor);
        denominator = denominator.divide(divisor);
    }

    static Fraction of(long whole) {
        return of(whole, 1);
    }

    static Fraction of(long numerator, long denominator) {
        return new Fraction(BigInteger.valueOf(numerator), BigInteger.valueOf(denominator));
    }

    Fraction plus(Fraction other) {
        return new Fraction(
                numerator.multiply(other.denominator).add(other.numerator.multiply(denominator)),
                denominator.multiply(other.denominator));
    }

    Fraction minus(Fraction other) {
        return plus(other.times(of(-1)));
    }

    Fraction times(Fraction other) {
        return new Fraction(numerator.multiply(other.numerator), denominator.multiply(other.denominator));
    }

    Fraction dividedBy(Fraction other) {
        return new Fraction(numerator.multiply(other.denominator), denominator.multiply(other.numerator));
    }

    Fraction max(Fraction other) {
        return compareTo(other) >= 0 ? this : other;
    }

    Fraction min(Fraction other) {
        return compareTo(other) <= 0 ? this : other;
    }

    long floor() {
        BigInteger[] parts = numerator.divideAndRemainder(denominator);
        return parts[1].signum() < 0 ? parts[0].subtract(BigInteger.ONE).longValueExact() : parts[0].longValueExact();
    }

    long ceiling() {
        return -times(of(-1)).floor();
    }

    @Override
    public int compareTo(Fraction other) {
        return numerator.multiply(other.denominator).compareTo(other.numerator.multiply(denominator));
    }
}
