package dev.weir.cli.policy;

import dev.weir.cli.option.DefinitionOutput;
import dev.weir.console.ClusterOptions;
import dev.weir.fault.FaultsException;
import dev.weir.rules.PolicyTopic;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;

@Command(
        name = "export",
        mixinStandardHelpOptions = true,
        description = {
            "Prints all policies and queues as a policy file, which can be applied again, also to another cluster.",
            "Prints the newest version of each, also if it takes effect later. Policies come first, and both are sorted"
                    + " by id."
        },
        footer = {"", "Example:", "  weir policies export > rules.yaml", "  weir policies apply --prune rules.yaml"})
final class ExportPoliciesCommand implements Callable<Integer> {

    @Mixin
    private ClusterOptions cluster;

    @Mixin
    private DefinitionOutput output;

    @Override
    public Integer call() throws FaultsException {
        return output.print(new PolicyTopic(cluster.connect()).read());
    }
}
