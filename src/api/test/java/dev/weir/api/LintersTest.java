package dev.weir.api;

import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.config.WeirConfig;
import dev.weir.testing.CommandRun;
import dev.weir.testing.NodePackages;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Linters on the served API description and the policy schema. {@link DocumentLintTest} checks their main rules. */
@Tag("full")
class LintersTest {

    @TempDir
    private Path directory;

    @Test
    void redocly_and_ajv_report_nothing() throws Exception {
        NodePackages.assumeInstalled();
        WeirConfig config = WeirConfig.DEFAULTS.toBuilder()
                .service(WeirConfig.DEFAULTS.service().withPort(0))
                .build();
        try (WeirService service = WeirService.open(config, Map.of())) {
            Caller caller = Caller.of(service.port(), null);
            for (String file : new String[] {"openapi.json", "openapi.yaml"}) {
                Files.writeString(
                        directory.resolve(file), caller.get("/v1/" + file).text());
            }
        }
        CommandRun lint = CommandRun.of(
                directory,
                "node",
                NodePackages.DIRECTORY.resolve("lint.mjs").toString(),
                "openapi.json",
                "openapi.yaml",
                Path.of("src/client/main/resources/policies.schema.json")
                        .toAbsolutePath()
                        .toString());
        assertThat(lint.succeeded()).as(lint.output()).isTrue();
    }
}
