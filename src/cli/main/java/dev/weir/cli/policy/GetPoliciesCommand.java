package dev.weir.cli.policy;

import dev.weir.cli.option.DefinitionOutput;
import dev.weir.cli.option.KindOption;
import dev.weir.console.ClusterOptions;
import dev.weir.console.InputException;
import dev.weir.fault.FaultsException;
import dev.weir.rules.PolicyTopic;
import dev.weir.wire.PolicyAvro;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

@Command(
        name = "get",
        mixinStandardHelpOptions = true,
        description = {
            "Prints policies or queues as a policy file, which can be changed and applied again.",
            "Prints the newest version of each, also if it takes effect later."
        },
        footer = {
            "",
            "Examples:",
            "  weir policies get free-articles > rules.yaml",
            "  weir policies get free-articles --at-version 3",
            "  weir policies get --queue sms -o json"
        })
final class GetPoliciesCommand implements Callable<Integer> {

    @Mixin
    private ClusterOptions cluster;

    @Mixin
    private KindOption kind;

    @Option(
            names = "--at-version",
            paramLabel = "VERSION",
            description = "Print this version of the history instead of the newest. Needs a single ID.")
    private Long version;

    @Parameters(paramLabel = "ID", arity = "1..*", description = "The ids of the policies or queues.")
    private List<String> ids;

    @Mixin
    private DefinitionOutput output;

    @Spec
    private CommandSpec spec;

    @Override
    public Integer call() throws FaultsException {
        if (version != null && ids.size() > 1) {
            throw new ParameterException(spec.commandLine(), "--at-version needs a single ID");
        }
        PolicyTopic topic = new PolicyTopic(cluster.connect());
        return output.print(version == null ? newest(topic) : List.of(past(topic, kind, ids.get(0), version)));
    }

    private List<PolicyAvro.Applied> newest(PolicyTopic topic) {
        Map<String, PolicyAvro.Applied> byId = new LinkedHashMap<>();
        topic.read().stream().filter(one -> one.kind() == kind.kind()).forEach(one -> byId.put(one.id(), one));
        List<PolicyAvro.Applied> found = new ArrayList<>();
        for (String id : ids) {
            PolicyAvro.Applied one = byId.remove(id);
            if (one != null) {
                found.add(one);
            } else if (found.stream().noneMatch(before -> before.id().equals(id))) {
                throw new InputException(
                        "no " + kind.kind().word() + " " + id
                                + " is in force; see its versions with: weir policies history" + kind.suggested() + " "
                                + id,
                        null);
            }
        }
        return found;
    }

    /**
     * Returns a version of the history that is not a deletion.
     *
     * @throws InputException if there is no such version
     */
    static PolicyAvro.Applied past(PolicyTopic topic, KindOption kind, String id, long version) {
        String word = kind.kind().word();
        List<PolicyAvro.Applied> versions = topic.history(kind.kind(), id);
        if (versions.isEmpty()) {
            throw new InputException("no " + word + " " + id, null);
        }
        PolicyAvro.Applied found = versions.stream()
                .filter(one -> one.version() == version)
                .findFirst()
                .orElseThrow(() -> new InputException(
                        "version " + version + " of " + word + " " + id + " is not in the history, which has "
                                + range(versions),
                        null));
        if (found.isDeleted()) {
            throw new InputException(
                    "version " + version + " is the deletion of " + word + " " + id
                            + "; see the other versions with: weir policies history" + kind.suggested() + " " + id,
                    null);
        }
        return found;
    }

    private static String range(List<PolicyAvro.Applied> newestFirst) {
        long last = newestFirst.get(0).version();
        long first = newestFirst.get(newestFirst.size() - 1).version();
        return first == last ? "only version " + last : "versions " + first + " to " + last;
    }
}
