package dev.weir.http;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class PercentEncodingTest {

    @ParameterizedTest
    @CsvSource(textBlock = """
            abc              , abc
            a+b%2Bc          , a b+c
            caf%C3%A9        , café
            100%             , 100%
            %zz%4            , %zz%4
            é+%C3%A9         , é é
            😀+%F0%9F%98%80  , 😀 😀
            %FF              , \uFFFD
            """)
    void a_parameter_is_decoded(String text, String decoded) {
        assertThat(PercentEncoding.decodeParameter(text)).isEqualTo(decoded);
    }
}
