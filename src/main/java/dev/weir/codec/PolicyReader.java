package dev.weir.codec;

import dev.weir.limit.Unlimited;
import dev.weir.policy.Glob;
import dev.weir.policy.Match;
import dev.weir.policy.OnExceed;
import dev.weir.policy.Policy;
import dev.weir.policy.Quantities;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;

/** Reads one policy. Something harmless stands in for what is at fault, so that the rest is checked as well. */
final class PolicyReader {

    static final List<String> KEYS =
            List.of("id", "layer", "priority", "match", "key", "limits", "max-size", "on-exceed", "queue");

    private static final Map<String, String> NOT_YET = Map.of(
            "max-delay", "throttling",
            "idempotency", "idempotency",
            "effective-from", "a later start",
            "timezone", "a calendar window");

    private static final Map<String, OnExceed> ON_EXCEED = new LinkedHashMap<>();
    private static final Map<String, String> ON_EXCEED_NOT_YET = Map.of("throttle", "throttling");

    static {
        ON_EXCEED.put("deny", OnExceed.DENY);
        ON_EXCEED.put("shadow-ban", OnExceed.SHADOW_BAN);
        ON_EXCEED.put("observe", OnExceed.OBSERVE);
        ON_EXCEED.put("shape", OnExceed.SHAPE);
    }

    private static final List<String> HARMLESS_KEY = List.of("client");
    private static final Policy.Term HARMLESS_TERM = new Policy.Term("unlimited", new Unlimited());
    private static final String HARMLESS_QUEUE = "unnamed";
    private static final Glob HARMLESS_GLOB = new Glob("**");

    private PolicyReader() {}

    /** The policy; not to be used if anything was noted. */
    static Policy read(YamlTree tree, long version) {
        NotYet.requireKnown(tree, KEYS, NOT_YET);
        String id = tree.require("id").read(name -> Policy.requireName("id", name));
        String layer = tree.get("layer").read(name -> Policy.requireName("layer", name));
        Long priority = tree.get("priority").wholeNumber(Integer.MIN_VALUE, Integer.MAX_VALUE);
        Match match = match(tree.get("match"));
        List<String> key = key(tree.get("key"));
        OnExceed onExceed = onExceed(tree);
        List<Policy.Term> terms = terms(tree, onExceed);
        Long maxSizeBytes = tree.get("max-size").read(Quantities::sizeBytes);
        String queue = queue(tree, onExceed);
        boolean shapes = onExceed == OnExceed.SHAPE;
        try {
            return new Policy(
                    Objects.requireNonNullElse(id, "unnamed"),
                    version,
                    Objects.requireNonNullElse(layer, Policy.DEFAULT_LAYER),
                    priority == null ? 0 : priority.intValue(),
                    match,
                    key,
                    terms,
                    maxSizeBytes,
                    Objects.requireNonNullElse(onExceed, OnExceed.DENY),
                    shapes ? Objects.requireNonNullElse(queue, HARMLESS_QUEUE) : null);
        } catch (IllegalArgumentException e) {
            String part = e.getMessage().split(" ", 2)[0];
            tree.get(part).fault(e.getMessage());
            return null;
        }
    }

    private static Match match(YamlTree tree) {
        Map<String, List<Glob>> conditions = new LinkedHashMap<>();
        tree.fields().forEach((field, values) -> {
            List<Glob> globs = new ArrayList<>();
            for (YamlTree value : values.itemsOrOne()) {
                globs.add(Objects.requireNonNullElse(value.read(Glob::new), HARMLESS_GLOB));
            }
            boolean readable = values.isScalar() || values.isList();
            if (readable && values.noting(() -> new Match(Map.of(field, globs))) != null) {
                conditions.put(field, globs);
            }
        });
        return Objects.requireNonNullElse(tree.noting(() -> new Match(conditions)), Match.ALL);
    }

    private static List<String> key(YamlTree tree) {
        List<String> key = new ArrayList<>();
        for (YamlTree field : tree.itemsOrOne()) {
            key.add(field.read(PolicyReader::requireField));
        }
        boolean readable = tree.isScalar() || tree.isList();
        return readable && !key.contains(null) ? key : HARMLESS_KEY;
    }

    private static String requireField(String name) {
        if (name.isEmpty()) {
            throw new IllegalArgumentException("must be the name of a field, is ''");
        }
        return name;
    }

    private static List<Policy.Term> terms(YamlTree tree, OnExceed onExceed) {
        if (onExceed == OnExceed.SHAPE && !tree.get("limits").isThere()) {
            return List.of();
        }
        YamlTree limits = tree.get("queue").isThere() ? tree.get("limits") : tree.require("limits");
        List<Policy.Term> terms = new ArrayList<>();
        for (YamlTree limit : limits.items()) {
            terms.add(Objects.requireNonNullElse(LimitReader.read(limit), HARMLESS_TERM));
        }
        if (limits.isList() && terms.isEmpty()) {
            limits.fault("must be 1 to " + Policy.MAX_LIMITS + ", are 0");
        }
        return terms.isEmpty() ? List.of(HARMLESS_TERM) : terms;
    }

    /** What is written; if nothing is, a queue without limits shapes everything. Null if it cannot be read. */
    private static OnExceed onExceed(YamlTree tree) {
        YamlTree written = tree.get("on-exceed");
        if (!written.isThere()) {
            boolean shapesAll =
                    tree.get("queue").isThere() && !tree.get("limits").isThere();
            return shapesAll ? OnExceed.SHAPE : OnExceed.DENY;
        }
        String notYet = written.isScalar() ? ON_EXCEED_NOT_YET.get(written.text()) : null;
        if (notYet != null) {
            NotYet.fault(written, notYet);
            return null;
        }
        return written.oneOf(ON_EXCEED);
    }

    private static String queue(YamlTree tree, OnExceed onExceed) {
        YamlTree queue = onExceed == OnExceed.SHAPE ? tree.require("queue") : tree.get("queue");
        if (queue.isThere() && onExceed != null && onExceed != OnExceed.SHAPE) {
            queue.fault("needs on-exceed: shape");
        }
        return queue.read(name -> Policy.requireName("queue", name));
    }
}
