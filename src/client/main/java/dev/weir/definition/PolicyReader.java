package dev.weir.definition;

import dev.weir.limit.Concurrency;
import dev.weir.limit.Limit;
import dev.weir.limit.Unlimited;
import dev.weir.policy.DurationsAndSizes;
import dev.weir.policy.EffectivePeriod;
import dev.weir.policy.Glob;
import dev.weir.policy.OnExceed;
import dev.weir.policy.Policy;
import dev.weir.policy.RequestMatcher;
import dev.weir.policy.Sharing;
import java.time.OffsetDateTime;
import java.time.format.DateTimeParseException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.OptionalLong;
import java.util.TreeMap;

/** Reads one policy. A value with a fault is replaced by a harmless one, so that the rest is checked as well. */
final class PolicyReader {

    static final List<String> KEYS = List.of(
            "id",
            "layer",
            "priority",
            "match",
            "key",
            "limits",
            "max-size",
            "on-exceed",
            "queue",
            "deny-status",
            "max-delay",
            "max-debt",
            "allow-override",
            "idempotency",
            "effective-from",
            "effective-until",
            "max-wait",
            "when-empty",
            "lease");

    private static final String DENY = "deny";
    private static final String SHADOW_BAN = "shadow-ban";
    private static final String OBSERVE = "observe";
    private static final String THROTTLE = "throttle";
    private static final String SHAPE = "shape";

    private static final Map<String, String> ON_EXCEED = new LinkedHashMap<>();

    static {
        for (String word : List.of(DENY, SHADOW_BAN, OBSERVE, THROTTLE, SHAPE)) {
            ON_EXCEED.put(word, word);
        }
    }

    private static final Map<String, Boolean> WHEN_EMPTY_WAITS = new LinkedHashMap<>();
    private static final Map<String, Boolean> LEASE_IS_BY_CLIENTS = Map.of("client", true);

    static {
        WHEN_EMPTY_WAITS.put("wait", true);
        WHEN_EMPTY_WAITS.put("deny", false);
    }

    private static final Map<String, Long> STATUSES = new TreeMap<>(Map.of("429", 429L, "503", 503L));

    /** Keys that require a value of {@code on-exceed}. */
    private static final Map<String, String> OF = Map.of("deny-status", DENY, "max-delay", THROTTLE, "queue", SHAPE);

    private static final List<String> HARMLESS_KEY = List.of("client");
    private static final Policy.Term HARMLESS_TERM = new Policy.Term("unlimited", new Unlimited());
    private static final String HARMLESS_QUEUE = "unnamed";
    private static final Glob HARMLESS_GLOB = new Glob("**");

    private PolicyReader() {}

    /** Returns the policy. It must not be used if faults were added. */
    static Policy read(YamlTree tree, long version) {
        tree.fields(KEYS);
        String id = tree.require("id").read(name -> Policy.requireName("id", name));
        String layer = tree.get("layer").read(name -> Policy.requireName("layer", name));
        Long priority = tree.get("priority").wholeNumber(Integer.MIN_VALUE, Integer.MAX_VALUE);
        RequestMatcher match = match(tree.get("match"));
        List<String> key = key(tree.get("key"), HARMLESS_KEY);
        String word = word(tree);
        OnExceed onExceed = onExceed(tree, word);
        List<Policy.Term> terms = terms(tree, word);
        Long maxSizeBytes = tree.get("max-size").read(DurationsAndSizes::sizeBytes);
        Long idempotencyMs = tree.get("idempotency").read(DurationsAndSizes::durationMs);
        Sharing sharing = sharing(tree, key);
        EffectivePeriod effective = effective(tree);
        try {
            return Policy.builder(Objects.requireNonNullElse(id, "unnamed"))
                    .version(version)
                    .effective(effective)
                    .layer(Objects.requireNonNullElse(layer, Policy.DEFAULT_LAYER))
                    .priority(priority == null ? 0 : priority.intValue())
                    .match(match)
                    .key(key)
                    .terms(terms)
                    .maxSizeBytes(maxSizeBytes)
                    .onExceed(Objects.requireNonNullElse(onExceed, OnExceed.DENY))
                    .idempotencyMs(Objects.requireNonNullElse(idempotencyMs, 0L))
                    .sharing(sharing)
                    .build();
        } catch (IllegalArgumentException e) {
            addFault(tree, e);
            return null;
        }
    }

