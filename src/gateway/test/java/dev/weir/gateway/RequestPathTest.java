package dev.weir.gateway;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** All spellings of a path must be the same path for policies. */
class RequestPathTest {

    @ParameterizedTest
    @CsvSource(textBlock = """
            /                          , /
            /articles/7                , /articles/7
            /articles/7/               , /articles/7/
            //articles///7             , /articles/7
            /%61rticles/%37            , /articles/7
            /articles/../admin         , /admin
            /articles/%2e%2E/admin     , /admin
            /../../a                   , /a
            /a/./b/.                   , /a/b/
            /a/b/..                    , /a/
            /..                        , /
            /a%2fb                     , /a/b
            /a%2F%2e%2e%2Fb            , /b
            /a;v=1/b;x                 , /a/b
            /a/..;/b                   , /b
            /;/a                       , /a
            /a%3bv=1/b                 , /a%3Bv=1/b
            /caf%c3%a9                 , /caf%C3%A9
            /100%                      , /100%
            /100%zz%4                  , /100%zz%4
            /.well-known/x             , /.well-known/x
            /a..b/...                  , /a..b/...
            *                          , /*
            a/b                        , /a/b
            """)
    void a_path_is_normalized(String raw, String normal) {
        assertThat(RequestPath.normalize(raw)).isEqualTo(normal);
        assertThat(RequestPath.normalize(normal)).isEqualTo(normal);
    }

    @ParameterizedTest
    @CsvSource(textBlock = """
            /a?b=c                       , /a  , b=c , h
            /a                           , /a  , ''  , h
            /a?                          , /a  , ''  , h
            /a#f?x                       , /a  , ''  , h
            https://other.example/a?b    , /a  , b   , h
            https://other.example        , /   , ''  , h
            """)
    void a_target_is_split(String target, String path, String query, String host) {
        ProxiedRequest request = ProxiedRequest.of("GET", target, "H:80", () -> "::1", name -> List.of());
        assertThat(List.of(request.path(), request.query(), request.host())).containsExactly(path, query, host);
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
        assertThat(ProxiedRequest.of("GET", "/", header, () -> "::1", name -> List.of())
                        .host())
                .isEqualTo(host);
    }
}
