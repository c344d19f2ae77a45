package dev.weir.cli.policy;

import dev.weir.console.InputException;
import dev.weir.console.UserFiles;
import dev.weir.envoy.EnvoyImport;
import dev.weir.fault.FaultsException;
import dev.weir.gateway.envoy.mapping.DescriptorMapping;
import dev.weir.policy.Policy;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

@Command(
        name = "import-envoy",
        mixinStandardHelpOptions = true,
        description = {
            "Converts the configuration of envoyproxy/ratelimit to a policy file.",
            "Files of the same domain are merged. Names on standard error what it cannot convert; then the exit code"
                    + " is 1."
        },
        footer = {
            "",
            "Example:",
            "  weir policies import-envoy config/*.yaml > rules.yaml",
            "  weir policies validate rules.yaml"
        })
final class ImportEnvoyCommand implements Callable<Integer> {

    private static final int DIFFERS = 1;
    private static final String NONE = "none";

    @Option(
            names = {"-o", "--output"},
            paramLabel = "FILE",
            defaultValue = "-",
            description = "The policy file to write; - is standard output (default).")
    private String output;

    @Option(
            names = "--layer",
            paramLabel = "LAYER",
            defaultValue = "envoy",
            description = "The layer of the policies (default: ${DEFAULT-VALUE}).")
    private String layer;

    @Option(names = "--lease", description = "Let clients and gateways hold leases (lease: client).")
    private boolean lease;

    @Option(
            names = "--keys-attribute",
            paramLabel = "NAME",
            defaultValue = DescriptorMapping.DEFAULT_KEYS_ATTRIBUTE,
            description = "Match only descriptors with exactly the keys of a rule: the attribute NAME of each request"
                    + " has the keys of its descriptor in order, separated by commas. `weir gateway` adds it. With"
                    + " none, the policies match descriptors with further keys too (default: ${DEFAULT-VALUE}).")
    private String keysAttribute;

    @Parameters(paramLabel = "FILE", arity = "1..*", description = "The configuration files (YAML).")
    private List<Path> files;

    @Spec
    private CommandSpec spec;

    @Override
    public Integer call() throws FaultsException {
        requireValid();
        EnvoyImport converter = new EnvoyImport(new EnvoyImport.Options(layer, lease, keysAttribute()));
        for (Path file : files) {
            UserFiles.read(file, path -> {
                converter.add(path);
                return path;
            });
        }
        EnvoyImport.Result result = convert(converter);
        write(result.yaml());
        PrintWriter err = spec.commandLine().getErr();
        result.ignored().forEach(err::println);
        result.notConverted().forEach(err::println);
        return result.notConverted().isEmpty() ? 0 : DIFFERS;
    }

    private Optional<String> keysAttribute() {
        return Optional.of(keysAttribute).filter(name -> !name.equals(NONE));
    }

    private void requireValid() {
        if (!Policy.isName(layer)) {
            throw new InputException("--layer must be 1 to 128 letters, digits or . _ -, is '" + layer + "'", null);
        }
        if (!Policy.isName(keysAttribute)) {
            throw new InputException(
                    "--keys-attribute must be 1 to 128 letters, digits or . _ -, is '" + keysAttribute + "'", null);
        }
        for (Path file : files) {
            boolean isSame = !output.equals("-")
                    && Path.of(output)
                            .toAbsolutePath()
                            .normalize()
                            .equals(file.toAbsolutePath().normalize());
            if (isSame) {
                throw new InputException("--output would overwrite " + file, null);
            }
        }
    }

    private static EnvoyImport.Result convert(EnvoyImport converter) {
        try {
            return converter.convert();
        } catch (IllegalArgumentException e) {
            throw new InputException("the configuration " + e.getMessage() + "; convert fewer domains at once", e);
        }
    }

    private void write(String yaml) {
        try {
            if (output.equals("-")) {
                spec.commandLine().getOut().print(yaml);
                spec.commandLine().getOut().flush();
            } else {
                Files.writeString(Path.of(output), yaml);
            }
        } catch (IOException e) {
            throw UserFiles.unreadable(output, e);
        }
    }
}