    private static EffectivePeriod effective(YamlTree tree) {
        Long fromMs = tree.get("effective-from").read(PolicyReader::instantMs);
        Long untilMs = tree.get("effective-until").read(PolicyReader::instantMs);
        try {
            return new EffectivePeriod(
                    Objects.requireNonNullElse(fromMs, 0L),
                    Objects.requireNonNullElse(untilMs, EffectivePeriod.NO_END));
        } catch (IllegalArgumentException e) {
            addFault(tree, e);
            return EffectivePeriod.ALWAYS;
        }
    }

    /** Adds a fault to the key with which the message begins. */
    private static void addFault(YamlTree tree, IllegalArgumentException fault) {
        String part = fault.getMessage().split(" ", 2)[0];
        tree.get(part).fault(fault.getMessage());
    }

    private static RequestMatcher match(YamlTree tree) {
        Map<String, List<Glob>> conditions = new LinkedHashMap<>();
        tree.fields().forEach((field, values) -> {
            List<Glob> globs = new ArrayList<>();
            for (YamlTree value : values.itemsOrOne()) {
                globs.add(Objects.requireNonNullElse(value.read(Glob::new), HARMLESS_GLOB));
            }
            boolean readable = values.isScalar() || values.isList();
            if (readable && values.noting(() -> new RequestMatcher(Map.of(field, globs))) != null) {
                conditions.put(field, globs);
            }
        });
        return Objects.requireNonNullElse(tree.noting(() -> new RequestMatcher(conditions)), RequestMatcher.ALL);
    }

    /**
     * Reads the fields of a key.
     *
     * @param harmless the result if the key has a fault
     */
    static List<String> key(YamlTree tree, List<String> harmless) {
        List<String> key = new ArrayList<>();
        for (YamlTree field : tree.itemsOrOne()) {
            key.add(field.read(PolicyReader::requireField));
        }
        boolean readable = tree.isScalar() || tree.isList();
        return readable && !key.contains(null) ? key : harmless;
    }

    /** Returns how the policy's limits are shared, or null if they are not. */
    private static Sharing sharing(YamlTree tree, List<String> key) {
        boolean byClients = Boolean.TRUE.equals(tree.get("lease").oneOf(LEASE_IS_BY_CLIENTS));
        boolean waits = !Boolean.FALSE.equals(tree.get("when-empty").oneOf(WHEN_EMPTY_WAITS));
        if (key.contains("client") && !byClients) {
            for (String word : List.of("max-wait", "when-empty")) {
                if (tree.get(word).isPresent()) {
                    tree.get(word).fault("requires a key without client, or lease: client");
                }
            }
            return null;
        }
        YamlTree maxWait = tree.get("max-wait");
        if (!waits && maxWait.isPresent()) {
            maxWait.fault("requires when-empty: wait");
        }
        Long maxWaitMs = maxWait.read(DurationsAndSizes::durationMs);
        OptionalLong waitMs =
                !waits ? OptionalLong.of(0) : maxWaitMs == null ? OptionalLong.empty() : OptionalLong.of(maxWaitMs);
        return Objects.requireNonNullElse(maxWait.noting(() -> new Sharing(waitMs, byClients)), Sharing.DEFAULT);
    }

    static String requireField(String name) {
        if (name.isEmpty()) {
            throw new IllegalArgumentException("must be the name of a field, is ''");
        }
        return RequestMatcher.requireField(name);
    }

