package dev.weir.policy;

import dev.weir.event.PolicyVersion;
import dev.weir.event.Request;
import dev.weir.event.RequestKind;
import dev.weir.event.StateKey;
import dev.weir.lease.LeaseTerms;
import dev.weir.limit.Blocked;
import dev.weir.limit.Limit;
import dev.weir.limit.Unlimited;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;

/**
 * One rule: which requests it is for, what is counted together, and what they may use.
 *
 * @param id names it: 1 to 128 letters, digits, and {@code . _ -}
 * @param version counts its changes, from 1
 * @param effectiveFromMs from which record time on it applies, ms since the epoch; 0 for always
 * @param layer of each layer, one policy applies
 * @param priority the highest that matches in a layer applies; ties go to the id that sorts first
 * @param match which requests it is for
 * @param key what is counted together: fields of the request; none: all that it is for
 * @param terms the limits, all of which must permit; 1 to {@value #MAX_LIMITS}, or none if all requests are shaped
 * @param maxSizeBytes the largest request, null for any
 * @param onExceed what happens to requests beyond the limits
 * @param idempotencyMs for how long a requestId seen before gets its first decision again, 1 ms to 30 days; 0 if it
 *     does not
 * @param sharing how it is shared by those who decide, which it is if its key leaves out the client; null if it is not
 */
