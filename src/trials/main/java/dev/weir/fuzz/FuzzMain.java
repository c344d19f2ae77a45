package dev.weir.fuzz;

/**
 * The long form; {@code topology-docs/fuzzing.md} tells how to run it. Arguments: what, how many or which ({@code
 * 1000-2000}), and to replay a case, the seed and the index that a failure names.
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
            System.exit(1); // what a target started would go on
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
