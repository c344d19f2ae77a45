package dev.weir.definition;

import dev.weir.fault.Faults;
import dev.weir.fault.FaultsException;
import dev.weir.fault.Spelling;
import dev.weir.policy.Policy;
import dev.weir.policy.PolicyTable;
import dev.weir.policy.ThrottleConflict;
import dev.weir.shape.rules.QueueRules;
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
 * The reader of policy files: YAML or JSON with policies and queues, as {@code policies.schema.json} describes it.
 * Exceptions contain all faults of a file, each with its line and path.
 */
public final class PolicyFile {

    /** The maximum number of policies in a file. */
    public static final int MAX_POLICIES = 100_000;

    /** The maximum number of queues in a file. */
    public static final int MAX_QUEUES = 10_000;

    /**
     * The maximum length of a {@link Definition#json}, in bytes of UTF-8. It ensures that a definition fits in
     * a record.
     */
    public static final int MAX_JSON_BYTES = 512 << 10;

    static final List<String> KEYS = List.of("policies", "queues");

    private PolicyFile() {}

    /** A policy or queue of a file. */
    public sealed interface Definition {

        /**
         * Returns whether it is a policy or a queue.
         *
         * @return the kind
         */
        PolicyAvro.Kind kind();

        /**
         * Returns its id.
         *
         * @return the id
         */
        String id();

        /**
         * Returns the definition as JSON, which {@link #parse} and {@link #parseQueue} read. It is compact, with the
         * keys in the order of the file. Numbers and booleans are JSON numbers and booleans; names, patterns,
         * durations, and sizes with a unit are strings.
         *
         * @return a JSON object
         */
        String json();

        /**
         * A policy of a file.
         *
         * @param policy the policy, with version 1
         * @param json the policy as JSON
         */
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

        /**
         * A queue of a file.
         *
         * @param queue the queue, with version 1
         * @param json the queue as JSON
         */
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
     * The policies and queues of a file, in its order.
     *
     * @param policies the policies, with distinct ids
     * @param queues the queues, with distinct ids; a queue and a policy can have the same id
     */
    public record Contents(List<Definition.PolicyDefinition> policies, List<Definition.QueueDefinition> queues) {

        /** No policies and no queues. */
        public static final Contents NONE = new Contents(List.of(), List.of());

        /**
         * Copies the lists.
         *
         * @param policies the policies, with distinct ids
         * @param queues the queues, with distinct ids; a queue and a policy can have the same id
         */
        public Contents {
            policies = List.copyOf(policies);
            queues = List.copyOf(queues);
        }

        /**
         * Returns the table by which requests are matched with these policies.
         *
         * @return a table of the policies
         */
        public PolicyTable table() {
            return PolicyTable.of(
                    policies.stream().map(Definition.PolicyDefinition::policy).toList());
        }

        /**
         * Returns the queues by id.
         *
         * @return the queues
         */
        public Map<String, QueueRules> queueRules() {
            return queues.stream()
                    .collect(Collectors.toMap(Definition.QueueDefinition::id, Definition.QueueDefinition::queue));
        }

        /**
         * Returns whether there are no policies and no queues.
         *
         * @return whether both lists are empty
         */
        public boolean isEmpty() {
            return policies.isEmpty() && queues.isEmpty();
        }
    }

    /**
     * Reads a file whose policies refer only to queues of the same file.
     *
     * @param file the file, in UTF-8
     * @return its policies and queues; none if the file is empty
     * @throws IOException if the file cannot be read
     * @throws FaultsException if the file is invalid, with all its faults
     */
    public static Contents read(Path file) throws IOException, FaultsException {
        return read(file, Set::of);
    }

    /**
     * Reads a file whose policies can also refer to queues that exist elsewhere.
     *
     * @param file the file, in UTF-8
     * @param existingQueues returns the ids of these queues; called only if a policy refers to a queue that the file
     *     does not define
     * @return its policies and queues; none if the file is empty
     * @throws IOException if the file cannot be read
     * @throws FaultsException if the file is invalid, with all its faults
     */
    public static Contents read(Path file, Supplier<Set<String>> existingQueues) throws IOException, FaultsException {
        Faults faults = new Faults(file.toString());
        return read(YamlTree.read(file, faults), existingQueues, faults);
    }

    /**
     * Parses the text of a file whose policies refer only to queues of the same file.
     *
     * @param fileName the name of the file in faults
     * @param text the text of the file
     * @return its policies and queues; none if the text is empty
     * @throws FaultsException if the text is invalid, with all its faults
     */
    public static Contents read(String fileName, String text) throws FaultsException {
        return read(fileName, text, Set::of);
    }

    /**
     * Parses the text of a file whose policies can also refer to queues that exist elsewhere.
     *
     * @param fileName the name of the file in faults
     * @param text the text of the file
     * @param existingQueues returns the ids of these queues; called only if a policy refers to a queue that the file
     *     does not define
     * @return its policies and queues; none if the text is empty
     * @throws FaultsException if the text is invalid, with all its faults
     */
    public static Contents read(String fileName, String text, Supplier<Set<String>> existingQueues)
            throws FaultsException {
        Faults faults = new Faults(fileName);
        return read(YamlTree.read(text, faults), existingQueues, faults);
    }

    /**
     * Parses a single policy or queue, in the form that it has in a file.
     *
     * @param kind whether it is a policy or a queue
     * @param id its id; the text can omit it, but not have another one
     * @param place the source of the text in faults
     * @param text YAML or JSON
     * @param existingQueues returns the ids of the queues to which a policy can refer; called only if it refers to one
     * @return the policy or queue
     * @throws FaultsException if the text is invalid, with all its faults
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
            written.fault("must be '" + id + "' or left out, is '" + written.text() + "'");
        }
    }

    /**
     * Parses the JSON of a policy. Its queue need not exist.
     *
     * @param place the source of the JSON in faults
     * @param json the JSON, from {@link Definition#json}
     * @param version the version of the policy
     * @return the policy
     * @throws FaultsException if the JSON is invalid, with all its faults
     */
    public static Policy parse(String place, String json, long version) throws FaultsException {
        Faults faults = new Faults(place);
        Policy policy = PolicyReader.read(YamlTree.read(json, faults), version);
        faults.throwIfAny();
        return policy;
    }

    /**
     * Parses the JSON of a queue.
     *
     * @param place the source of the JSON in faults
     * @param json the JSON, from {@link Definition#json}
     * @param version the version of the queue
     * @return the queue
     * @throws FaultsException if the JSON is invalid, with all its faults
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
            list.fault("must have at most " + most + " " + what + ", has " + items.size());
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
                id.fault("'" + id.text() + "' is already the id of the " + what + " on line " + first.line());
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
                queue.fault("queue '" + queue.text() + "' is not defined"
                        + (nearest == null ? "" : "; did you mean \"" + nearest + "\"?"));
            }
        }
    }

    private static void requireNoConflicts(List<YamlTree> trees, List<Policy> policies) {
        IdentityHashMap<Policy, YamlTree> places = new IdentityHashMap<>();
        List<ThrottleConflict.InForce> inForce = new ArrayList<>();
        for (int i = 0; i < policies.size(); i++) {
            if (policies.get(i) != null) {
                places.put(policies.get(i), trees.get(i));
                inForce.add(new ThrottleConflict.InForce(
                        policies.get(i), policies.get(i).effectiveUntilMs()));
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
            tree.fault("is too large: " + bytes + " bytes as JSON; the maximum is " + MAX_JSON_BYTES);
        }
        return json;
    }
}
