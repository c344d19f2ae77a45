package dev.weir.codec;

import dev.weir.policy.Policy;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** Reads policies as people write them: files of YAML or JSON, of which {@code policies.schema.json} is the schema. */
public final class PolicyFile {

    /** The most policies of one file. */
    public static final int MAX_POLICIES = 100_000;

    /** The longest {@link Definition#json}, in bytes of UTF-8: so that it fits in a record. */
    public static final int MAX_JSON_BYTES = 512 << 10;

    static final List<String> KEYS = List.of("policies");
    private static final Map<String, String> NOT_YET = Map.of("queues", "shaping");

    private PolicyFile() {}

    /**
     * One policy of a file.
     *
     * @param policy of version 1
     * @param json what was written, as {@link #parse} reads it: compact, keys in the order written, numbers and booleans
     *     as such, names and patterns as strings
     */
    public record Definition(String id, Policy policy, String json) {}

    /**
     * As {@link #read(String, String)}, from a file.
     *
     * @throws IOException if the file cannot be read
     */
    public static List<Definition> read(Path file) throws IOException, FaultsException {
        Faults faults = new Faults(file.toString());
        return read(YamlTree.read(file, faults), faults);
    }

    /**
     * The policies of a file, in the order written; none if it is empty.
     *
     * @param fileName for the faults
     * @throws FaultsException with everything that is wrong
     */
    public static List<Definition> read(String fileName, String text) throws FaultsException {
        Faults faults = new Faults(fileName);
        return read(YamlTree.read(text, faults), faults);
    }

    /**
     * One policy from its {@link Definition#json}.
     *
     * @param place where it is from, for the faults
     * @throws FaultsException with everything that is wrong
     */
    public static Policy parse(String place, String json, long version) throws FaultsException {
        Faults faults = new Faults(place);
        Policy policy = PolicyReader.read(YamlTree.read(json, faults), version);
        faults.throwIfAny();
        return policy;
    }

    private static List<Definition> read(YamlTree file, Faults faults) throws FaultsException {
        List<YamlTree> trees = policies(file);
        List<Policy> policies = new ArrayList<>(trees.size());
        Map<String, YamlTree> ids = new HashMap<>();
        for (YamlTree tree : trees) {
            policies.add(PolicyReader.read(tree, 1));
            requireNew(tree.get("id"), ids);
        }
        faults.throwIfAny();
        List<Definition> definitions = new ArrayList<>(trees.size());
        for (int i = 0; i < trees.size(); i++) {
            definitions.add(definition(policies.get(i), trees.get(i)));
        }
        faults.throwIfAny();
        return definitions;
    }

    private static List<YamlTree> policies(YamlTree file) {
        if (file.isEmpty()) {
            return List.of();
        }
        NotYet.requireKnown(file, KEYS, NOT_YET);
        YamlTree list = file.get("policies");
        List<YamlTree> trees = list.isEmpty() ? List.of() : list.items();
        if (trees.size() > MAX_POLICIES) {
            list.fault("must be at most " + MAX_POLICIES + " policies, are " + trees.size());
            return List.of();
        }
        return trees;
    }

    private static void requireNew(YamlTree id, Map<String, YamlTree> ids) {
        YamlTree first = id.isScalar() ? ids.putIfAbsent(id.text(), id) : null;
        if (first != null) {
            id.fault("'" + id.text() + "' is the id of the policy on line " + first.line() + " already");
        }
    }

    private static Definition definition(Policy policy, YamlTree tree) {
        String json = PolicyJson.of(tree);
        int bytes = json.getBytes(StandardCharsets.UTF_8).length;
        if (bytes > MAX_JSON_BYTES) {
            tree.fault("is too large: " + bytes + " bytes as JSON, the most is " + MAX_JSON_BYTES);
        }
        return new Definition(policy.id(), policy, json);
    }
}
