package dev.weir.lending;

import dev.weir.lease.LeaseTerms;
import dev.weir.lease.LentLimits;
import dev.weir.lending.Lending.Arrivals;
import dev.weir.lending.Lending.Mishaps;
import dev.weir.lending.Lending.Scene;
import dev.weir.limit.Limit;
import java.io.PrintStream;
import java.util.Arrays;
import java.util.List;

/**
 * A command that prints how much of a shared limit is used, how often requests wait for a lease, and how many messages
 * are sent, on a virtual clock.
 */
public final class LendingFigures {

    private static final long A_SECOND = 1_000;
    private static final int HOLDERS = 8;

    private LendingFigures() {}

    public static void main(String[] arguments) {
        PrintStream out = System.out;
        out.println("| limit | even | skewed | 64 holders | waited | messages |");
        out.println("|---|---|---|---|---|---|");
        for (long perMs : new long[] {1_000, 10_000, 60_000}) {
            LentLimits.of(perMs, perMs).forEach(limit -> {
                Limit<?> few = like(limit, perMs / 100, perMs);
                Limit<?> many = like(limit, 16 * perMs, perMs);
                Lending begun = run(many, even(HOLDERS, 8 * A_SECOND), 5_000);
                Lending half = run(many, even(HOLDERS, 8 * A_SECOND), 35_000); // starts in the same way
                out.printf(
                        "| %s, %d s | %.3f | %.3f | %.3f | %.4f | %.4f |%n",
                        limit.getClass().getSimpleName(),
                        perMs / A_SECOND,
                        run(limit, even(HOLDERS, 2 * A_SECOND), 2 * perMs + 60_000)
                                .share(),
                        run(limit, skewed(), 2 * perMs + 60_000).share(),
                        run(few, even(64, 20), 2 * perMs + 60_000).share(),
                        (double) (half.waited - begun.waited) / (half.requests - begun.requests),
                        (double) (half.messages - begun.messages) / (half.requests - begun.requests));
            });
        }
    }

    private static Limit<?> like(Limit<?> limit, long tokens, long perMs) {
        return LentLimits.of(tokens, perMs)
                .filter(one -> one.getClass() == limit.getClass())
                .findFirst()
                .orElseThrow();
    }

    private static double[] even(int holders, double perSecond) {
        double[] each = new double[holders];
        Arrays.fill(each, perSecond / holders);
        return each;
    }

    private static double[] skewed() {
        double[] each = even(HOLDERS, 2 * A_SECOND * HOLDERS / 107.0);
        each[0] *= 100;
        return each;
    }

    private static Lending run(Limit<?> limit, double[] perSecond, long forMs) {
        LeaseTerms terms = LeaseTerms.DEFAULTS.forWindow(limit.windowMs(0));
        Arrivals arrivals = new Arrivals(perSecond, 1, forMs);
        Scene scene = new Scene(List.of(List.of(limit)), terms, arrivals, 40, 0.01, 100, Mishaps.NONE);
        return new Lending(scene, 1).run();
    }
}