public record Policy(
        String id,
        long version,
        long effectiveFromMs,
        String layer,
        int priority,
        RequestMatcher match,
        List<String> key,
        List<Term> terms,
        Long maxSizeBytes,
        OnExceed onExceed,
        long idempotencyMs,
        Sharing sharing) {

    public static final String DEFAULT_LAYER = "client";
    public static final int MAX_LIMITS = 16;
    public static final int MAX_KEY_FIELDS = 8;

    /** 30 days. */
    public static final long MAX_IDEMPOTENCY_MS = 2_592_000_000L;

    private static final Pattern NAME = Pattern.compile("[A-Za-z0-9._-]{1,128}");

    /**
     * A limit and how decisions name it.
     *
     * @param label such as {@code token-bucket 10/1s}
     * @param maxDebt how many tokens beyond its capacity a {@link RequestKind#SETTLE} leaves in use at most
     */
    public record Term(String label, Limit<?> limit, long maxDebt) {

        /** @throws IllegalArgumentException if a debt of this size cannot be counted exactly */
        public Term {
            long most = limit.maxUsed() - limit.capacity();
            if (maxDebt < 0 || (maxDebt > most && isCounted(limit))) {
                throw new IllegalArgumentException(
                        "max-debt must be 0 to " + most + " for " + label + ", is " + maxDebt);
            }
        }

        /** A limit whose debt is at most one more capacity. */
        public Term(String label, Limit<?> limit) {
            this(label, limit, limit.capacity());
        }

        private static boolean isCounted(Limit<?> limit) {
            return !(limit instanceof Unlimited) && !(limit instanceof Blocked);
        }

        /** The most tokens in use that a {@link RequestKind#SETTLE} leaves. */
        public long maxUsed() {
            return isCounted(limit) ? limit.capacity() + maxDebt : limit.maxUsed();
        }
    }

    /** @throws IllegalArgumentException if a part is out of its range; the message names the part */
    public Policy {
        requireName("id", id);
        requireName("layer", layer);
        key = List.copyOf(key);
        terms = List.copyOf(terms);
        if (key.size() > MAX_KEY_FIELDS || key.stream().distinct().count() < key.size()) {
            throw new IllegalArgumentException("key must be at most " + MAX_KEY_FIELDS + " different fields");
        }
        boolean isOfClient = key.contains("client");
        if (sharing == null && !isOfClient) {
            sharing = Sharing.DEFAULT;
        }
        if (sharing != null) {
            requireSharable(onExceed, terms);
        }
        if (sharing != null && isOfClient && !sharing.byClients()) {
            throw new IllegalArgumentException(
                    "max-wait must not be there where the key contains 'client', but for lease: client");
        }
        int fewest = onExceed instanceof OnExceed.Shape ? 0 : 1;
        if (terms.size() < fewest || terms.size() > MAX_LIMITS) {
            throw new IllegalArgumentException(
                    "limits must be " + fewest + " to " + MAX_LIMITS + ", are " + terms.size());
        }
        if (idempotencyMs < 0 || idempotencyMs > MAX_IDEMPOTENCY_MS) {
            throw new IllegalArgumentException("idempotency must be 1ms to 30d, is " + idempotencyMs + "ms");
        }
        if (effectiveFromMs < 0 || effectiveFromMs > RequestRules.MAX_TIMESTAMP_MS) {
            throw new IllegalArgumentException("effective-from must be 1970 to 9999, is " + effectiveFromMs + " ms");
        }
    }

    private static void requireSharable(OnExceed onExceed, List<Term> terms) {
        if (onExceed instanceof OnExceed.Throttle) {
            throw new IllegalArgumentException(
                    "on-exceed must not be throttle where quota is shared: it is lent in slices,"
                            + " which put nothing off");
        }
        if (terms.isEmpty() || terms.stream().anyMatch(term -> term.limit().countDenied())) {
            throw new IllegalArgumentException(
                    "limits must not count denied requests, and not be none, where quota is shared");
        }
    }

    /** Throws unless {@code name} can be an id or a layer. */
    public static String requireName(String what, String name) {
        if (!isName(name)) {
            throw new IllegalArgumentException(what + " must be 1 to 128 letters, digits or . _ -, is '" + name + "'");
        }
        return name;
    }

    /** Whether {@code name} can be the id of a policy or of a queue. */
    public static boolean isName(String name) {
        return name != null && NAME.matcher(name).matches();
    }

    /** The limits of its terms. */
    public List<Limit<?>> limits() {
        return terms.stream().<Limit<?>>map(Term::limit).toList();
    }

    /** The same at all times. */
    public Policy withoutEffectiveFrom() {
        return new Policy(
                id, version, 0, layer, priority, match, key, terms, maxSizeBytes, onExceed, idempotencyMs, sharing);
    }

    /** Which version of which policy this is. */
    public PolicyVersion versionId() {
        return new PolicyVersion(id, version);
    }

    /** Whether it only watches. */
    public boolean observes() {
        return onExceed instanceof OnExceed.Observe;
    }

    /** Whether what it refuses waits in a queue instead. */
    public boolean shapes() {
        return onExceed instanceof OnExceed.Shape;
    }

    /** The queue that it shapes by, null if it does not. */
    public String queue() {
        return onExceed instanceof OnExceed.Shape shape ? shape.queue() : null;
    }

    /** Whether the request is larger than it allows. */
    public boolean isTooLarge(Request request) {
        return maxSizeBytes != null && request.sizeBytes() != null && request.sizeBytes() > maxSizeBytes;
    }

    /** Whether what was counted for {@code other}, a version of it perhaps, is found by this one. */
    public boolean sharesStateWith(Policy other) {
        return id.equals(other.id)
                && isShared() == other.isShared()
                && keyFields().equals(other.keyFields());
    }

    /** Whether what it counts is counted for all clients together, or lent to them. */
    public boolean isShared() {
        return sharing != null;
    }

    /**
     * Whether it denies refunds: its limits are shared, so a refund could give back what others have used. Where
     * nothing is counted, nothing is given back.
     */
    public boolean deniesRefunds() {
        return isShared() && terms.stream().anyMatch(term -> Term.isCounted(term.limit));
    }

    /** How its limits are lent: for a part of the shortest window. */
    public LeaseTerms terms(LeaseTerms longest) {
        long shortestMs = Long.MAX_VALUE;
        for (Term term : terms) {
            long windowMs = term.limit().windowMs(0);
            shortestMs = windowMs == 0 ? shortestMs : Math.min(shortestMs, windowMs);
        }
        return longest.forWindow(shortestMs);
    }

    /** Of its limits the one that gives least at once: if they are lent together, decisions name that one. */
    public int tightestIndex() {
        int tightest = 0;
        for (int i = 1; i < terms.size(); i++) {
            boolean isTighter = terms.get(i).limit().capacity()
                    < terms.get(tightest).limit().capacity();
            tightest = isTighter ? i : tightest;
        }
        return tightest;
    }

    /** The fields of its key that stand behind the client in a {@link StateKey}. */
    List<String> keyFields() {
        return isShared()
                ? key
                : key.stream().filter(field -> !field.equals("client")).toList();
    }

    /** Whether it counts under such a key, as it is now. */
    public boolean countsUnder(StateKey key) {
        List<String> names = keyFields();
        List<String> others = key.namesAndValues();
        boolean counts = id.equals(key.policyId())
                && isShared() == key.client().equals(StateKey.NO_CLIENT)
                && others.size() == 2 * names.size()
                && !terms.isEmpty();
        for (int i = 0; counts && i < names.size(); i++) {
            counts = others.get(2 * i).equals(names.get(i));
        }
        return counts;
    }

    /** Of a shared policy: which state counts for these values of its key fields; one that is missing is empty. */
    public StateKey sharedKey(Map<String, String> values) {
        List<String> others = new ArrayList<>(2 * key.size());
        for (String field : key) {
            others.add(field);
            others.add(values.getOrDefault(field, ""));
        }
        return new StateKey(StateKey.NO_CLIENT, id, others);
    }

    /** Which state counts for a request that matches. */
    public StateKey stateKey(Request request) {
        String client = isShared() ? StateKey.NO_CLIENT : request.client();
        if (key.isEmpty() || (key.size() == 1 && !isShared())) {
            return new StateKey(client, id, List.of());
        }
        List<String> others = new ArrayList<>(2 * key.size());
        for (String field : key) {
            if (isShared() || !field.equals("client")) {
                String value = request.field(field);
                others.add(field);
                others.add(value == null ? "" : value);
            }
        }
        return new StateKey(client, id, others);
    }
}
