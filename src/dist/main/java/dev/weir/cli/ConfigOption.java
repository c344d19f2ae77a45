package dev.weir.cli;

import dev.weir.config.ConfigFile;
import dev.weir.config.WeirConfig;
import dev.weir.fault.FaultsException;
import java.nio.file.Path;
import picocli.CommandLine.Option;

/** The configuration, of which a command may use a part. */
final class ConfigOption {

    @Option(
            names = {"-c", "--config"},
            paramLabel = "FILE",
            description = "The configuration (YAML). Without it: all defaults.")
    private Path file;

    WeirConfig read() throws FaultsException {
        return file == null ? ConfigFile.defaults(System.getenv()) : UserFiles.read(file, ConfigFile::read);
    }
}
