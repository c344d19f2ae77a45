package dev.weir.policy;

import dev.weir.event.LimitOverride;
import dev.weir.event.PolicyVersion;
import dev.weir.event.Request;
import dev.weir.event.RequestKind;
import dev.weir.event.StateKey;
import dev.weir.lease.LeaseTerms;
import dev.weir.limit.Concurrency;
import dev.weir.limit.Limit;
import dev.weir.limit.LimitAccount;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;

/**
 * A policy: the requests that it matches, the key by which they are counted, and the limits.
 *
 * @param id identifies the policy: 1 to 128 letters, digits, and {@code . _ -}
 * @param version the version number, from 1
 * @param effective when the version is in force, if no later one replaces it
 * @param layer in each layer, one policy applies to a request
 * @param priority the matching policy with the highest priority in a layer applies; ties go to the id that sorts first
 * @param match the requests that the policy matches
 * @param key the request fields by which usage is counted separately; if empty, all matching requests count together
 * @param terms the limits, all of which must permit a request; 1 to {@value #MAX_LIMITS}, or none if all requests
 *     are shaped
 * @param maxSizeBytes the largest permitted request size, null for any
 * @param onExceed what happens to requests that exceed the limits
 * @param idempotencyMs how long a repeated requestId gets its first decision again, 1 ms to 30 days; 0 for not at all
 * @param sharing how the quota is lent; a policy whose key has no client is always shared. Null if it is not shared
 */
