package dev.weir.server.http;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.dataformat.yaml.YAMLFactory;
import com.fasterxml.jackson.dataformat.yaml.YAMLGenerator;
import dev.weir.wire.json.Json;

/** Jackson's mapper for YAML requests and responses. */
public final class YamlMapper {

    public static final ObjectMapper MAPPER = Json.strict(YAMLFactory.builder()
            .disable(YAMLGenerator.Feature.WRITE_DOC_START_MARKER)
            .disable(YAMLGenerator.Feature.SPLIT_LINES)
            .build());

    private YamlMapper() {}
}
