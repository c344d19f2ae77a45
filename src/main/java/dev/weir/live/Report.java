package dev.weir.live;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.UncheckedIOException;
import java.util.List;

/**
 * What an instance tells the others of itself.
 *
 * @param seconds oldest first
 */
public record Report(List<Second> seconds, Glance now) {

    private static final ObjectMapper JSON = new ObjectMapper();

    public String json() {
        try {
            return JSON.writeValueAsString(this);
        } catch (JsonProcessingException e) {
            throw new UncheckedIOException(e); // it is made of numbers and texts
        }
    }

    /** @throws IllegalArgumentException if it is none that an instance of this version writes */
    public static Report read(String json) {
        try {
            return JSON.readValue(json, Report.class);
        } catch (JsonProcessingException e) {
            throw new IllegalArgumentException(e.getOriginalMessage(), e);
        }
    }
}
