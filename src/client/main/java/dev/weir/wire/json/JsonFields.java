package dev.weir.wire.json;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectReader;
import dev.weir.event.Rejection;
import dev.weir.fault.SafeText;
import dev.weir.fault.UnreadableException;
import java.io.IOException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** The fields of a record whose value is a JSON object. Fields of later versions are ignored. */
public final class JsonFields {

    private static final ObjectReader READER =
            Json.MAPPER.reader().with(DeserializationFeature.USE_BIG_DECIMAL_FOR_FLOATS);

    /** The maximum length of a value in a message, in characters. */
    private static final int MAX_SHOWN = 100;

    private final JsonNode tree;

    private JsonFields(JsonNode tree) {
        this.tree = tree;
    }

    /**
     * Returns whether the value of a record is JSON.
     *
     * @param value the value of a record, or null
     * @return whether it begins as a JSON object
     */
    public static boolean areIn(byte[] value) {
        return value != null && value.length > 0 && value[0] == '{';
    }

    /** @throws UnreadableException if the value is not a JSON object */
    static JsonFields of(byte[] value) throws UnreadableException {
        try {
            return new JsonFields(READER.readTree(value));
        } catch (JsonProcessingException e) {
            throw new UnreadableException(Rejection.NOT_JSON, Json.message(e), e);
        } catch (IOException e) {
            throw new UnreadableException(Rejection.NOT_JSON, e);
        }
    }

    /** Returns a field that may be null. */
    private JsonNode field(String name) throws UnreadableException {
        JsonNode value = tree.get(name);
        if (value == null) {
            throw new UnreadableException(Rejection.NOT_JSON, name + " is required");
        }
        return value;
    }

    /** Returns whether there is a field, which may be null. */
    boolean has(String name) {
        return tree.has(name);
    }

    boolean isNull(String name) throws UnreadableException {
        return field(name).isNull();
    }

    JsonFields object(String name) throws UnreadableException {
        return new JsonFields(field(name));
    }

    /** Returns the objects of a list. */
    List<JsonFields> objects(String name) throws UnreadableException {
        JsonNode list = field(name);
        if (!list.isArray()) {
            throw new UnreadableException(Rejection.NOT_JSON, name + " must be a list");
        }
        List<JsonFields> objects = new ArrayList<>(list.size());
        for (JsonNode item : list) {
            if (!item.isObject()) {
                throw new UnreadableException(Rejection.NOT_JSON, name + " must be a list of objects");
            }
            objects.add(new JsonFields(item));
        }
        return objects;
    }

    String text(String name) throws UnreadableException {
        JsonNode value = field(name);
        if (!value.isTextual()) {
            throw new UnreadableException(Rejection.NOT_JSON, name + " must be a string");
        }
        if (!Json.isWellFormed(value.textValue())) {
            throw new UnreadableException(Rejection.NOT_JSON, name + " contains an unpaired surrogate");
        }
        return value.textValue();
    }

    String textOrNull(String name) throws UnreadableException {
        return isNull(name) ? null : text(name);
    }

    long number(String name) throws UnreadableException {
        JsonNode value = field(name);
        if (!value.isIntegralNumber() || !value.canConvertToLong()) {
            String expected = value.isIntegralNumber() ? "a 64-bit integer" : "a whole number";
            String shown = SafeText.of(value.toString(), MAX_SHOWN);
            throw new UnreadableException(Rejection.NOT_JSON, name + " must be " + expected + ", is " + shown);
        }
        return value.longValue();
    }

    /** Returns a number of 32 bits. */
    int integer(String name) throws UnreadableException {
        long value = number(name);
        if ((int) value != value) {
            throw new UnreadableException(Rejection.NOT_JSON, name + " must be a 32-bit integer, is " + value);
        }
        return (int) value;
    }

    Long numberOrNull(String name) throws UnreadableException {
        return isNull(name) ? null : (Long) number(name);
    }

    /** Returns a number with at most a given number of decimals, times ten to the power of that. */
    long scaled(String name, int decimals) throws UnreadableException {
        JsonNode value = field(name);
        if (!value.isNumber()) {
            throw new UnreadableException(Rejection.NOT_JSON, name + " must be a number");
        }
        try {
            return value.decimalValue().scaleByPowerOfTen(decimals).longValueExact();
        } catch (ArithmeticException e) {
            throw new UnreadableException(
                    Rejection.NOT_JSON, name + " must be a number with at most " + decimals + " decimals");
        }
    }

    boolean flag(String name) throws UnreadableException {
        JsonNode value = field(name);
        if (!value.isBoolean()) {
            throw new UnreadableException(Rejection.NOT_JSON, name + " must be true or false");
        }
        return value.booleanValue();
    }

    byte[] bytesOrNull(String name) throws UnreadableException {
        if (isNull(name)) {
            return null;
        }
        text(name);
        try {
            return field(name).binaryValue();
        } catch (IOException e) {
            throw new UnreadableException(Rejection.NOT_JSON, name + " must be base64");
        }
    }

    Map<String, String> texts(String name) throws UnreadableException {
        JsonFields values = object(name);
        Map<String, String> texts = new LinkedHashMap<>();
        for (Map.Entry<String, JsonNode> value : values.tree.properties()) {
            texts.put(value.getKey(), values.text(value.getKey()));
        }
        return texts;
    }

    /** Returns a list of strings. */
    List<String> textList(String name) throws UnreadableException {
        JsonNode values = field(name);
        if (!values.isArray()) {
            throw new UnreadableException(Rejection.NOT_JSON, name + " must be an array");
        }
        List<String> texts = new ArrayList<>();
        for (JsonNode value : values) {
            if (!value.isTextual() || !Json.isWellFormed(value.textValue())) {
                throw new UnreadableException(Rejection.NOT_JSON, name + " must contain strings only");
            }
            texts.add(value.textValue());
        }
        return texts;
    }

    /** Returns a value of an enumeration. */
    <E extends Enum<E>> E constant(String name, Class<E> type) throws UnreadableException {
        String word = text(name);
        try {
            return Enum.valueOf(type, word);
        } catch (IllegalArgumentException e) {
            throw new UnreadableException(
                    Rejection.UNKNOWN_SCHEMA, "unknown " + name + ", of a later version: " + word);
        }
    }
}
