package dev.weir.definition;

import dev.weir.definition.TreeBuilder.Unreadable;
import org.yaml.snakeyaml.LoaderOptions;
import org.yaml.snakeyaml.error.MarkedYAMLException;
import org.yaml.snakeyaml.error.YAMLException;
import org.yaml.snakeyaml.events.AliasEvent;
import org.yaml.snakeyaml.events.CollectionEndEvent;
import org.yaml.snakeyaml.events.CollectionStartEvent;
import org.yaml.snakeyaml.events.Event;
import org.yaml.snakeyaml.events.MappingStartEvent;
import org.yaml.snakeyaml.events.NodeEvent;
import org.yaml.snakeyaml.events.ScalarEvent;
import org.yaml.snakeyaml.parser.Parser;
import org.yaml.snakeyaml.parser.ParserImpl;
import org.yaml.snakeyaml.reader.StreamReader;

/**
 * Parses YAML with lines of limited length, without the features by which one part of a document stands for another:
 * anchors, aliases, merge keys and tags.
 */
public final class YamlText {

    /** The maximum length of a line. The time in which the parser reads a word grows with the square of its length. */
    static final int MAX_LINE_LENGTH = 1 << 20;

    private static final String NOT_VALID = "is not valid YAML: ";

    private YamlText() {}

    /**
     * Parses a text.
     *
     * @throws Unreadable if the text is not valid YAML
     */
    static void read(String text, TreeBuilder builder) {
        requireScannable(text);
        LoaderOptions options = new LoaderOptions();
        options.setCodePointLimit(Integer.MAX_VALUE);
        StreamReader reader = new StreamReader(text);
        Parser parser = new ParserImpl(reader, options);
        for (Event event = next(parser, reader); !event.is(Event.ID.StreamEnd); event = next(parser, reader)) {
            follow(event, builder);
        }
    }

    private static Event next(Parser parser, StreamReader reader) {
        try {
            return parser.getEvent();
        } catch (MarkedYAMLException e) {
            throw new Unreadable(e.getProblemMark().getLine() + 1, NOT_VALID + problem(e));
        } catch (NumberFormatException e) {
            throw new Unreadable(reader.getLine() + 1, NOT_VALID + "an escape in a quoted text is incomplete");
        } catch (YAMLException e) {
            throw new Unreadable(reader.getLine() + 1, NOT_VALID + e.getMessage());
        }
    }

    private static void follow(Event event, TreeBuilder builder) {
        int line = event.getStartMark().getLine() + 1;
        if (event instanceof AliasEvent) {
            builder.refuse("aliases (*)");
            builder.unknown(line);
        } else if (event instanceof ScalarEvent scalar) {
            refuseProperties(scalar, scalar.getTag(), builder);
            if (scalar.isPlain()) {
                builder.plain(scalar.getValue(), line);
            } else {
                builder.quoted(scalar.getValue(), line);
            }
        } else if (event instanceof CollectionStartEvent start) {
            refuseProperties(start, start.getTag(), builder);
            if (start instanceof MappingStartEvent) {
                builder.startMapping(line);
            } else {
                builder.startList(line);
            }
        } else if (event instanceof CollectionEndEvent) {
            builder.end();
        }
    }

    private static void refuseProperties(NodeEvent node, String tag, TreeBuilder builder) {
        if (node.getAnchor() != null) {
            builder.refuse("anchors (&)");
        }
        if (tag != null) {
            builder.refuse("tags (!)");
        }
    }

    private static String problem(MarkedYAMLException e) {
        String context = e.getContext() == null ? "" : e.getContext();
        return plain(context, e.getProblem()) + " (column "
                + (e.getProblemMark().getColumn() + 1) + ")";
    }

    /** Returns what is wrong and what to do, in place of the parser's problem, which names its tokens. */
    private static String plain(String context, String problem) {
        if (problem.startsWith("expected <block end>")) {
            boolean isText = problem.endsWith("<scalar>'") || problem.endsWith("']'") || problem.endsWith("'}'");
            return isText
                    ? "unexpected text; put a value that contains special characters in quotes"
                    : "wrong indentation; indent all keys and items of a level by the same number of spaces";
        }
        if (problem.contains("(TAB)")) {
            return "a tab cannot be used here; indent with spaces";
        }
        if (problem.startsWith("mapping values are not allowed")) {
            return "unexpected ':'; check the indentation, or put the value in quotes";
        }
        if (problem.startsWith("sequence entries are not allowed")) {
            return "unexpected '-'; begin the list on the next line";
        }
        if (problem.startsWith("could not find expected ':'")) {
            return "a key without ':' before this place; check the indentation, or add ': ' after the key";
        }
        if (problem.startsWith("expected ','")) {
            return problem.replaceFirst(
                    ", but (got|found) .*", "; close the bracket, or separate the values by commas");
        }
        if (problem.startsWith("expected the node content")) {
            return "a value or a closing bracket is missing";
        }
        if (problem.equals("found unexpected end of stream") && context.endsWith("quoted scalar")) {
            return "a quoted text is not closed; add the quote";
        }
        return problem;
    }

    /**
     * Checks that another YAML reader can parse a text in reasonable time.
     *
     * @param text the text
     * @throws IllegalArgumentException if a line is too long, or the text contains a character that YAML does not
     *     allow. The message is a predicate, to follow the name of the text
     */
    public static void requireReadable(String text) {
        try {
            requireScannable(text);
        } catch (Unreadable e) {
            throw new IllegalArgumentException(e.getMessage() + " (line " + e.line + ")", e);
        }
    }

    /** Throws at the first character that YAML does not allow, and at the first line that is too long. */
    private static void requireScannable(String text) {
        int line = 1;
        int lineStart = 0;
        for (int i = 0; i < text.length(); i += Character.charCount(text.codePointAt(i))) {
            int c = text.codePointAt(i);
            if (!StreamReader.isPrintable(c)) {
                throw new Unreadable(line, String.format("contains a character that YAML does not allow: U+%04X", c));
            }
            if (c == '\n') {
                line++;
                lineStart = i + 1;
            } else if (i - lineStart >= MAX_LINE_LENGTH) {
                throw new Unreadable(line, "has a line with more than " + MAX_LINE_LENGTH + " characters");
            }
        }
    }
}
