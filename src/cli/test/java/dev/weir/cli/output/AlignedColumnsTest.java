package dev.weir.cli.output;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.junit.jupiter.api.Test;

class AlignedColumnsTest {

    @Test
    void text_is_aligned_left_and_numbers_right() {
        List<List<String>> rows = List.of(List.of("LANE", "ns"), List.of("a", "1,000"), List.of("longer", "9"));

        assertThat(AlignedColumns.lines(rows, 1)).containsExactly("LANE       ns", "a       1,000", "longer      9");
        assertThat(AlignedColumns.lines(rows, 2)).containsExactly("LANE    ns", "a       1,000", "longer  9");
    }

    @Test
    void a_row_is_always_one_line() {
        List<List<String>> rows = List.of(List.of("a\nb", "\u001b[31m"), List.of("@|red c|@", "d"));

        assertThat(AlignedColumns.lines(rows, 2)).containsExactly("a\\u000ab   \\u001b[31m", "@|red c|@  d");
    }
}
