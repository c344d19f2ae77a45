package dev.weir.pacing;

/** A processor with caches that share the memory of the process. */
public interface CacheOwner {

    /**
     * Evicts what exceeds the share of the caches. Called on the stream thread between polls, about once a second, also
     * if no records arrive. Must not write to stores.
     */
    void shrinkCaches();
}
