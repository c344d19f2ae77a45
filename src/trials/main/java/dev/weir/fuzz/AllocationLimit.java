package dev.weir.fuzz;

/** Bounds of the bytes that may be allocated for an input. */
final class AllocationLimit {

    private static final long ANY = 256 << 10;
    private static final long TIMES_A_RECORD = 32;
    private static final long FAULTS = 4 << 20;
    private static final long TIMES_A_TEXT = 512;

    private AllocationLimit() {}

    static long record(byte[] bytes) {
        return ANY + TIMES_A_RECORD * (bytes == null ? 0 : bytes.length);
    }

    /** Returns the bound for a record that contains a text. */
    static long definition(byte[] bytes) {
        return record(bytes) + FAULTS + TIMES_A_TEXT * (bytes == null ? 0 : bytes.length);
    }

    /**
     * Returns the bound for a text. A text is parsed twice, as JSON and as YAML, into a tree, and up to a
     * thousand faults have a line each.
     */
    static long text(String text) {
        return ANY + FAULTS + TIMES_A_TEXT * text.length();
    }
}
