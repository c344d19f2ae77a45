package dev.weir.fuzz;

/**
 * The long form; {@code topology-docs/fuzzing.md} tells how to run it. Arguments: what, how many, and to replay a case,
 * the seed and the index that a failure names.
 */
public final class FuzzMain {

    private FuzzMain() {}

    public static void main(String[] args) throws Exception {
        long seed = args.length > 2 ? Long.parseLong(args[2]) : Fuzz.SEED;
        Fuzz fuzz = new Fuzz(args[0], seed, Target.of(args[0]));
        if (args.length > 3) {
            System.out.println(fuzz.replay(Integer.parseInt(args[3])));
        } else {
            System.out.println(fuzz.run(Integer.parseInt(args[1])));
        }
        System.exit(0);
    }
}
