package dev.weir.definition;

import dev.weir.fault.Fault;
import dev.weir.fault.Faults;
import dev.weir.fault.Spelling;
import java.io.IOException;
import java.math.BigInteger;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.regex.Pattern;

/**
 * A value of a YAML or JSON document, with its place. Methods that read it as another type than it has add a
 * {@link Fault} and return null or an empty collection. So a reader can go on and find all faults.
 *
 * <p>A scalar is its text, which the reader interprets: {@code NO} can be a country and {@code 1.10} a version.
 */
public final class YamlTree {

    enum Kind {
        MAPPING("is a mapping"),
        LIST("is a list"),
        PLAIN("is a single value"),
        QUOTED("is a single value"),
        /** Written as {@code ~}, {@code null} or nothing. */
        EMPTY("is empty"),
        /** Missing, or a value whose fault has been added already. Reading it adds no fault. */
        MISSING("is missing");

        private final String description;

        Kind(String description) {
            this.description = description;
        }
    }

    private static final Pattern WHOLE_NUMBER = Pattern.compile("-?(0|[1-9][0-9]*(_[0-9]+)*)");
    private static final int MAX_NUMBER_LENGTH = 40;

    /** An upper bound above this is named only in messages about numbers that exceed it. */
    private static final long MAX_NAMED = 1_000_000_000_000L;

    private static final Pattern SIMPLE_KEY = Pattern.compile("[A-Za-z0-9._-]+");

    private final Faults faults;
    private final YamlTree parent;
    private final String key;
    private final int index;
    private final int line;
    private final Kind kind;
    private final String text;
    private Map<String, YamlTree> fields = Map.of();
    private List<YamlTree> items = List.of();

    private YamlTree(Faults faults, YamlTree parent, String key, int index, int line, Kind kind, String text) {
        this.faults = faults;
        this.parent = parent;
        this.key = key;
        this.index = index;
        this.line = line;
        this.kind = kind;
        this.text = text;
    }

    /** Returns the outermost value of a document. */
    static YamlTree root(Faults faults, int line, Kind kind, String text) {
        return new YamlTree(faults, null, null, 0, line, kind, text);
    }

    /** Returns a value for a key of this mapping, to be added with {@link #put}. */
    YamlTree newField(String fieldKey, int fieldLine, Kind fieldKind, String fieldText) {
        return new YamlTree(faults, this, fieldKey, 0, fieldLine, fieldKind, fieldText);
    }

    /**
     * Adds a field to this mapping. If the mapping has the key already, it is not changed, and the existing field
     * is returned.
     */
    YamlTree put(YamlTree field) {
        fields = fields.isEmpty() ? new LinkedHashMap<>(8) : fields;
        return fields.putIfAbsent(field.key, field);
    }

    /** Adds a first field to this mapping, on the line where the mapping begins. */
    void putFirst(String fieldKey, String fieldText) {
        Map<String, YamlTree> others = fields;
        fields = new LinkedHashMap<>();
        put(newField(fieldKey, line, Kind.QUOTED, fieldText));
        others.values().forEach(this::put);
    }

    /** Adds a last item to this list. */
    YamlTree addItem(int itemLine, Kind itemKind, String itemText) {
        items = items.isEmpty() ? new ArrayList<>(4) : items;
        YamlTree item = new YamlTree(faults, this, null, items.size(), itemLine, itemKind, itemText);
        items.add(item);
        return item;
    }

    YamlTree parent() {
        return parent;
    }

    Kind kind() {
        return kind;
    }

    boolean isList() {
        return kind == Kind.LIST;
    }

    boolean isScalar() {
        return kind == Kind.PLAIN || kind == Kind.QUOTED;
    }

