package dev.weir.definition;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.JsonToken;
import dev.weir.definition.TreeBuilder.Unreadable;
import dev.weir.definition.YamlTree.Kind;
import dev.weir.fault.Faults;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;

/**
 * Parses a document. JSON is parsed as JSON, because YAML 1.1 does not support all of it (tabs, {@code \/}). The events
 * of either parser are processed one by one, and no part of a document can refer to another, so the length of a
 * document bounds time and memory.
 */
final class DocumentReader {

    /** The maximum length of a document: bytes of a file, characters of a string. */
    static final int MAX_LENGTH = 16 << 20;

    private static final JsonFactory JSON = JsonFactory.builder()
            .disable(JsonFactory.Feature.INTERN_FIELD_NAMES)
            .build();

    private DocumentReader() {}

    /**
     * Parses a file.
     *
     * @throws IOException if the file cannot be read
     */
    static YamlTree read(Path file, Faults faults) throws IOException {
        try {
            return read(TextFile.read(file, MAX_LENGTH), faults);
        } catch (Unreadable e) {
            return unreadable(e, faults);
        }
    }

    static YamlTree read(String text, Faults faults) {
        try {
            if (text.length() > MAX_LENGTH) {
                throw new Unreadable(1, "has more than " + MAX_LENGTH + " characters");
            }
            String bare = text.startsWith("\uFEFF") ? text.substring(1) : text;
            TreeBuilder json = new TreeBuilder(faults);
            if (readJson(bare, json)) {
                return json.tree();
            }
            TreeBuilder yaml = new TreeBuilder(faults);
            YamlText.read(bare, yaml);
            return yaml.tree();
        } catch (Unreadable e) {
            return unreadable(e, faults);
        }
    }

    private static YamlTree unreadable(Unreadable why, Faults faults) {
        faults.add(why.line, "", why.getMessage());
        return YamlTree.root(faults, why.line, Kind.MISSING, null);
    }

    /** Returns whether the text is JSON. If it is not, the builder must be discarded. */
    private static boolean readJson(String text, TreeBuilder builder) {
        try (JsonParser parser = JSON.createParser(text)) {
            for (JsonToken token = parser.nextToken(); token != null; token = parser.nextToken()) {
                int line = parser.currentTokenLocation().getLineNr();
                switch (token) {
                    case START_OBJECT -> builder.startMapping(line);
                    case START_ARRAY -> builder.startList(line);
                    case END_OBJECT, END_ARRAY -> builder.end();
                    case FIELD_NAME, VALUE_STRING -> builder.quoted(parser.getText(), line);
                    default -> builder.plain(parser.getText(), line);
                }
            }
            return true;
        } catch (JsonProcessingException e) {
            return false;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
