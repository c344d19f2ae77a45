package dev.weir.gateway;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.weir.http.PathRules;
import java.util.List;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The parts of a request that a proxy has received. */
class ProxiedRequestTest {

    private static ProxiedRequest request(String target, String host) {
        return ProxiedRequest.of("GET", target, host, PathRules.DEFAULTS, () -> "::1", name -> List.of());
    }

    @ParameterizedTest
    @CsvSource(textBlock = """
            /a?b=c                       , /a  , b=c , h
            /a                           , /a  , ''  , h
            /a?                          , /a  , ''  , h
            /a;v=1//%62?c/../d;e         , /a/b, c/../d;e , h
            https://other.example/a?b    , /a  , b   , h
            https://other.example        , /   , ''  , h
            https://other.example?b      , /   , b   , h
            """)
    void a_target_is_split(String target, String path, String query, String host) {
        ProxiedRequest request = request(target, "H:80");
        assertThat(List.of(request.path(), request.query(), request.host())).containsExactly(path, query, host);
    }

    @ParameterizedTest
    @CsvSource(textBlock = """
            /a%2Fb                       , 'the path has an encoded slash, %2F'
            /a/..;/b?c                   , the path has a dot segment
            /a#b?c                       , the path has a number sign
            https://other.example/../a   , the path has a dot segment
            """)
    void an_unclear_path_is_invalid(String target, String reason) {
        assertThatThrownBy(() -> request(target, "h")).isInstanceOfSatisfying(InvalidCallException.class, failure -> {
            assertThat(failure.status()).isEqualTo(400);
            assertThat(failure).hasMessage(reason);
        });
    }

    @ParameterizedTest
    @CsvSource(textBlock = """
            Example.COM        , example.com
            example.com.       , example.com
            example.com:8443   , example.com
            [::1]:80           , [::1]
            [::1]              , [::1]
            """)
    void a_host_has_no_port_and_is_in_lower_case(String header, String host) {
        assertThat(request("/", header).host()).isEqualTo(host);
    }
}
