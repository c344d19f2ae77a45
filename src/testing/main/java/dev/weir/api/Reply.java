package dev.weir.api;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import java.util.Map;

/**
 * A response of the service.
 *
 * @param method the method of the request
 * @param path the path of the request
 * @param status the status
 * @param headers the headers, with names in lower case
 * @param text the body
 */
public record Reply(String method, String path, int status, Map<String, String> headers, String text) {

    public String header(String name) {
        return headers.get(name.toLowerCase(java.util.Locale.ROOT));
    }

    public String contentType() {
        return header("Content-Type");
    }

    public JsonNode json() {
        try {
            return ApiDocument.JSON.readTree(text);
        } catch (JsonProcessingException e) {
            throw new AssertionError(toString(), e);
        }
    }

    public String detail() {
        return json().path("detail").asText();
    }
}
