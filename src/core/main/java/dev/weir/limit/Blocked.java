package dev.weir.limit;

/** A limit of 0, which denies every cost above 0 and never permits it later. */
public record Blocked() implements UncountedLimit {

    @Override
    public long capacity() {
        return 0;
    }
}
