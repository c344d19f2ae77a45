package dev.weir.console;

import dev.weir.config.ConfigFile;
import dev.weir.config.WeirConfig;
import dev.weir.fault.FaultsException;
import java.nio.file.Path;
import java.util.Optional;
import picocli.CommandLine.Option;

/** The option for the configuration file. */
public final class ConfigOption {

    @Option(
            names = {"-c", "--config"},
            paramLabel = "FILE",
            description = "The configuration file (YAML). Without it, all settings have their defaults.")
    private Path file;

    /** Returns the file; empty if the option is not set. */
    Optional<Path> file() {
        return Optional.ofNullable(file);
    }

    /** @throws FaultsException if the configuration is invalid */
    public WeirConfig read() throws FaultsException {
        return file == null ? ConfigFile.defaults(System.getenv()) : UserFiles.read(file, ConfigFile::read);
    }
}
