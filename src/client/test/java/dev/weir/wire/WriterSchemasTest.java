package dev.weir.wire;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.weir.event.Rejection;
import dev.weir.event.Request;
import dev.weir.fault.UnreadableException;
import dev.weir.wire.json.RequestJson;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.avro.Schema;
import org.apache.avro.generic.GenericRecord;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests of requests that were written with a registered schema. */
class WriterSchemasTest {

    private static final Request.Source SOURCE = new Request.Source(3, 14);
    private static final String FIELDS =
            "{\"name\":\"requestId\",\"type\":\"string\"},{\"name\":\"client\",\"type\":\"string\"}";

    /** A registry that returns the same schema for all ids, and counts the calls. */
    private static final class OneSchema implements SchemaRegistry {

        final List<String> texts;
        int calls;
        boolean isEmpty;

        OneSchema(String... texts) {
            this.texts = List.of(texts);
        }

        @Override
        public int id(String topic, String schema) {
            return 0x0A0B0C0D;
        }

        @Override
        public Optional<List<String>> schema(int id) {
            calls++;
            return isEmpty ? Optional.empty() : Optional.of(texts);
        }
    }

    @Test
    void a_header_is_a_zero_and_the_id_highest_byte_first() throws UnreadableException {
        OneSchema registry =
                new OneSchema(new dev.weir.avro.RequestEvent().getSchema().toString());
        RequestCodec avro = new RequestCodec(Optional.of(registry), "t");
        Request request = RequestJson.read("{\"requestId\":\"r\",\"client\":\"c\"}", 7, SOURCE);
        byte[] bytes = avro.encode(request);
        assertThat(HexFormat.of().formatHex(bytes)).isEqualTo("000a0b0c0d027202630000020000000000000000000000");
        assertThat(avro.decode(bytes, 7, SOURCE)).isEqualTo(request);
        assertThat(avro.decode(bytes, 7, SOURCE)).isEqualTo(request);
        assertThat(registry.calls).isOne();
    }

    @Test
    void without_a_registry_such_a_record_is_rejected() {
        assertThatThrownBy(() -> new RequestCodec().decode(new byte[20], 0, SOURCE))
                .isInstanceOfSatisfying(UnreadableException.class, e -> assertThat(e.rejection())
                        .isEqualTo(Rejection.UNKNOWN_FORMAT));
    }

    /** Otherwise each such record would cost a round trip to the registry, on the thread that decides. */
    @Test
    void an_unknown_id_is_looked_up_again_after_a_pause() throws Exception {
        OneSchema registry = new OneSchema("\"string\"");
        registry.isEmpty = true;
        AtomicLong nanos = new AtomicLong();
        WriterSchemas<Object> schemas = new WriterSchemas<>(registry, Schema.create(Schema.Type.STRING), nanos::get);
        for (int i = 0; i < 100; i++) {
            assertThatThrownBy(() -> schemas.of(new byte[20])).hasMessage("the registry has no schema 0");
        }
        assertThat(registry.calls).isOne();
        registry.isEmpty = false;
        nanos.set(WriterSchemas.MISSING_NANOS - 1);
        assertThatThrownBy(() -> schemas.of(new byte[20])).hasMessage("the registry has no schema 0");
        nanos.set(WriterSchemas.MISSING_NANOS);
        assertThat(schemas.of(new byte[20]).isWanted()).isTrue();
    }