    /**
     * Parses a document. If that is not possible, adds a fault.
     *
     * @param text YAML or JSON
     * @param faults collects the faults of the document, now and when its values are read
     * @return the outermost value: an {@linkplain #isEmpty empty} one if the document is empty, a
     *     {@linkplain #isPresent missing} one if it cannot be parsed
     */
    public static YamlTree read(String text, Faults faults) {
        return DocumentReader.read(text, faults);
    }

    /**
     * Parses a file like {@link #read(String, Faults)}.
     *
     * @param file a file in UTF-8
     * @param faults collects the faults
     * @return the outermost value
     * @throws IOException if the file cannot be read
     */
    public static YamlTree read(Path file, Faults faults) throws IOException {
        return DocumentReader.read(file, faults);
    }

    /**
     * Returns the line of this value.
     *
     * @return the line of its key or, if it has none, the line where it begins; from 1
     */
    public int line() {
        return line;
    }

    /**
     * Returns the path of this value in the document.
     *
     * @return a path such as {@code policies[3].limits[0].per}; empty for the outermost value
     */
    public String path() {
        if (parent == null) {
            return "";
        }
        String path = parent.path();
        if (key == null) {
            return path + "[" + index + "]";
        }
        String name = key.length() > Fault.MAX_PATH ? key.substring(0, Fault.MAX_PATH) + "…" : key;
        if (!SIMPLE_KEY.matcher(name).matches()) {
            return path + "['" + name + "']";
        }
        return path.isEmpty() ? name : path + "." + name;
    }

    /**
     * Returns whether the value is in the document.
     *
     * @return false if it is missing
     */
    public boolean isPresent() {
        return kind != Kind.MISSING;
    }

    /**
     * Returns whether the value is in the document and empty.
     *
     * @return true for {@code ~}, {@code null} and a key without a value
     */
    public boolean isEmpty() {
        return kind == Kind.EMPTY;
    }

    /**
     * Adds a fault for this value.
     *
     * @param message what is wrong. If it begins with the path or the key followed by "must", that name is removed,
     *     since the fault names the path
     */
    public void fault(String message) {
        String path = faults.isFull() ? "" : path();
        for (String name : new String[] {path, key}) {
            if (name != null && message.startsWith(name + " must ")) {
                faults.add(line, path, message.substring(name.length() + 1));
                return;
            }
        }
        faults.add(line, path, message);
    }

    /**
     * Reads a mapping.
     *
     * @return the values by key, in the order of the document; empty if this is not a mapping
     */
    public Map<String, YamlTree> fields() {
        if (kind != Kind.MAPPING) {
            expected("a mapping");
        }
        return Collections.unmodifiableMap(fields);
    }

    /**
     * Reads a mapping, and adds a fault for each unknown key.
     *
     * @param known the known keys
     * @return the values by key, as in {@link #fields()}
     */
    public Map<String, YamlTree> fields(Collection<String> known) {
        Map<String, YamlTree> all = fields();
        all.forEach((name, value) -> {
            if (!known.contains(name)) {
                String nearest = faults.isFull() ? null : Spelling.nearest(name, known);
                value.fault(nearest == null ? "unknown key" : "unknown key; did you mean \"" + nearest + "\"?");
            }
        });
        return all;
    }

    /**
     * Returns the value of a key of this mapping.
     *
     * @param fieldKey the key
     * @return the value, a missing one if the mapping does not have the key
     */
    public YamlTree get(String fieldKey) {
        YamlTree value = fields.get(fieldKey);
        return value == null ? newField(fieldKey, line, Kind.MISSING, null) : value;
    }

    /**
     * Returns the value of a key of this mapping, and adds a fault if the mapping does not have it.
     *
     * @param fieldKey the key
     * @return the value, a missing one if the mapping does not have the key
     */
    public YamlTree require(String fieldKey) {
        YamlTree value = get(fieldKey);
        if (kind == Kind.MAPPING && !fields.containsKey(fieldKey)) {
            value.fault("is required");
        }
        return value;
    }

