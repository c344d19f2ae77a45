package dev.weir.gateway.envoy.message;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.ListValue;
import com.google.protobuf.Struct;
import com.google.protobuf.Value;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

class StructWriterTest {

    private static final int MAX_LENGTH = 300; // more than a length of one byte can say

    /** Of one to four bytes. */
    private static final List<String> CHARACTERS = List.of("a", "é", "∞", "😀");

    private final Random random = new Random(11);

    /** A message, written and as an object. */
    private record Written(StructWriter bytes, Struct.Builder object) {}

    private String text() {
        StringBuilder text = new StringBuilder();
        for (int left = random.nextInt(MAX_LENGTH); left > 0; left--) {
            text.append(CHARACTERS.get(random.nextInt(CHARACTERS.size())));
        }
        return text.toString();
    }

    private Written message(int depth) {
        Written message = new Written(new StructWriter(), Struct.newBuilder());
        for (int i = random.nextInt(6); i > 0; i--) {
            String name = i + text();
            StructWriter.Key key = new StructWriter.Key(name);
            Value.Builder value = Value.newBuilder();
            switch (random.nextInt(depth > 0 ? 4 : 3)) {
                case 0 -> {
                    String text = text();
                    message.bytes.text(key, text);
                    value.setStringValue(text);
                }
                case 1 -> {
                    long number = random.nextLong() >> random.nextInt(Long.SIZE);
                    message.bytes.number(key, number);
                    value.setNumberValue(number);
                }
                case 2 -> {
                    message.bytes.isTrue(key);
                    value.setBoolValue(true);
                }
                default -> value.setListValue(list(message.bytes, key, depth));
            }
            message.object.putFields(name, value.build());
        }
        return message;
    }

    private ListValue list(StructWriter into, StructWriter.Key key, int depth) {
        StructWriter bytes = new StructWriter();
        ListValue.Builder object = ListValue.newBuilder();
        for (int i = random.nextInt(4); i > 0; i--) {
            Written element = message(depth - 1);
            bytes.element(element.bytes);
            object.addValues(Value.newBuilder().setStructValue(element.object));
        }
        into.list(key, bytes);
        return object.build();
    }

    @Test
    void messages_are_read_back_as_the_same_objects() throws InvalidProtocolBufferException {
        for (int i = 0; i < 500; i++) {
            Written message = message(2);
            assertThat(Struct.parseFrom(message.bytes.bytes())).isEqualTo(message.object.build());
        }
    }

    @Test
    void the_fields_of_a_message_can_be_part_of_another_one() throws InvalidProtocolBufferException {
        StructWriter fields = new StructWriter().number(new StructWriter.Key("a"), 1);
        StructWriter all = new StructWriter().isTrue(new StructWriter.Key("b")).fields(fields);
        assertThat(Struct.parseFrom(all.bytes()).getFieldsMap()).containsOnlyKeys("a", "b");
    }
}
