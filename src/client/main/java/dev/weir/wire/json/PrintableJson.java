package dev.weir.wire.json;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.SerializableString;
import com.fasterxml.jackson.core.io.CharacterEscapes;
import com.fasterxml.jackson.core.io.SerializedString;
import dev.weir.fault.SafeText;

/**
 * Escapes for JSON that is safe to print on a terminal. JSON itself requires escapes only for characters below the
 * space; this class also escapes all other characters that a terminal obeys or does not show. The value of the JSON is
 * the same. Jackson passes each half of a surrogate pair separately, and these are not escaped.
 */
public final class PrintableJson extends CharacterEscapes {

    private static final long serialVersionUID = 1L;

    private static final int DELETE = 0x7F;

    private PrintableJson() {}

    /**
     * Returns a factory whose generators use these escapes. Its parsers remember no field names, because callers choose
     * the names of attributes, and a table of them would grow with the callers.
     *
     * @return a new factory
     */
    public static JsonFactory factory() {
        return JsonFactory.builder()
                .disable(JsonFactory.Feature.INTERN_FIELD_NAMES)
                .disable(JsonFactory.Feature.CANONICALIZE_FIELD_NAMES)
                .build()
                .setCharacterEscapes(new PrintableJson());
    }

    @Override
    public int[] getEscapeCodesForAscii() {
        int[] codes = standardAsciiEscapesForJSON();
        codes[DELETE] = ESCAPE_STANDARD;
        return codes;
    }

    @Override
    public SerializableString getEscapeSequence(int c) {
        return Character.isSurrogate((char) c) || SafeText.isLegible(c)
                ? null
                : new SerializedString(SafeText.of(Character.toString(c)));
    }
}