public record Policy(
        String id,
        long version,
        EffectivePeriod effective,
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
     * A limit, its label in decisions and its bound on debt.
     *
     * @param label such as {@code token-bucket 10/1s}
     * @param limit the limit
     * @param maxDebt the most tokens in use beyond the capacity after a {@link RequestKind#SETTLE}
     * @param allowsOverride whether requests can replace the number of tokens with their {@link LimitOverride}
     */
    public record Term(String label, Limit<?> limit, long maxDebt, boolean allowsOverride) {

        /**
         * @throws IllegalArgumentException if a debt of this size cannot be counted exactly, or overrides are allowed
         *     and the limit is not {@linkplain Limit#isOverridable overridable}
         */
        public Term {
            if (allowsOverride && !limit.isOverridable()) {
                throw new IllegalArgumentException(
                        "allow-override requires limits above 0 of fixed-window, without a calendar period, or of"
                                + " sliding-window-counter, is '" + label + "'");
            }
            long most = limit.maxUsed() - limit.capacity();
            if (maxDebt < 0 || (maxDebt > most && limit.countsUsage())) {
                throw new IllegalArgumentException(
                        "max-debt must be 0 to " + most + " for " + label + ", is " + maxDebt);
            }
        }

        /** Creates a term that requests cannot override, and whose debt is at most one more capacity. */
        public Term(String label, Limit<?> limit) {
            this(label, limit, limit.capacity());
        }

        /** Creates a term that requests cannot override. */
        public Term(String label, Limit<?> limit, long maxDebt) {
            this(label, limit, maxDebt, false);
        }

        /**
         * Returns this term with the number of tokens of an override; this term if it does not allow overrides or has
         * a window of another length. The label names the number. A debt is possible up to the same {@code maxDebt}, as
         * far as it can be counted exactly.
         */
        public Term overriddenBy(LimitOverride override) {
            Limit<?> other = allowsOverride ? limit.withTokens(override.limit(), override.windowMs()) : limit;
            return other.equals(limit)
                    ? this
                    : new Term(labelOf(other), other, Math.min(maxDebt, other.maxUsed() - other.capacity()), true);
        }

        private String labelOf(Limit<?> other) {
            String tokens = " " + limit.capacity() + "/";
            int from = label.indexOf(tokens);
            return from < 0
                    ? label
                    : label.substring(0, from) + " " + other.capacity() + label.substring(from + tokens.length() - 1);
        }

        /**
         * Returns an account of an earlier version's limit under this limit, with its usage. If overrides are allowed,
         * all usage is kept; otherwise as much as {@link LimitAccount#migrateTo(Limit, long, long)} keeps.
         */
        public LimitAccount<?> migrate(LimitAccount<?> account, long nowMs) {
            return allowsOverride ? account.migrateAllTo(limit, nowMs) : account.migrateTo(limit, maxDebt, nowMs);
        }

        /** Returns the most tokens in use after a {@link RequestKind#SETTLE}. */
        public long maxUsed() {
            return limit.countsUsage() ? limit.capacity() + maxDebt : limit.maxUsed();
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
        if (terms.stream().anyMatch(term -> term.limit() instanceof Concurrency)) {
            requireCountable(onExceed, sharing != null, terms);
        }
        if (sharing != null && isOfClient && !sharing.byClients()) {
            throw new IllegalArgumentException(
                    "max-wait must not be set if the key contains 'client', unless lease is client");
        }
        int fewest = onExceed instanceof OnExceed.Shape ? 0 : 1;
        if (terms.size() < fewest || terms.size() > MAX_LIMITS) {
            throw new IllegalArgumentException(
                    "limits must be " + fewest + " to " + MAX_LIMITS + ", are " + terms.size());
        }
        if (idempotencyMs < 0 || idempotencyMs > MAX_IDEMPOTENCY_MS) {
            throw new IllegalArgumentException(
                    "idempotency must be 1ms to 30d, is " + DurationsAndSizes.duration(idempotencyMs));
        }
    }

    /**
     * Returns a builder of version 1 of a policy with the defaults of {@code policies.yaml}: always in force, for all
     * requests, counted by client, denying what exceeds the limits.
     */
    public static PolicyBuilder builder(String id) {
        return new PolicyBuilder(id);
    }

    /** Returns a builder that starts with this policy. */
    public PolicyBuilder toBuilder() {
        return builder(id)
                .version(version)
                .effective(effective)
                .layer(layer)
                .priority(priority)
                .match(match)
                .key(key)
                .terms(terms)
                .maxSizeBytes(maxSizeBytes)
                .onExceed(onExceed)
                .idempotencyMs(idempotencyMs)
                .sharing(sharing);
    }

    private static void requireSharable(OnExceed onExceed, List<Term> terms) {
        if (onExceed instanceof OnExceed.Throttle) {
            throw new IllegalArgumentException(
                    "on-exceed must not be throttle if the quota is shared: it is lent in leases,"
                            + " which cannot delay requests");
        }
        if (terms.isEmpty() || terms.stream().anyMatch(term -> term.limit().countDenied())) {
            throw new IllegalArgumentException(
                    "limits must not be empty or count denied requests if the quota is shared");
        }
        if (terms.stream().anyMatch(Term::allowsOverride)) {
            throw new IllegalArgumentException(
                    "allow-override must not be true if the quota is shared: it is lent in leases, which do not depend"
                            + " on requests");
        }
    }

    private static boolean countsTokens(Term term) {
        return term.limit().countsUsage() && !(term.limit() instanceof Concurrency);
    }

    private static void requireCountable(OnExceed onExceed, boolean isShared, List<Term> terms) {
        if (onExceed instanceof OnExceed.Throttle || onExceed instanceof OnExceed.Shape) {
            throw new IllegalArgumentException(
                    "on-exceed must be deny, shadow-ban or observe if a limit is concurrency: when a slot is freed is"
                            + " not known in advance");
        }
        if (isShared && terms.stream().anyMatch(Policy::countsTokens)) {
            throw new IllegalArgumentException(
                    "limits must all be of concurrency if one is and the quota is shared: a lease covers all limits, and"
                            + " slots return while tokens do not. Move the others to a policy in another layer");
        }
    }

    /** @throws IllegalArgumentException unless {@code name} is a valid id or layer */
    public static String requireName(String what, String name) {
        if (!isName(name)) {
            throw new IllegalArgumentException(what + " must be 1 to 128 letters, digits or . _ -, is '" + name + "'");
        }
        return name;
    }

    /** Returns whether {@code name} is a valid id of a policy or a queue. */
    public static boolean isName(String name) {
        return name != null && NAME.matcher(name).matches();
    }

    /** Returns whether the request is for this policy if it applies: a RESET can name the only one that it is for. */
    public boolean isAddressedBy(Request request) {
        return request.policyId() == null || request.policyId().equals(id);
    }

    /** Returns the limits of the terms. */
    public List<Limit<?>> limits() {
        return terms.stream().<Limit<?>>map(Term::limit).toList();
    }

    /** Returns the terms for a request, with its {@link LimitOverride} where they allow one. */
    public List<Term> termsFor(Request request) {
        LimitOverride override = request.limitOverride();
        return override == null || !allowsOverride()
                ? terms
                : terms.stream().map(term -> term.overriddenBy(override)).toList();
    }

    /** Returns whether requests can override limits. */
    public boolean allowsOverride() {
        for (Term term : terms) {
            if (term.allowsOverride) {
                return true;
            }
        }
        return false;
    }

    /** Returns this policy in force at all times. */
    public Policy alwaysEffective() {
        return toBuilder().effective(EffectivePeriod.ALWAYS).build();
    }

    /** Returns the time from which this version is in force, in milliseconds since the epoch. */
    public long effectiveFromMs() {
        return effective.fromMs();
    }

    /** Returns the time until which this version is in force, or {@link EffectivePeriod#NO_END}. */
    public long effectiveUntilMs() {
        return effective.untilMs();
    }

    /** Returns the id and version of this policy. */
    public PolicyVersion versionId() {
        return new PolicyVersion(id, version);
    }

    /** Returns whether the policy only observes. */
    public boolean observes() {
        return onExceed instanceof OnExceed.Observe;
    }

    /** Returns whether requests that exceed the limits wait in a queue. */
    public boolean shapes() {
        return onExceed instanceof OnExceed.Shape;
    }

    /** Returns the queue of the policy, null if it does not shape. */
    public String queue() {
        return onExceed instanceof OnExceed.Shape shape ? shape.queue() : null;
    }

    /** Returns whether the request exceeds the permitted size. */
    public boolean isTooLarge(Request request) {
        return maxSizeBytes != null && request.sizeBytes() != null && request.sizeBytes() > maxSizeBytes;
    }

    /** Returns whether this policy, such as another version of {@code other}, continues the state of {@code other}. */
    public boolean sharesStateWith(Policy other) {
        return id.equals(other.id)
                && isShared() == other.isShared()
                && keyFields().equals(other.keyFields());
    }

    /** Returns whether the quota is shared, that is, counted by a ledger and lent in leases. */
    public boolean isShared() {
        return sharing != null;
    }

    /**
     * Returns whether the policy denies refunds. Shared limits deny them, since a refund could return what others have
     * used. Limits that count nothing do not, nor those of concurrency, which a SETTLE does not change.
     */
    public boolean deniesRefunds() {
        return isShared() && countsUsage() && !limitsConcurrency();
    }

    /** Returns whether each limit counts usage. Those that do not suspend the limits that they replace. */
    public boolean countsAllUsage() {
        for (Term term : terms) {
            if (!term.limit.countsUsage()) {
                return false;
            }
        }
        return true;
    }

    /** Returns whether a limit is one of concurrency, so that requests that pass create reservations. */
    public boolean limitsConcurrency() {
        for (int i = 0; i < terms.size(); i++) {
            if (terms.get(i).limit instanceof Concurrency) {
                return true;
            }
        }
        return false;
    }

    /** Returns whether a limit counts usage. If none does, requests change no stored usage. */
    public boolean countsUsage() {
        for (Term term : terms) {
            if (term.limit.countsUsage()) {
                return true;
            }
        }
        return false;
    }

    /** Returns the timing of leases: at most {@code longest}, shortened for the shortest window or {@code ttl}. */
    public LeaseTerms leaseTerms(LeaseTerms longest) {
        long shortestMs = Long.MAX_VALUE;
        for (Term term : terms) {
            long windowMs = term.limit() instanceof Concurrency concurrency
                    ? concurrency.ttlMs()
                    : term.limit().windowMs(0);
            shortestMs = windowMs == 0 ? shortestMs : Math.min(shortestMs, windowMs);
        }
        return longest.forWindow(shortestMs).lendingSlots(limitsConcurrency() && !observes());
    }

    /**
     * Returns the index of the limit with the smallest capacity. If limits are lent together, decisions name this one.
     */
    public int tightestIndex() {
        int tightest = 0;
        for (int i = 1; i < terms.size(); i++) {
            boolean isTighter = terms.get(i).limit().capacity()
                    < terms.get(tightest).limit().capacity();
            tightest = isTighter ? i : tightest;
        }
        return tightest;
    }

    /** Returns the key fields that follow the client in a {@link StateKey}. */
    List<String> keyFields() {
        return isShared()
                ? key
                : key.stream().filter(field -> !field.equals("client")).toList();
    }

    /** Returns whether the current version of this policy uses state under {@code key}. */
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

    /**
     * Returns the state key of a shared policy for the given values of its key fields; a missing value counts as empty.
     */
    public StateKey sharedKey(Map<String, String> values) {
        List<String> others = new ArrayList<>(2 * key.size());
        for (String field : key) {
            others.add(field);
            others.add(values.getOrDefault(field, ""));
        }
        return new StateKey(StateKey.NO_CLIENT, id, others);
    }

    /** Returns the key of the state that a matching request is charged to. */
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
