package dev.weir.definition;

import dev.weir.fault.Faults;
import dev.weir.fault.FaultsException;
import dev.weir.fault.Spelling;
import dev.weir.policy.Policy;
import dev.weir.policy.PolicyTable;
import dev.weir.policy.ThrottleConflict;
import dev.weir.shape.backlog.QueueRules;
import dev.weir.wire.PolicyAvro;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Supplier;
import java.util.stream.Collectors;

/**
 * Reads policies and queues as people write them: files of YAML or JSON, of which {@code policies.schema.json} is the
 * schema.
 */
public final class PolicyFile {

    /** The most policies of one file. */
    public static final int MAX_POLICIES = 100_000;

    /** The most queues of one file. */
    public static final int MAX_QUEUES = 10_000;

    /** The longest {@link Definition#json}, in bytes of UTF-8: so that it fits in a record. */
    public static final int MAX_JSON_BYTES = 512 << 10;

    static final List<String> KEYS = List.of("policies", "queues");

    private PolicyFile() {}

    /** One policy or queue of a file. */
    public sealed interface Definition {

        PolicyAvro.Kind kind();

        String id();

        /**
         * What was written, as {@link #parse} and {@link #parseQueue} read it: compact, keys in the order written,
         * numbers and booleans as such, names, patterns, durations and sizes with a unit as strings.
         */
        String json();

        /** @param policy of version 1 */
        record PolicyDefinition(Policy policy, String json) implements Definition {
            @Override
            public PolicyAvro.Kind kind() {
                return PolicyAvro.Kind.POLICY;
            }

            @Override
            public String id() {
                return policy.id();
            }
        }

        /** @param queue of version 1 */
        record QueueDefinition(QueueRules queue, String json) implements Definition {
            @Override
            public PolicyAvro.Kind kind() {
                return PolicyAvro.Kind.QUEUE;
            }

            @Override
            public String id() {
                return queue.id();
            }
        }
    }

    /**
     * What a file defines, in the order written.
     *
     * @param policies ids differ
     * @param queues ids differ; a policy may have the id of a queue
     */
    public record Contents(List<Definition.PolicyDefinition> policies, List<Definition.QueueDefinition> queues) {

        public static final Contents NONE = new Contents(List.of(), List.of());

        public Contents {
            policies = List.copyOf(policies);
            queues = List.copyOf(queues);
        }

        /** The policies by which requests are decided. */
        public PolicyTable table() {
            return new PolicyTable(
                    policies.stream().map(Definition.PolicyDefinition::policy).toList());
        }

        /** The queues by id. */
        public Map<String, QueueRules> queueRules() {
            return queues.stream()
                    .collect(Collectors.toMap(Definition.QueueDefinition::id, Definition.QueueDefinition::queue));
        }

        public boolean isEmpty() {
            return policies.isEmpty() && queues.isEmpty();
        }
    }

    /**
     * As {@link #read(String, String)}, from a file.
     *
     * @throws IOException if the file cannot be read
     */
    public static Contents read(Path file) throws IOException, FaultsException {
        return read(file, Set::of);
    }

    /**
     * As {@link #read(Path)}, where policies may name queues that exist elsewhere too.
     *
     * @param existingQueues their ids; asked only if a policy names a queue that the file does not define
     */
    public static Contents read(Path file, Supplier<Set<String>> existingQueues) throws IOException, FaultsException {
        Faults faults = new Faults(file.toString());
        return read(YamlTree.read(file, faults), existingQueues, faults);
    }

    /**
     * The policies and queues of a file; none if it is empty. Policies name queues of the same file.
     *
     * @param fileName for the faults
     * @throws FaultsException with everything that is wrong
     */
    public static Contents read(String fileName, String text) throws FaultsException {
        return read(fileName, text, Set::of);
    }

    /**
     * As {@link #read(String, String)}, where policies may name queues that exist elsewhere too.
     *
     * @param existingQueues their ids; asked only if a policy names a queue that the file does not define
     */
    public static Contents read(String fileName, String text, Supplier<Set<String>> existingQueues)
            throws FaultsException {
        Faults faults = new Faults(fileName);
        return read(YamlTree.read(text, faults), existingQueues, faults);
    }

    /**
     * One policy or queue by itself, as it is written in a file.
     *
     * @param id what it is called; the text may leave it out, but not say otherwise
     * @param existingQueues the queues that a policy may name; asked only if it names one
     * @throws FaultsException with everything that is wrong
     */
    public static Contents readOne(
            PolicyAvro.Kind kind, String id, String place, String text, Supplier<Set<String>> existingQueues)
            throws FaultsException {
        Faults faults = new Faults(place);
        YamlTree tree = YamlTree.read(text, faults);
        name(tree, id);
        if (kind == PolicyAvro.Kind.POLICY) {
            Policy policy = PolicyReader.read(tree, 1);
            requireDefined(List.of(tree), List.of(), existingQueues, faults);
            faults.throwIfAny();
            Contents contents = new Contents(List.of(new Definition.PolicyDefinition(policy, json(tree))), List.of());
            faults.throwIfAny();
            return contents;
        }
        QueueRules queue = QueueReader.read(tree, 1);
        faults.throwIfAny();
        Contents contents = new Contents(List.of(), List.of(new Definition.QueueDefinition(queue, json(tree))));
        faults.throwIfAny();
        return contents;
    }

