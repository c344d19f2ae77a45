package dev.weir.cli;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.ObjectMapper;
import dev.weir.config.ConfigFile;
import dev.weir.config.WeirConfig;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;

/** Runs {@code weir doctor} with a configuration that it writes. */
final class DoctorRun {

    private static final ObjectMapper JSON = new ObjectMapper();

    private final String name;
    private final String bootstrapServers;
    private final Path directory;

    /** A finding, as it is printed as JSON. */
    record Found(String group, String check, String verdict, String found, List<String> advice) {}

    /**
     * Creates a run.
     *
     * @param name the application id; with a dot, the prefix of the topics
     * @param directory the directory of the configuration and of the state
     */
    DoctorRun(String name, String bootstrapServers, Path directory) {
        this.name = name;
        this.bootstrapServers = bootstrapServers;
        this.directory = directory;
    }

    /** Runs the doctor, and returns the findings that it prints as JSON. */
    List<Found> found(int exit, String yaml, String... options) throws IOException {
        List<String> all = new ArrayList<>(List.of(args(yaml, options)));
        all.addAll(List.of("-o", "json"));
        CapturedRun result = Shell.run(all.toArray(String[]::new));
        assertThat(result.err()).isEmpty();
        assertThat(result.exit()).as(result.out()).isEqualTo(exit);
        return findings(result);
    }

    String[] args(String yaml, String... options) throws IOException {
        return Stream.concat(Stream.of("doctor", "-c", file(yaml)), Stream.of(options))
                .toArray(String[]::new);
    }

    WeirConfig config(String yaml) throws Exception {
        return ConfigFile.read(Path.of(file(yaml)));
    }

    /**
     * Writes a configuration.
     *
     * @param yaml sections of the file, or indented lines: properties of the {@code kafka} section
     */
    String file(String yaml) throws IOException {
        String own = yaml.startsWith(" ") ? "" : yaml;
        String text = "application-id: %s\ntopics: {prefix: %s., partitions: 2}\n".formatted(name, name) + own
                + (own.contains("service:") ? "" : "service: {enabled: false}\n")
                + (own.contains("state:") ? "" : "state: {directory: " + directory.resolve(name) + "}\n")
                + "kafka:\n  bootstrap.servers: " + bootstrapServers + "\n"
                + (yaml.startsWith(" ") ? yaml : "");
        return Files.writeString(directory.resolve("weir.yaml"), text).toString();
    }

    static List<Found> findings(CapturedRun doctor) throws IOException {
        return JSON.readerForListOf(Found.class)
                .readValue(JSON.readTree(doctor.out()).get("findings"));
    }

    static List<Found> of(List<Found> all, String group, String check) {
        return all.stream()
                .filter(one -> one.group.equals(group) && one.check.equals(check))
                .toList();
    }

    static Found only(List<Found> all, String group, String check) {
        List<Found> some = of(all, group, check);
        assertThat(some).hasSize(1);
        return some.get(0);
    }
}
