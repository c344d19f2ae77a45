package dev.weir.wire;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.weir.definition.PolicyFile;
import dev.weir.event.Request;
import dev.weir.fault.Faults;
import dev.weir.fault.FaultsException;
import dev.weir.fault.Spelling;
import dev.weir.fault.UnreadableException;
import dev.weir.wire.json.RequestJson;
import java.io.EOFException;
import java.lang.management.ManagementFactory;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Inputs that were once slow to read, used much memory, or caused unclear messages. Tests measure allocation, not time.
 */
class HostileInputTest {

    private static final com.sun.management.ThreadMXBean THREAD =
            (com.sun.management.ThreadMXBean) ManagementFactory.getThreadMXBean();

    private static final Request.Source SOURCE = new Request.Source(0, 7);

    /** The length is that of requestId, the first field, in Avro's encoding. */
    @ParameterizedTest
    @CsvSource({"16777216, 'invalid length 16777216'", "1048576, 'invalid length 1048576'", "-1, 'invalid length -1'"})
    void a_length_beyond_the_record_is_rejected_before_allocation(long length, String message) {
        byte[] good = new RequestCodec().encode(RequestJson.read("{\"requestId\":\"r\",\"client\":\"c\"}", 0, SOURCE));
        byte[] bad = new byte[20];
        System.arraycopy(good, 0, bad, 0, 10);
        long zigzag = (length << 1) ^ (length >> 63);
        for (int at = 10; at < bad.length; at++, zigzag >>>= 7) {
            bad[at] = (byte) ((zigzag & 0x7F) | (zigzag > 0x7F ? 0x80 : 0));
            if (zigzag <= 0x7F) {
                break;
            }
        }
        decode(good); // loads the classes
        long before = THREAD.getCurrentThreadAllocatedBytes();
        UnreadableException refused =
                catchThrowableOfType(UnreadableException.class, () -> new RequestCodec().decode(bad, 0, SOURCE));
        assertThat(THREAD.getCurrentThreadAllocatedBytes() - before).isLessThan(1 << 20);
        assertThat(refused).hasMessageStartingWith(message);
    }

    @Test
    void more_items_than_bytes_are_rejected_before_allocation() {
        byte[] fiveThousand = {(byte) 0x90, 0x4E, 1, 1, 1};
        assertThatExceptionOfType(EOFException.class)
                .isThrownBy(() -> new BytesDecoder(fiveThousand, 0, 10_000).readArrayStart())
                .withMessage("invalid count of 5000 items: 3 bytes remain");
    }

    private static void decode(byte[] value) {
        try {
            new RequestCodec().decode(value, 0, SOURCE);
        } catch (UnreadableException e) {
            throw new AssertionError(e);
        }
    }

    @Test
    void a_long_key_is_not_written_out_for_each_fault_below_it() {
        String text = "? \"" + "k".repeat(200_000) + "\"\n: [" + "&a 1,".repeat(2_000) + "1]\n";
        long before = THREAD.getCurrentThreadAllocatedBytes();
        FaultsException refused = catchThrowableOfType(FaultsException.class, () -> PolicyFile.read("f", text));
        assertThat(THREAD.getCurrentThreadAllocatedBytes() - before).isLessThan(300 << 20);
        assertThat(refused.faults())
                .hasSize(Faults.MAX_KEPT + 1)
                .allMatch(fault -> fault.path().length() < 300);
    }

    @Test
    void suggestions_come_from_a_thousand_words_and_at_most_two_edits() {
        List<String> known = java.util.stream.IntStream.range(0, 1_001)
                .mapToObj(i -> "queue-" + (1_000_000 + i))
                .toList();
        assertThat(Spelling.nearest("queue-100001", known)).isEqualTo("queue-1000001");
        assertThat(Spelling.nearest("queve-1000999", known)).isEqualTo("queue-1000999");
        assertThat(Spelling.nearest("qqqqq-2001000", known)).isNull();
        assertThat(Spelling.nearest("queue-1001000x", known))
                .as("the 1,001st word is not compared")
                .isNotEqualTo("queue-1001000");
        assertThat(Spelling.nearest("limt", List.of("limit", "list"))).isEqualTo("limit");
        assertThat(Spelling.nearest("ab", List.of("cd"))).isNull();
    }

    @ParameterizedTest
    @ValueSource(strings = {"\"\\ud800\"", "\"a\\udc00\""})
    void an_attribute_with_an_unencodable_name_is_rejected(String name) {
        String line = "{\"requestId\":\"r\",\"client\":\"c\",\"attributes\":{" + name + ":\"x\"}}";
        assertThatIllegalArgumentException()
                .isThrownBy(() -> RequestJson.read(line, 0, SOURCE))
                .withMessageContaining("surrogate");
    }

    @Test
    void a_partition_of_more_than_32_bits_is_rejected() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> RequestJson.read("{\"partition\":2147483648}", 0, SOURCE))
                .withMessage("partition must be a 32-bit integer, is 2147483648");
    }

    @Test
    void errors_about_a_request_are_one_line_of_bounded_length() {
        String field = "a\\n" + "b".repeat(40_000);
        assertThatExceptionOfType(IllegalArgumentException.class)
                .isThrownBy(() -> RequestJson.read("{\"" + field + "\":1}", 0, SOURCE))
                .satisfies(e -> assertThat(e.getMessage())
                        .startsWith("unknown field 'a\\u000abbb")
                        .hasSizeLessThan(600));
    }
}