    /**
     * Reads a list.
     *
     * @return the items; empty if this is not a list
     */
    public List<YamlTree> items() {
        if (kind != Kind.LIST) {
            expected("a list");
        }
        return Collections.unmodifiableList(items);
    }

    /**
     * Reads a list, or a scalar as a list of one.
     *
     * @return the items; empty if this is neither
     */
    public List<YamlTree> itemsOrOne() {
        if (isScalar()) {
            return List.of(this);
        }
        if (kind != Kind.LIST) {
            expected("a single value or a list");
        }
        return Collections.unmodifiableList(items);
    }

    /**
     * Reads a scalar.
     *
     * @return its text; null if this is not a scalar
     */
    public String text() {
        if (!isScalar()) {
            expected("a single value");
        }
        return isScalar() ? text : null;
    }

    /**
     * Reads a scalar and converts its text.
     *
     * @param <T> the type of the result
     * @param reading converts the text. If it throws an {@link IllegalArgumentException}, its message is added as
     *     a fault
     * @return the result; null if this is not a scalar or the conversion failed
     */
    public <T> T read(Function<String, T> reading) {
        String scalar = text();
        return scalar == null ? null : noting(() -> reading.apply(scalar));
    }

    /**
     * Calls a supplier.
     *
     * @param <T> the type of the result
     * @param making creates the result. If it throws an {@link IllegalArgumentException}, its message is added as
     *     a fault
     * @return the result; null if the supplier failed
     */
    public <T> T noting(Supplier<T> making) {
        try {
            return making.get();
        } catch (IllegalArgumentException e) {
            fault(e.getMessage());
            return null;
        }
    }

    /**
     * Reads a whole number, with optional underscores between digits, such as {@code 1_000}.
     *
     * @param min the smallest valid number
     * @param max the largest valid number
     * @return the number; null if this is not a valid one
     */
    public Long wholeNumber(long min, long max) {
        return wholeNumber(min, max, "");
    }

    /** Reads a whole number as {@link #wholeNumber(long, long)}, with a hint at the end of the fault. */
    Long wholeNumber(long min, long max, String hint) {
        boolean isNumber = isScalar()
                && text.length() <= MAX_NUMBER_LENGTH
                && WHOLE_NUMBER.matcher(text).matches();
        BigInteger number = isNumber ? new BigInteger(text.replace("_", "")) : null;
        boolean inRange = isNumber
                && number.compareTo(BigInteger.valueOf(min)) >= 0
                && number.compareTo(BigInteger.valueOf(max)) <= 0;
        if (!inRange) {
            boolean isTooLarge = isNumber && number.compareTo(BigInteger.valueOf(max)) > 0;
            String huge = isTooLarge ? "at most " + max : min + " or more";
            expected("a whole number" + (max > MAX_NAMED ? ", " + huge : " from " + min + " to " + max), hint);
            return null;
        }
        return number.longValue();
    }

    /**
     * Reads {@code true} or {@code false}.
     *
     * @return the value; null if this is neither
     */
    public Boolean flag() {
        if (kind == Kind.PLAIN && (text.equals("true") || text.equals("false"))) {
            return text.equals("true");
        }
        expected(kind == Kind.QUOTED ? "true or false without quotes" : "true or false");
        return null;
    }

    /**
     * Reads one of several words.
     *
     * @param <T> the type of the result
     * @param words the meaning of each valid word
     * @return the meaning of the word; null if this is none of the words
     */
    public <T> T oneOf(Map<String, T> words) {
        T meaning = isScalar() ? words.get(text) : null;
        if (meaning == null) {
            expected("one of " + String.join(", ", words.keySet()));
        }
        return meaning;
    }

    private void expected(String what) {
        expected(what, "");
    }

    private void expected(String what, String hint) {
        if (isPresent()) {
            fault("must be " + what + ", " + (isScalar() ? "is '" + text + "'" : kind.description) + hint);
        }
    }
}
