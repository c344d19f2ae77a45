package dev.weir.envoy;

import dev.weir.definition.PolicyFile;
import dev.weir.definition.YamlTree;
import dev.weir.envoy.EnvoyConfigReader.Replacement;
import dev.weir.fault.Fault;
import dev.weir.fault.Faults;
import dev.weir.fault.FaultsException;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * A converter of configuration files of envoyproxy/ratelimit to a policy file. The policies decide requests whose
 * attributes are the entries of a descriptor and its {@code domain}, and whose client depends only on these. Files with
 * the same domain are merged. Rules: {@code src/config/config_impl.go} of that project, commit f2fb157.
 */
public final class EnvoyImport {

    /**
     * How to convert.
     *
     * @param layer the layer of the policies
     * @param lease whether clients can hold leases of the policies
     * @param keysAttribute the attribute of requests with the keys of the descriptor, in order and separated by commas;
     *     empty if requests have none
     */
    public record Options(String layer, boolean lease, Optional<String> keysAttribute) {

        /** Policies of the layer {@code envoy} without leases, for requests without an attribute for keys. */
        public static final Options WITHOUT_KEYS = new Options("envoy", false, Optional.empty());
    }

    /**
     * The converted files.
     *
     * @param yaml the policy file
     * @param policies the number of policies
     * @param notConverted what was left out, or is decided in another way by Weir
     * @param ignored what has no effect on decisions
     */
    public record Result(String yaml, int policies, List<Fault> notConverted, List<Fault> ignored) {}

    private final Options options;
    private final List<String> files = new ArrayList<>();
    private final Map<String, EnvoyDescriptor> domains = new LinkedHashMap<>();
    private final List<Replacement> replacements = new ArrayList<>();
    private final List<Fault> different = new ArrayList<>();
    private final List<Fault> ignored = new ArrayList<>();

    /** Creates a converter without files. */
    public EnvoyImport(Options options) {
        this.options = options;
    }

    /**
     * Adds a file.
     *
     * @throws IOException if it cannot be read
     * @throws FaultsException if it is invalid, with all its faults. Then the converter cannot be used further
     */
    public void add(Path file) throws IOException, FaultsException {
        Faults faults = new Faults(file.toString());
        add(file.toString(), YamlTree.read(file, faults), faults);
    }

    /**
     * Adds the text of a file.
     *
     * @throws FaultsException if it is invalid, with all its faults. Then the converter cannot be used further
     */
    public void add(String file, String text) throws FaultsException {
        Faults faults = new Faults(file);
        add(file, YamlTree.read(text, faults), faults);
    }

    private void add(String file, YamlTree document, Faults faults) throws FaultsException {
        EnvoyConfigReader reader = new EnvoyConfigReader(file);
        reader.read(document, domains);
        faults.throwIfAny();
        files.add(file);
        replacements.addAll(reader.replacements());
        different.addAll(reader.different());
        ignored.addAll(reader.ignored());
    }

    /**
     * Converts the files that were added.
     *
     * @throws IllegalArgumentException if a policy file cannot have so many policies
     */
    public Result convert() {
        PolicyIds ids = new PolicyIds();
        List<ImportedPolicy> policies = new ArrayList<>();
        List<Fault> notConverted = new ArrayList<>();
        List<Fault> withoutEffect = new ArrayList<>(ignored);
        for (EnvoyDescriptor domain : domains.values()) {
            List<ImportedPolicy> ofDomain = new DomainPolicies(domain, options, ids, notConverted)
                    .convert(PolicyFile.MAX_POLICIES - policies.size());
            policies.addAll(ofDomain);
            checkReplacements(domain.key(), ofDomain, notConverted, withoutEffect);
        }
        notConverted.addAll(different);
        String yaml = new PolicyFileWriter(options).write(files, policies);
        return new Result(yaml, policies.size(), List.copyOf(notConverted), List.copyOf(withoutEffect));
    }

    /** Adds a fault for each limit that should replace another one of its domain. */
    private void checkReplacements(
            String domain, List<ImportedPolicy> policies, List<Fault> notConverted, List<Fault> withoutEffect) {
        Set<String> names =
                policies.stream().map(policy -> policy.limit().name()).collect(Collectors.toSet());
        for (Replacement replacement : replacements) {
            String name = replacement.name();
            if (!replacement.domain().equals(domain)) {
                continue;
            }
            if (names.contains(name)) {
                notConverted.add(replacement
                        .place()
                        .fault("is not converted: in Weir, the limit '" + name
                                + "' also applies to requests to which this one applies; remove its descriptor from"
                                + " Envoy's rate limit actions for them"));
            } else {
                withoutEffect.add(replacement
                        .place()
                        .fault("is ignored: no converted limit of this domain has the name '" + name + "'"));
            }
        }
    }
}
