package dev.weir.api;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.networknt.schema.InputFormat;
import com.networknt.schema.JsonSchema;
import com.networknt.schema.JsonSchemaFactory;
import com.networknt.schema.SchemaLocation;
import com.networknt.schema.SpecVersion.VersionFlag;
import dev.weir.config.WeirConfig;
import dev.weir.server.http.ServiceServer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** The description of the service matches the routes and is self-contained. */
class OpenApiDocumentTest {

    private static WeirService service;
    private static Caller caller;

    @BeforeAll
    static void start() throws Exception {
        service = WeirService.open(
                WeirConfig.DEFAULTS.toBuilder()
                        .service(WeirConfig.DEFAULTS.service().withPort(0))
                        .build(),
                Map.of());
        caller = Caller.of(service.port(), null);
    }

    @AfterAll
    static void stop() {
        service.close();
    }

    @Test
    void every_route_is_described_and_there_is_no_other() {
        Set<String> routes = service.routes().stream()
                .map(route -> route.method().name() + " " + route.path())
                .collect(Collectors.toSet());
        assertThat(caller.document().operations()).isEqualTo(routes);
    }

    @Test
    void every_path_is_on_the_page() throws Exception {
        String page = Files.readString(Path.of("topology-docs/reference/http.md"));
        for (ServiceServer.Route route : service.routes()) {
            assertThat(page).contains("`" + route.path() + "`");
        }
    }

    @Test
    void changes_and_deciding_require_the_token_and_health_and_the_page_do_not() {
        for (ServiceServer.Route route : service.routes()) {
            JsonNode security = caller.document()
                    .tree()
                    .at("/paths")
                    .get(route.path())
                    .get(route.method().name().toLowerCase(Locale.ROOT))
                    .path("security");
            assertThat(security.toString())
                    .as(route.path())
                    .isEqualTo(
                            switch (route.permission()) {
                                case CHANGE, DECIDE -> "[{\"token\":[]}]";
                                case READ -> "";
                                case HEALTH, PAGE -> "[]";
                            });
        }
    }

    @Test
    void every_component_is_used_and_every_reference_resolves() {
        Set<String> used = new HashSet<>();
        for (JsonNode reference : caller.document().references()) {
            String target = reference.textValue();
            assertThat(target).startsWith("#/components/");
            assertThat(caller.document().tree().at(target.substring(1)).isMissingNode())
                    .as(target)
                    .isFalse();
            used.add(target);
        }
        for (String kind : Set.of("parameters", "headers", "responses", "schemas")) {
            caller.document().tree().at("/components/" + kind).fieldNames().forEachRemaining(name -> assertThat(used)
                    .contains("#/components/" + kind + "/" + name));
        }
    }

    @Test
    void yaml_and_json_are_equal() throws Exception {
        Reply yaml = caller.get("/v1/openapi.yaml");
        assertThat(yaml.contentType()).isEqualTo("application/yaml");
        assertThat(ApiDocument.YAML.readTree(yaml.text()))
                .isEqualTo(caller.document().tree());
        assertThat(yaml.text()).startsWith("openapi: 3.1.0\n");
    }

    @Test
    void every_schema_is_valid() {
        JsonSchemaFactory factory = JsonSchemaFactory.getInstance(VersionFlag.V202012);
        JsonSchema metaSchema = factory.getSchema(SchemaLocation.of(VersionFlag.V202012.getId()));
        caller.document().tree().at("/components/schemas").properties().forEach(schema -> assertThat(
                        metaSchema.validate(schema.getValue().toString(), InputFormat.JSON))
                .as(schema.getKey())
                .isEmpty());
    }
}