    @Test
    void an_unresolvable_schema_is_looked_up_once() {
        OneSchema registry = new OneSchema("\"string\"");
        RequestCodec avro = new RequestCodec(Optional.of(registry));
        for (int i = 0; i < 3; i++) {
            assertThatThrownBy(() -> avro.decode(new byte[20], 0, SOURCE))
                    .hasMessage("schema 0 is not compatible with dev.weir.avro.RequestEvent");
        }
        assertThat(registry.calls).isOne();
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                // a recursive type, whose values can be as long as the record
                "{'type':'record','name':'N','fields':[{'name':'next','type':['null','N']}]}",
                // many nested records without bytes
                "{'type':'record','name':'A','fields':[{'name':'a','type':{'type':'record','name':'B','fields':["
                        + "{'name':'a','type':{'type':'record','name':'C','fields':[{'name':'a','type':"
                        + "{'type':'record','name':'D','fields':[{'name':'a','type':{'type':'record','name':'E','fields':[{'name':'n','type':'null'}]}},"
                        + "{'name':'b','type':'E'},{'name':'c','type':'E'},{'name':'d','type':'E'},{'name':'e','type':'E'}]}},"
                        + "{'name':'b','type':'D'},{'name':'c','type':'D'},{'name':'d','type':'D'},{'name':'e','type':'D'}]}},"
                        + "{'name':'b','type':'C'},{'name':'c','type':'C'},{'name':'d','type':'C'},{'name':'e','type':'C'}]}},"
                        + "{'name':'b','type':'B'},{'name':'c','type':'B'},{'name':'d','type':'B'},{'name':'e','type':'B'}]}"
            })
    void a_schema_that_takes_long_to_skip_is_rejected(String type) {
        OneSchema registry = new OneSchema("{\"type\":\"record\",\"name\":\"RequestEvent\",\"fields\":[" + FIELDS
                + ",{\"name\":\"more\",\"type\":" + type.replace('\'', '"') + "}]}");
        byte[] record = new byte[1 << 20];
        Arrays.fill(record, 5, record.length, (byte) 2);
        assertThatThrownBy(() -> new RequestCodec(Optional.of(registry)).decode(record, 0, SOURCE))
                .hasMessage("schema 0 has more than 1000 parts, or is recursive");
    }

    /** Fields that are not read, even the last ones, are part of the record. */
    @Test
    void trailing_bytes_make_a_record_invalid() throws UnreadableException {
        String schema = "{\"type\":\"record\",\"name\":\"RequestEvent\",\"fields\":[" + FIELDS
                + ",{\"name\":\"more\",\"type\":{\"type\":\"array\",\"items\":\"long\"}}]}";
        RequestCodec avro = new RequestCodec(Optional.of(new OneSchema(schema)));
        byte[] record = HexFormat.of().parseHex("0000000000" + "0272" + "0263" + "04020400");
        assertThat(avro.decode(record, 0, SOURCE).client()).isEqualTo("c");
        assertThatThrownBy(() -> avro.decode(Arrays.copyOf(record, record.length + 1), 0, SOURCE))
                .hasMessage("1 unexpected bytes after the record")
                .isInstanceOfSatisfying(UnreadableException.class, e -> assertThat(e.rejection())
                        .isEqualTo(Rejection.NOT_AVRO));
    }

    @Test
    void damaged_bytes_of_another_schema_are_rejected_or_read_but_never_fail_otherwise() {
        Schema another = new Schema.Parser()
                .parse("{\"type\":\"record\",\"name\":\"RequestEvent\",\"fields\":["
                        + FIELDS + ",{\"name\":\"cost\",\"type\":\"int\"},"
                        + "{\"name\":\"attributes\",\"type\":{\"type\":\"map\",\"values\":\"string\"}},"
                        + "{\"name\":\"more\",\"type\":{\"type\":\"array\",\"items\":\"long\"}}]}");
        GenericRecord event = SampleRecord.of(another, false);
        byte[] single = SampleRecord.bytes(event);
        byte[] good = new byte[single.length - 5];
        System.arraycopy(single, 10, good, 5, single.length - 10);
        RequestCodec avro = new RequestCodec(Optional.of(new OneSchema(another.toString())));
        Random random = new Random(11);
        int rejected = 0;
        for (int i = 0; i < 20_000; i++) {
            byte[] bytes = good.clone();
            for (int flips = random.nextInt(4); flips >= 0; flips--) {
                bytes[5 + random.nextInt(bytes.length - 5)] = (byte) random.nextInt(256);
            }
            try {
                avro.decode(bytes, 0, SOURCE);
            } catch (UnreadableException e) {
                rejected++;
            }
        }
        assertThat(rejected).isBetween(1_000, 19_999);
    }
}
