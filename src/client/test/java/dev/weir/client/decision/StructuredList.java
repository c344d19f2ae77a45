package dev.weir.client.decision;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * A parser of a List of Strings or Integers with parameters, as in RFC 9651, section 4.2. It rejects inner lists and
 * other types.
 */
final class StructuredList {

    /**
     * An Item.
     *
     * @param value a String, or a Long for an Integer
     * @param parameters values of the same types; {@code true} for a parameter without a value
     */
    record Item(Object value, Map<String, Object> parameters) {}

    private final String text;
    private int at;

    private StructuredList(String text) {
        this.text = text;
    }

    /**
     * Parses a list.
     *
     * @throws IllegalArgumentException if the text is not such a list
     */
    static List<Item> parse(String text) {
        return new StructuredList(text).list();
    }

    private List<Item> list() {
        List<Item> items = new ArrayList<>();
        skip(" ");
        while (at < text.length()) {
            items.add(item());
            skip(" \t");
            if (at < text.length()) {
                expect(',');
                skip(" \t");
                require(at < text.length(), "a comma at the end");
            }
        }
        return items;
    }

    private Item item() {
        Object value = bare();
        Map<String, Object> parameters = new LinkedHashMap<>();
        while (peek() == ';') {
            at++;
            skip(" ");
            String key = key();
            Object parameter = true;
            if (peek() == '=') {
                at++;
                parameter = bare();
            }
            parameters.put(key, parameter);
        }
        return new Item(value, parameters);
    }

    private String key() {
        int from = at;
        require(peek() == '*' || isLower(peek()), "no key");
        while (isLower(peek()) || isDigit(peek()) || "_-.*".indexOf(peek()) >= 0) {
            at++;
        }
        return text.substring(from, at);
    }

    private Object bare() {
        return peek() == '"' ? string() : integer();
    }

    private String string() {
        StringBuilder string = new StringBuilder();
        expect('"');
        while (peek() != '"') {
            if (peek() == '\\') {
                at++;
                require(peek() == '"' || peek() == '\\', "a backslash before another character");
            }
            require(peek() >= 0x20 && peek() < 0x7f, "no printable ASCII");
            string.append(peek());
            at++;
        }
        expect('"');
        return string.toString();
    }

    private Long integer() {
        int from = at;
        if (peek() == '-') {
            at++;
        }
        int digits = at;
        while (isDigit(peek())) {
            at++;
        }
        require(at > digits && at - digits <= 15, "not 1 to 15 digits");
        return Long.valueOf(text.substring(from, at));
    }

    private void expect(char character) {
        require(peek() == character, "no " + character);
        at++;
    }

    private void skip(String characters) {
        while (at < text.length() && characters.indexOf(peek()) >= 0) {
            at++;
        }
    }

    /** Returns the next character, or NUL at the end. */
    private char peek() {
        return at < text.length() ? text.charAt(at) : 0;
    }

    private static boolean isDigit(char character) {
        return character >= '0' && character <= '9';
    }

    private static boolean isLower(char character) {
        return character >= 'a' && character <= 'z';
    }

    private void require(boolean condition, String otherwise) {
        if (!condition) {
            throw new IllegalArgumentException(otherwise + " at " + at + " of " + text);
        }
    }
}
