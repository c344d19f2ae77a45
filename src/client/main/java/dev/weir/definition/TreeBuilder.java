package dev.weir.definition;

import dev.weir.definition.YamlTree.Kind;
import dev.weir.fault.Faults;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;

/** Builds a {@link YamlTree} from the events of a parser, in the order of the text. */
final class TreeBuilder {

    static final int MAX_DEPTH = 32;
    static final int MAX_VALUES = 5_000_000;

    private static final Set<String> NOTHING = Set.of("", "~", "null", "Null", "NULL");
    private static final String MERGE = "<<";
    private static final String HALF_PAIR = "contains an unpaired surrogate";

    /** Indicates that the document cannot be parsed any further. */
    static final class Unreadable extends RuntimeException {
        private static final long serialVersionUID = 1L;
        final int line;

        Unreadable(int line, String message) {
            super(message, null, false, false);
            this.line = line;
        }
    }

    private final Faults faults;
    private final Faults found;
    private final List<String> refused = new ArrayList<>();
    private YamlTree root;
    private YamlTree open;
    private int depth;
    private int values;
    private String key;
    private int keyLine;

    TreeBuilder(Faults faults) {
        this.faults = faults;
        this.found = faults.sameFile();
    }

    /**
     * Returns the tree, which is empty if the document was empty, and adds the faults of the document to the collector.
     */
    YamlTree tree() {
        faults.addAll(found);
        return root == null ? YamlTree.root(faults, 1, Kind.EMPTY, null) : root;
    }

    void startMapping(int line) {
        start(Kind.MAPPING, line);
    }

    void startList(int line) {
        start(Kind.LIST, line);
    }

    /** Ends the mapping or list that was started last. */
    void end() {
        open = open.parent();
        depth--;
    }

    void quoted(String text, int line) {
        scalar(Kind.QUOTED, text, line);
    }

    /** Adds a scalar without quotes. */
    void plain(String text, int line) {
        scalar(NOTHING.contains(text) ? Kind.EMPTY : Kind.PLAIN, text, line);
    }

    /** Adds a fault for the next value, which uses a feature that is not supported. */
    void refuse(String what) {
        refused.add(what);
    }

    /** Adds a value whose content is unknown. */
    void unknown(int line) {
        if (awaitsKey()) {
            throw new Unreadable(line, "a key must be a single value");
        }
        add(Kind.MISSING, null, line);
    }

    private void start(Kind kind, int line) {
        if (awaitsKey()) {
            throw new Unreadable(line, "a key must be a single value");
        }
        if (++depth > MAX_DEPTH) {
            throw new Unreadable(line, "is nested more than " + MAX_DEPTH + " levels deep");
        }
        open = add(kind, null, line);
    }

    private void scalar(Kind kind, String text, int line) {
        if (awaitsKey()) {
            key = text;
            keyLine = line;
        } else if (isWhole(text)) {
            add(kind, text, line);
        } else {
            note(add(Kind.MISSING, null, line), HALF_PAIR);
        }
    }

    private boolean awaitsKey() {
        return open != null && open.kind() == Kind.MAPPING && key == null;
    }

    private YamlTree add(Kind kind, String text, int line) {
        if (++values > MAX_VALUES) {
            throw new Unreadable(line, "has more than " + MAX_VALUES + " values");
        }
        YamlTree value = open == null
                ? addRoot(kind, text, line)
                : open.kind() == Kind.LIST ? open.addItem(line, kind, text) : addField(kind, text);
        refused.forEach(what -> note(value, what + " are not supported"));
        refused.clear();
        return value;
    }

    private YamlTree addRoot(Kind kind, String text, int line) {
        if (root != null) {
            throw new Unreadable(line, "must be a single document; a second one starts here");
        }
        root = YamlTree.root(faults, line, kind, text);
        return root;
    }

    private YamlTree addField(Kind kind, String text) {
        YamlTree field = open.newField(key, keyLine, kind, text);
        if (key.isEmpty()) {
            note(field, "a key must not be empty");
        } else if (key.equals(MERGE)) {
            note(field, "merge keys are not supported");
        } else if (!isWhole(key)) {
            note(field, HALF_PAIR);
        } else {
            YamlTree first = open.put(field);
            if (first != null) {
                note(field, "duplicate key; the first is on line " + first.line());
            }
        }
        key = null;
        return field;
    }

    private void note(YamlTree value, String message) {
        found.add(value.line(), found.isFull() ? "" : value.path(), message);
    }

    private static boolean isWhole(String text) {
        for (int i = 0; i < text.length(); i++) {
            if (Character.isSurrogate(text.charAt(i)) && !Character.isSupplementaryCodePoint(text.codePointAt(i++))) {
                return false;
            }
        }
        return true;
    }
}
