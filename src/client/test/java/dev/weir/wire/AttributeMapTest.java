package dev.weir.wire;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.NoSuchElementException;
import org.junit.jupiter.api.Test;

class AttributeMapTest {

    /**
     * Reads a map whose names and values are single letters, alternately. A digit is the number of attributes in
     * a block.
     */
    private static Map<String, String> read(String blocks) throws IOException {
        byte[] bytes = new byte[1 + 4 * blocks.length()];
        int at = 0;
        for (int i = 0; i < blocks.length(); i++) {
            char c = blocks.charAt(i);
            bytes[at++] = (byte) (Character.isDigit(c) ? 2 * (c - '0') : 2);
            if (!Character.isDigit(c)) {
                bytes[at++] = (byte) c;
            }
        }
        return AttributeMap.read(new BytesDecoder(bytes, 0, 100), new StringInterner());
    }

    @Test
    void behaves_like_a_map() throws IOException {
        Map<String, String> attributes = read("3zyaxmn");
        Map<String, String> same = new HashMap<>(Map.of("z", "y", "a", "x", "m", "n"));
        assertThat(attributes).isEqualTo(same).hasSameHashCodeAs(same).hasSize(3);
        assertThat(same).isEqualTo(attributes);
        assertThat(attributes.get("a")).isEqualTo("x");
        assertThat(attributes.get("b")).isNull();
        assertThat(attributes.get(null)).isNull();
        assertThat(attributes.containsKey("z")).isTrue();
        assertThat(attributes.containsKey("y")).isFalse();
        assertThat(attributes).hasToString("{z=y, a=x, m=n}");
        assertThat(read("0")).isEmpty();
    }

    @Test
    void keeps_the_written_order() throws IOException {
        assertThat(read("3zyaxmn").keySet()).containsExactly("z", "a", "m");
        assertThat(read("3zyaxmn").values()).containsExactly("y", "x", "n");
        Iterator<Map.Entry<String, String>> one = read("1ab").entrySet().iterator();
        assertThat(one.next()).isEqualTo(Map.entry("a", "b"));
        assertThatThrownBy(one::next).isInstanceOf(NoSuchElementException.class);
    }

    @Test
    void the_last_value_of_a_repeated_name_wins() throws IOException {
        assertThat(read("3abcdae")).containsExactly(Map.entry("a", "e"), Map.entry("c", "d"));
    }

    @Test
    void many_attributes_in_several_blocks_are_all_read() throws IOException {
        Map<String, String> all = new LinkedHashMap<>();
        StringBuilder nine = new StringBuilder("9");
        for (char name = 'a'; name < 'j'; name++) {
            all.put(String.valueOf(name), "v");
            nine.append(name).append('v');
        }
        assertThat(read(nine.toString())).isEqualTo(all);
        assertThat(read("2abcd1ef1ag")).isEqualTo(Map.of("a", "g", "c", "d", "e", "f"));
    }

    @Test
    void is_immutable() throws IOException {
        Map<String, String> attributes = read("1ab");
        assertThatThrownBy(() -> attributes.put("a", "c")).isInstanceOf(UnsupportedOperationException.class);
        assertThatThrownBy(attributes::clear).isInstanceOf(UnsupportedOperationException.class);
        assertThatThrownBy(() -> attributes.remove("a")).isInstanceOf(UnsupportedOperationException.class);
    }

    @Test
    void interned_words_with_equal_hashes_are_distinct() {
        StringInterner words = new StringInterner();
        for (String text : new String[] {"Aa", "BB", "Aa", "", "żółw", "x".repeat(100)}) {
            byte[] bytes = ("-" + text + "-").getBytes(StandardCharsets.UTF_8);
            assertThat(words.text(bytes, 1, bytes.length - 2)).isEqualTo(text);
            assertThat(words.bytes(text)).isEqualTo(text.getBytes(StandardCharsets.UTF_8));
        }
        byte[] noUtf8 = {(byte) 0xFF};
        assertThat(words.text(noUtf8, 0, 1)).isEqualTo("\uFFFD").isEqualTo(words.text(noUtf8, 0, 1));
    }
}
