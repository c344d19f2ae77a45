package dev.weir.fuzz;

/** How much may be allocated for an input, beside what any takes. */
final class AllocationLimit {

    private static final long ANY = 256 << 10;
    private static final long TIMES_A_RECORD = 32;
    private static final long FAULTS = 4 << 20;
    private static final long TIMES_A_TEXT = 512;

    private AllocationLimit() {}

    static long record(byte[] bytes) {
        return ANY + TIMES_A_RECORD * (bytes == null ? 0 : bytes.length);
    }

    /** A record that has a text in it. */
    static long definition(byte[] bytes) {
        return record(bytes) + FAULTS + TIMES_A_TEXT * (bytes == null ? 0 : bytes.length);
    }

    /** A text is read twice, as JSON and as YAML, and a tree of it is built; each of a thousand faults is a line. */
    static long text(String text) {
        return ANY + FAULTS + TIMES_A_TEXT * text.length();
    }
}