    private static void name(YamlTree tree, String id) {
        if (tree.kind() != YamlTree.Kind.MAPPING) {
            return;
        }
        YamlTree written = tree.get("id");
        if (!written.isPresent()) {
            tree.putFirst("id", id);
        } else if (written.isScalar() && !written.text().equals(id)) {
            written.fault("must be '" + id + "', which it is asked for by, is '" + written.text() + "'");
        }
    }

    /**
     * One policy from its {@link Definition#json}; its queue need not exist.
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

    /**
     * One queue from its {@link Definition#json}.
     *
     * @param place where it is from, for the faults
     * @throws FaultsException with everything that is wrong
     */
    public static QueueRules parseQueue(String place, String json, long version) throws FaultsException {
        Faults faults = new Faults(place);
        QueueRules queue = QueueReader.read(YamlTree.read(json, faults), version);
        faults.throwIfAny();
        return queue;
    }

    private static Contents read(YamlTree file, Supplier<Set<String>> existingQueues, Faults faults)
            throws FaultsException {
        if (file.isEmpty()) {
            return Contents.NONE;
        }
        file.fields(KEYS);
        YamlTree queueList = file.get("queues");
        List<YamlTree> policyTrees = items(file.get("policies"), "policies", MAX_POLICIES);
        List<YamlTree> queueTrees = items(queueList, "queues", MAX_QUEUES);
        List<Policy> policies = new ArrayList<>(policyTrees.size());
        policyTrees.forEach(tree -> policies.add(PolicyReader.read(tree, 1)));
        requireDifferentIds(policyTrees, "policy");
        List<QueueRules> queues = new ArrayList<>(queueTrees.size());
        queueTrees.forEach(tree -> queues.add(QueueReader.read(tree, 1)));
        requireDifferentIds(queueTrees, "queue");
        boolean queuesReadable = queueList.isList() || queueList.isEmpty() || !queueList.isPresent();
        requireNoConflicts(policyTrees, policies);
        if (queuesReadable) {
            requireDefined(policyTrees, queueList.isList() ? queueList.items() : List.of(), existingQueues, faults);
        }
        faults.throwIfAny();

        List<Definition.PolicyDefinition> policyDefinitions = new ArrayList<>(policies.size());
        for (int i = 0; i < policies.size(); i++) {
            policyDefinitions.add(new Definition.PolicyDefinition(policies.get(i), json(policyTrees.get(i))));
        }
        List<Definition.QueueDefinition> queueDefinitions = new ArrayList<>(queues.size());
        for (int i = 0; i < queues.size(); i++) {
            queueDefinitions.add(new Definition.QueueDefinition(queues.get(i), json(queueTrees.get(i))));
        }
        faults.throwIfAny();
        return new Contents(policyDefinitions, queueDefinitions);
    }

    private static List<YamlTree> items(YamlTree list, String what, int most) {
        List<YamlTree> items = list.isEmpty() ? List.of() : list.items();
        if (items.size() > most) {
            list.fault("must be at most " + most + " " + what + ", are " + items.size());
            return List.of();
        }
        return items;
    }

    private static void requireDifferentIds(List<YamlTree> trees, String what) {
        Map<String, YamlTree> ids = new HashMap<>();
        for (YamlTree tree : trees) {
            YamlTree id = tree.get("id");
            YamlTree first = id.isScalar() ? ids.putIfAbsent(id.text(), id) : null;
            if (first != null) {
                id.fault("'" + id.text() + "' is the id of the " + what + " on line " + first.line() + " already");
            }
        }
    }

    private static void requireDefined(
            List<YamlTree> policies, List<YamlTree> queues, Supplier<Set<String>> existingQueues, Faults faults) {
        Set<String> defined = new LinkedHashSet<>();
        queues.stream().map(queue -> queue.get("id")).filter(YamlTree::isScalar).forEach(id -> defined.add(id.text()));
        List<YamlTree> others = policies.stream()
                .map(policy -> policy.get("queue"))
                .filter(queue -> queue.isScalar() && Policy.isName(queue.text()) && !defined.contains(queue.text()))
                .toList();
        if (others.isEmpty()) {
            return;
        }
        defined.addAll(existingQueues.get());
        for (YamlTree queue : others) {
            if (!defined.contains(queue.text())) {
                String nearest = faults.isFull() ? null : Spelling.nearest(queue.text(), defined);
                queue.fault("no queue '" + queue.text() + "' is defined"
                        + (nearest == null ? "" : ", did you mean " + nearest + "?"));
            }
        }
    }

    private static void requireNoConflicts(List<YamlTree> trees, List<Policy> policies) {
        IdentityHashMap<Policy, YamlTree> places = new IdentityHashMap<>();
        List<ThrottleConflict.InForce> inForce = new ArrayList<>();
        for (int i = 0; i < policies.size(); i++) {
            if (policies.get(i) != null) {
                places.put(policies.get(i), trees.get(i));
                inForce.add(new ThrottleConflict.InForce(policies.get(i), Long.MAX_VALUE));
            }
        }
        for (ThrottleConflict conflict : ThrottleConflict.of(inForce)) {
            places.get(conflict.throttling()).get("on-exceed").fault(conflict.message());
        }
    }

    private static String json(YamlTree tree) {
        String json = PolicyJson.of(tree);
        int bytes = json.getBytes(StandardCharsets.UTF_8).length;
        if (bytes > MAX_JSON_BYTES) {
            tree.fault("is too large: " + bytes + " bytes as JSON, the most is " + MAX_JSON_BYTES);
        }
        return json;
    }
}
