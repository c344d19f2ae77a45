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
 * One value of a YAML or JSON document, and where it is written. Who reads it as something that it is not gets null, or
 * nothing to go through, and a {@link Fault} is noted; so a reader goes on, and all faults are found at once.
 *
 * <p>A scalar is its text: what it means is up to who reads it, so {@code NO} can be a country and {@code 1.10} a
 * version.
 */
public final class YamlTree {

    enum Kind {
        MAPPING("is a mapping"),
        LIST("is a list"),
        PLAIN("is a single value"),
        QUOTED("is a single value"),
        /** Written as {@code ~}, as {@code null} or as nothing at all. */
        EMPTY("is empty"),
        /** Not there, or at fault already: whatever it is read as, nothing more is noted. */
        MISSING("is missing");

        private final String description;

        Kind(String description) {
            this.description = description;
        }
    }

    private static final Pattern WHOLE_NUMBER = Pattern.compile("-?(0|[1-9][0-9]*(_[0-9]+)*)");
    private static final int MAX_NUMBER_LENGTH = 40;
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

    /** A document's outermost value. */
    static YamlTree root(Faults faults, int line, Kind kind, String text) {
        return new YamlTree(faults, null, null, 0, line, kind, text);
    }

    /** A value for one of this mapping's keys; the mapping has it once it was {@link #put} there. */
    YamlTree newField(String fieldKey, int fieldLine, Kind fieldKind, String fieldText) {
        return new YamlTree(faults, this, fieldKey, 0, fieldLine, fieldKind, fieldText);
    }

    /** Puts a new field into this mapping, unless it has one with the same key: then gives that. */
    YamlTree put(YamlTree field) {
        fields = fields.isEmpty() ? new LinkedHashMap<>(8) : fields;
        return fields.putIfAbsent(field.key, field);
    }

    /** Gives this mapping a first field, as if it were written where the mapping begins. */
    void putFirst(String fieldKey, String fieldText) {
        Map<String, YamlTree> others = fields;
        fields = new LinkedHashMap<>();
        put(newField(fieldKey, line, Kind.QUOTED, fieldText));
        others.values().forEach(this::put);
    }

    /** Adds a last value to this list. */
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
     * Reads a document. What cannot be read at all is noted and gives a tree that is not there; an empty document gives
     * an empty tree.
     */
    public static YamlTree read(String text, Faults faults) {
        return DocumentReader.read(text, faults);
    }

    /**
     * As {@link #read(String, Faults)}, from a file.
     *
     * @throws IOException if the file cannot be read
     */
    public static YamlTree read(Path file, Faults faults) throws IOException {
        return DocumentReader.read(file, faults);
    }

    /** The line of its key, or where it begins if it has none; from 1. */
    public int line() {
        return line;
    }

    /** Where it is in the document, such as {@code policies[3].limits[0].per}; empty for the outermost value. */
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

    /** Whether it is there at all. */
    public boolean isPresent() {
        return kind != Kind.MISSING;
    }

    /** Whether it is there, but as nothing. */
    public boolean isEmpty() {
        return kind == Kind.EMPTY;
    }

    /** Notes what is wrong with this value; its path or its key before a "must" is left out, as it is told anyway. */
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

    /** A mapping's values by their keys, in the order written. */
    public Map<String, YamlTree> fields() {
        if (kind != Kind.MAPPING) {
            expected("a mapping");
        }
        return Collections.unmodifiableMap(fields);
    }

    /** As {@link #fields()}, where each key that is not known is a fault. */
    public Map<String, YamlTree> fields(Collection<String> known) {
        Map<String, YamlTree> all = fields();
        all.forEach((name, value) -> {
            if (!known.contains(name)) {
                String nearest = faults.isFull() ? null : Spelling.nearest(name, known);
                value.fault(nearest == null ? "unknown key" : "unknown key, did you mean " + nearest + "?");
            }
        });
        return all;
    }

    /** The value of one of a mapping's keys; a missing one if the mapping does not have it. */
    public YamlTree get(String fieldKey) {
        YamlTree value = fields.get(fieldKey);
        return value == null ? newField(fieldKey, line, Kind.MISSING, null) : value;
    }

    /** As {@link #get}, where it is a fault if the mapping does not have it. */
    public YamlTree require(String fieldKey) {
        YamlTree value = get(fieldKey);
        if (kind == Kind.MAPPING && !fields.containsKey(fieldKey)) {
            value.fault("is missing");
        }
        return value;
    }

    /** A list's values. */
    public List<YamlTree> items() {
        if (kind != Kind.LIST) {
            expected("a list");
        }
        return Collections.unmodifiableList(items);
    }

    /** A list's values, or a scalar as a list of one. */
    public List<YamlTree> itemsOrOne() {
        if (isScalar()) {
            return List.of(this);
        }
        if (kind != Kind.LIST) {
            expected("a single value or a list");
        }
        return Collections.unmodifiableList(items);
    }

    /** A scalar as it is written, null if it is none. */
    public String text() {
        if (!isScalar()) {
            expected("a single value");
        }
        return isScalar() ? text : null;
    }

    /**
     * What a scalar's text is read as, null if it is no scalar.
     *
     * @param reading may throw as that of {@link #noting}
     */
    public <T> T read(Function<String, T> reading) {
        String scalar = text();
        return scalar == null ? null : noting(() -> reading.apply(scalar));
    }

    /** What is made of this value; null if that throws an IllegalArgumentException, whose message is then noted. */
    public <T> T noting(Supplier<T> making) {
        try {
            return making.get();
        } catch (IllegalArgumentException e) {
            fault(e.getMessage());
            return null;
        }
    }

    /** A whole number, {@code 1_000} if wanted; null if it is none from {@code min} to {@code max}. */
    public Long wholeNumber(long min, long max) {
        boolean isNumber = isScalar()
                && text.length() <= MAX_NUMBER_LENGTH
                && WHOLE_NUMBER.matcher(text).matches();
        BigInteger number = isNumber ? new BigInteger(text.replace("_", "")) : null;
        boolean inRange = isNumber
                && number.compareTo(BigInteger.valueOf(min)) >= 0
                && number.compareTo(BigInteger.valueOf(max)) <= 0;
        if (!inRange) {
            expected("a whole number from " + min + " to " + max);
            return null;
        }
        return number.longValue();
    }

    /** {@code true} or {@code false}, null if it is neither. */
    public Boolean flag() {
        if (kind == Kind.PLAIN && (text.equals("true") || text.equals("false"))) {
            return text.equals("true");
        }
        expected(kind == Kind.QUOTED ? "true or false without quotes" : "true or false");
        return null;
    }

    /** What a word stands for, null if it is none of {@code words}. */
    public <T> T oneOf(Map<String, T> words) {
        T meaning = isScalar() ? words.get(text) : null;
        if (meaning == null) {
            expected("one of " + String.join(", ", words.keySet()));
        }
        return meaning;
    }

    private void expected(String what) {
        if (isPresent()) {
            fault("must be " + what + ", " + (isScalar() ? "is '" + text + "'" : kind.description));
        }
    }
}
