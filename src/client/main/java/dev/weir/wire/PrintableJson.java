package dev.weir.wire;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.SerializableString;
import com.fasterxml.jackson.core.io.CharacterEscapes;
import com.fasterxml.jackson.core.io.SerializedString;
import dev.weir.fault.SafeText;

/**
 * JSON that says the same with escapes in place of what a terminal would obey or not show: JSON itself asks for them
 * only below the space, and a terminal knows more control characters. Of a pair of surrogates it sees each half, and
 * lets both be.
 */
public final class PrintableJson extends CharacterEscapes {

    private static final long serialVersionUID = 1L;

    private static final int DELETE = 0x7F;

    private PrintableJson() {}

    /** A factory whose generators write so. */
    public static JsonFactory factory() {
        return new JsonFactory().setCharacterEscapes(new PrintableJson());
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
