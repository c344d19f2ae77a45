package dev.weir.service;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import java.util.Map;

/**
 * What a service answered.
 *
 * @param headers names in lower case
 */
record Reply(String method, String path, int status, Map<String, String> headers, String text) {

    String header(String name) {
        return headers.get(name.toLowerCase(java.util.Locale.ROOT));
    }

    String contentType() {
        return header("Content-Type");
    }

    JsonNode json() {
        try {
            return ApiDocument.JSON.readTree(text);
        } catch (JsonProcessingException e) {
            throw new AssertionError(toString(), e);
        }
    }

    String detail() {
        return json().path("detail").asText();
    }
}