    private static List<Policy.Term> terms(YamlTree tree, String word) {
        YamlTree allowOverride = tree.get("allow-override");
        boolean isOverridable = Boolean.TRUE.equals(allowOverride.flag());
        if (SHAPE.equals(word) && !tree.get("limits").isPresent()) {
            if (isOverridable) {
                allowOverride.fault("requires limits");
            }
            return List.of();
        }
        YamlTree limits = tree.get("queue").isPresent() ? tree.get("limits") : tree.require("limits");
        List<Policy.Term> terms = new ArrayList<>();
        for (YamlTree limit : limits.items()) {
            Policy.Term term = LimitReader.read(limit);
            terms.add(Objects.requireNonNullElse(isOverridable ? overridable(term, limit) : term, HARMLESS_TERM));
        }
        if (limits.isList() && terms.isEmpty()) {
            limits.fault("must be 1 to " + Policy.MAX_LIMITS + ", are 0");
        }
        return terms.isEmpty() ? List.of(HARMLESS_TERM) : withMaxDebt(terms, tree.get("max-debt"));
    }

    /** Returns a limit that requests can override, or null if it has a fault. */
    private static Policy.Term overridable(Policy.Term term, YamlTree tree) {
        return term == null
                ? null
                : tree.noting(() -> new Policy.Term(term.label(), term.limit(), term.maxDebt(), true));
    }

    private static List<Policy.Term> withMaxDebt(List<Policy.Term> terms, YamlTree tree) {
        Long maxDebt = tree.wholeNumber(0, Limit.MAX_CAPACITY);
        if (maxDebt == null) {
            return terms;
        }
        if (terms.stream().allMatch(term -> term.limit() instanceof Concurrency)) {
            tree.fault(
                    "does not apply to concurrency: a SETTLE takes no slots; add a limit of another algorithm to bound"
                            + " its debt");
            return terms;
        }
        List<Policy.Term> bounded = tree.noting(
                () -> terms.stream().map(term -> withMaxDebt(term, maxDebt)).toList());
        return bounded == null ? terms : bounded;
    }

    private static Policy.Term withMaxDebt(Policy.Term term, long maxDebt) {
        return term.limit() instanceof Concurrency
                ? term
                : new Policy.Term(term.label(), term.limit(), maxDebt, term.allowsOverride());
    }

    /**
     * Returns the value of {@code on-exceed}. If there is none, a policy with a queue and without limits shapes
     * everything. Returns null if the value has a fault.
     */
    private static String word(YamlTree tree) {
        YamlTree written = tree.get("on-exceed");
        if (!written.isPresent()) {
            boolean shapesAll =
                    tree.get("queue").isPresent() && !tree.get("limits").isPresent();
            return shapesAll ? SHAPE : DENY;
        }
        return written.oneOf(ON_EXCEED);
    }

    /** Returns what happens to requests beyond the limits, or null if it has a fault. */
    private static OnExceed onExceed(YamlTree tree, String word) {
        OF.keySet().stream().sorted().forEach(key -> {
            if (word != null && tree.get(key).isPresent() && !OF.get(key).equals(word)) {
                tree.get(key).fault("requires on-exceed: " + OF.get(key));
            }
        });
        Long status = tree.get("deny-status").oneOf(STATUSES);
        String queue = (SHAPE.equals(word) ? tree.require("queue") : tree.get("queue"))
                .read(name -> Policy.requireName("queue", name));
        YamlTree delay = THROTTLE.equals(word) ? tree.require("max-delay") : tree.get("max-delay");
        Long maxDelayMs = delay.read(DurationsAndSizes::durationMs);
        if (word == null) {
            return null;
        }
        return switch (word) {
            case SHADOW_BAN -> OnExceed.SHADOW_BAN;
            case OBSERVE -> OnExceed.OBSERVE;
            case THROTTLE -> maxDelayMs == null ? null : delay.noting(() -> new OnExceed.Throttle(maxDelayMs));
            case SHAPE -> new OnExceed.Shape(Objects.requireNonNullElse(queue, HARMLESS_QUEUE));
            default -> status == null ? OnExceed.DENY : new OnExceed.Deny(status.intValue());
        };
    }

    private static long instantMs(String text) {
        try {
            return OffsetDateTime.parse(text).toInstant().toEpochMilli();
        } catch (ArithmeticException e) {
            throw new IllegalArgumentException("must be 1970 to 9999, is '" + text + "'", e);
        } catch (DateTimeParseException e) {
            throw new IllegalArgumentException(
                    "must be a date and time with a UTC offset such as 2026-12-01T00:00:00Z, is '" + text + "'", e);
        }
    }
}
