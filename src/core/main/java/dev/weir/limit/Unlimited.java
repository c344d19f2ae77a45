package dev.weir.limit;

/** A limit that permits everything and counts nothing. */
public record Unlimited() implements UncountedLimit {

    @Override
    public long capacity() {
        return Long.MAX_VALUE;
    }
}
