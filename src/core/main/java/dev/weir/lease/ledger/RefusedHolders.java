package dev.weir.lease.ledger;

import dev.weir.lease.LeaseRequest;
import dev.weir.lease.LeaseTerms;
import dev.weir.lease.holder.LastRequest;
import dev.weir.limit.Limit;
import java.util.ArrayList;
import java.util.List;

/**
 * The holders that a ledger has refused and expects to return, in the order of their first refusal. An immutable value.
 *
 * <p>If two holders want more than there is, they compete for each token that becomes free, and the one with the shorter
 * round trip would always win. So the ledger grants a request only if the free tokens cover the {@code minTokens} of the
 * request and of all holders ahead of it in this list:
 *
 * <pre>
 *   grant to h   ⟸  minTokens(h) + Σ minTokens of those refused before h  ≤ free(t)
 *
 *              refused, and expected to return        refused again
 *   no place ───────────────────────────────────▶ place ───────────▶ the same place
 *                                                   │
 *                                                   ╰─ granted, untilMs, or not expected any more ──▶ no place
 * </pre>
 *
 * <p>The ledger adds a holder only if the holder's reported demand reaches the refused amount within two leads. Such a
 * holder repeats its request at the retry time of the refusal ({@link LastRequest#retryTokens}). A holder with less
 * demand may never repeat it, and its entry would block the others. An entry expires two leads after the retry time.
 * Requests for more than a quarter of the capacity are not added, since the others would wait until that much has
 * accumulated.
 *
 * <p>Example: one token becomes free every 100 ms, and {@code a} and {@code b} want ten a second each. The ledger
 * refuses both at 0 ms, {@code a} with a retry time of 100 ms and {@code b} with one of 200 ms. At 100 ms it grants the
 * token to {@code a}, even if a request of {@code b} arrives first. If it then refuses {@code a} again, {@code a} is
 * behind {@code b}.
 *
 * @param refusals the refusals, one of each holder
 */
public record RefusedHolders(List<Refusal> refusals) {

    /** The most refused holders in the list, which bounds the size of the state. */
    public static final int MAX_REFUSALS = 1_000;

    /** Nobody was refused. */
    public static final RefusedHolders NONE = new RefusedHolders(List.of());

    /** The ledger is short of tokens if less than this part (1/4) of the capacity is free. */
    static final int SCARCE_DIVISOR = 4;

    /**
     * A holder that was refused and is expected to request the same amount again.
     *
     * @param holder the name of the holder
     * @param minTokens the tokens that its waiting request needs
     * @param requestedTokens the tokens that it requested
     * @param untilMs when the entry expires
     */
    public record Refusal(String holder, long minTokens, long requestedTokens, long untilMs) {}

    /**
     * What the other refused holders are due.
     *
     * @param place the index of the holder among the refused ones, -1 if it is not among them
     * @param tokens what the others are due
     * @param tokensBefore what those are due that are before the holder
     */
    record Others(int place, long tokens, long tokensBefore) {}

    public RefusedHolders {
        refusals = List.copyOf(refusals);
    }

    /** Returns what is due to others than a holder. */
    Others othersThan(String holder) {
        long before = 0;
        long others = 0;
        int place = -1;
        for (int i = 0; i < refusals.size(); i++) {
            if (refusals.get(i).holder.equals(holder)) {
                place = i;
            } else {
                others = Math.min(Limit.MAX_LEVEL, others + refusals.get(i).minTokens);
                before = place < 0 ? others : before;
            }
        }
        return new Others(place, others, before);
    }

    /** Returns the list without expired entries. */
    RefusedHolders at(long nowMs) {
        return refusals.stream().allMatch(refusal -> refusal.untilMs > nowMs)
                ? this
                : new RefusedHolders(refusals.stream()
                        .filter(refusal -> refusal.untilMs > nowMs)
                        .toList());
    }

    /** Returns the list without the entry of a holder, if it has one. */
    RefusedHolders without(Others others) {
        if (others.place < 0) {
            return this;
        }
        List<Refusal> next = new ArrayList<>(refusals);
        next.remove(others.place);
        return new RefusedHolders(next);
    }

    /**
     * Returns the list after another refusal.
     *
     * @param others the others than the holder
     * @param capacity the capacity of the limits
     * @param retryAfterMs the retry time of the refusal
     */
    RefusedHolders refused(
            LeaseRequest request, Others others, LeaseTerms terms, long capacity, long retryAfterMs, long nowMs) {
        boolean isNew = others.place < 0;
        if (!returns(request, terms, capacity) || (isNew && refusals.size() >= MAX_REFUSALS)) {
            return without(others);
        }
        long untilMs = nowMs + Math.min(retryAfterMs, terms.termMs()) + 2 * terms.leadMs();
        Refusal refusal = new Refusal(request.holder(), request.minTokens(), request.requestedTokens(), untilMs);
        List<Refusal> next = new ArrayList<>(refusals);
        if (isNew) {
            next.add(refusal);
        } else {
            next.set(others.place, refusal);
        }
        return new RefusedHolders(next);
    }

    /** Returns whether a holder requests the refused amount again, whether a request waits or not, and it is small. */
    private static boolean returns(LeaseRequest request, LeaseTerms terms, long capacity) {
        long least = request.minTokens();
        boolean isSmall = least > 0 && least <= Math.max(1, capacity / SCARCE_DIVISOR);
        return isSmall
                && Math.min(request.requestedTokens() / least, terms.termMs()) * 2 * terms.leadMs() >= terms.termMs();
    }
}
