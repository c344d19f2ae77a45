package dev.weir.fuzz;

/**
 * The command of the fuzzers; see {@code topology-docs/explanation/testing.md}. Arguments: the target, the number of
 * cases or a range ({@code 1000-2000}); to repeat a case, also the seed and the index that a failure reports.
 */
public final class FuzzMain {

    private FuzzMain() {}

    public static void main(String[] args) throws Exception {
        long seed = args.length > 2 ? Long.parseLong(args[2]) : FuzzRunner.SEED;
        FuzzRunner fuzz = new FuzzRunner(args[0], seed, FuzzTarget.of(args[0]));
        try {
            run(args, fuzz);
            System.exit(0);
        } catch (AssertionError e) {
            e.printStackTrace();
            System.exit(1); // threads of the target may still run
        }
    }

    private static void run(String[] args, FuzzRunner fuzz) {
        if (args.length > 3) {
            System.out.println(fuzz.replay(Integer.parseInt(args[3])));
        } else {
            String[] range = args[1].contains("-") ? args[1].split("-", 2) : new String[] {"0", args[1]};
            System.out.println(fuzz.run(Integer.parseInt(range[0]), Integer.parseInt(range[1])));
        }
    }
}
