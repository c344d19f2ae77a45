package dev.weir.cli.policy;

import dev.weir.cli.option.AuthorOptions;
import dev.weir.cli.option.KindOption;
import dev.weir.cli.output.PolicyChangePrinter;
import dev.weir.console.ClusterOptions;
import dev.weir.definition.PolicyFile;
import dev.weir.fault.FaultsException;
import dev.weir.rules.PolicyTopic;
import dev.weir.wire.ChangeAuthor;
import dev.weir.wire.PolicyAvro;
import java.io.PrintWriter;
import java.util.Optional;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

@Command(
        name = "restore",
        mixinStandardHelpOptions = true,
        description = {
            "Applies an earlier version of a policy or queue again, also if it was deleted since.",
            "The history has the last 100 versions of each: weir policies history ID. The restored definition gets the"
                    + " next version number, and the reason \"Restore version VERSION\" if no other is given."
        },
        footer = {
            "",
            "Examples:",
            "  weir policies restore free-articles 3 --dry-run",
            "  weir policies restore --queue sms 12 --reason \"back to the rate of Monday\""
        })
final class RestorePolicyCommand implements Callable<Integer> {

    @Mixin
    private ClusterOptions cluster;

    @Mixin
    private AuthorOptions author;

    @Mixin
    private KindOption kind;

    @Option(names = "--dry-run", description = "Print the changes without writing them.")
    private boolean dryRun;

    @Parameters(index = "0", paramLabel = "ID", description = "The id of the policy or queue.")
    private String id;

    @Parameters(index = "1", paramLabel = "VERSION", description = "The version to restore.")
    private long version;

    @Spec
    private CommandSpec spec;

    @Override
    public Integer call() throws FaultsException {
        PolicyTopic topic = new PolicyTopic(cluster.connect());
        PolicyAvro.Applied past = GetPoliciesCommand.past(topic, kind, id, version);
        PolicyFile.Contents contents = PolicyFile.readOne(
                kind.kind(),
                id,
                "version " + version + " of " + kind.kind().word() + " " + id,
                past.definition(),
                topic::queues);
        ChangeAuthor given = author.changedBy();
        ChangeAuthor changedBy =
                new ChangeAuthor(given.author(), given.reason().or(() -> Optional.of("Restore version " + version)));
        PolicyTopic.Options options =
                PolicyTopic.Options.DEFAULTS.withDryRun(dryRun).withChangedBy(changedBy);
        PrintWriter out = spec.commandLine().getOut();
        PolicyChangePrinter.print(out, topic.apply(contents, options, System.currentTimeMillis()));
        if (dryRun) {
            out.println(PolicyChangePrinter.DRY_RUN);
        }
        return 0;
    }
}
