package dev.weir.definition;

import dev.weir.definition.TreeBuilder.Unreadable;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.CharBuffer;
import java.nio.charset.CoderResult;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;

/** Reads text files up to a maximum length. */
final class TextFile {

    private TextFile() {}

    /**
     * Returns the text of a file in UTF-8.
     *
     * @throws IOException if the file cannot be read
     * @throws Unreadable if the file is too long or not valid UTF-8
     */
    static String read(Path file, int maxBytes) throws IOException {
        byte[] bytes;
        try (InputStream in = Files.newInputStream(file)) {
            bytes = in.readNBytes(maxBytes + 1);
        }
        if (bytes.length > maxBytes) {
            throw new Unreadable(1, "has more than " + maxBytes + " bytes");
        }
        CharBuffer chars = CharBuffer.allocate(bytes.length);
        CoderResult result = StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(bytes), chars, true);
        String text = chars.flip().toString();
        if (result.isError()) {
            int line = 1 + (int) text.chars().filter(c -> c == '\n').count();
            throw new Unreadable(line, "is not valid UTF-8");
        }
        return text;
    }
}
