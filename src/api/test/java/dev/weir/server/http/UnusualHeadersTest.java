package dev.weir.server.http;

import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.api.Caller;
import dev.weir.api.Reply;
import dev.weir.api.WeirService;
import dev.weir.config.WeirConfig;
import dev.weir.config.WeirConfig.Service;
import java.io.IOException;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** No header is an internal error: a wrong one is ignored, or rejected with what is wrong. */
@Tag("full")
class UnusualHeadersTest {

    private static final String TOKEN = "0123456789abcdef";

    private static WeirService service;
    private static Caller caller;

    @BeforeAll
    static void open() throws IOException {
        service = WeirService.open(
                WeirConfig.DEFAULTS.toBuilder()
                        .service(Service.DEFAULTS.withPort(0))
                        .build(),
                Map.of("WEIR_TOKEN", TOKEN));
        caller = Caller.of(service.port(), TOKEN);
    }

    @AfterAll
    static void close() {
        service.close();
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "application/json; charset=utf-7",
                "application/json;charset=iso-8859-1",
                "application/json; charset=no-such-charset",
                "application/json; charset=\"utf 8\"",
                "application/json; charset=%00",
                "application/yaml; charset=utf-16",
                "application/x-ndjson; charset=utf-7",
                "application/x-ndjson; charset=utf-16"
            })
    void a_body_in_another_charset_is_refused(String contentType) throws IOException {
        for (String[] route : new String[][] {
            {"POST", "/v1/decide"},
            {"POST", "/v1/validate"},
            {"POST", "/v1/peek"},
            {"POST", "/v1/backtest"},
            {"PUT", "/v1/policies/a"},
            {"PUT", "/v1/queues/a"}
        }) {
            Reply reply = caller.send(route[0], route[1], "{}", "Content-Type: " + contentType);
            assertThat(reply.status()).as(route[1] + reply).isEqualTo(415);
            assertThat(reply.detail()).isEqualTo("the charset of Content-Type must be UTF-8, or be left out");
        }
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "application/json",
                "application/json; charset=UTF-8",
                "application/json;charset=utf8",
                "application/json; charset=\"utf-8\"",
                "application/json; charset=",
                "application/json; x=charset=utf-7",
                "application/json;"
            })
    void a_body_in_utf_8_is_read(String contentType) throws IOException {
        assertThat(caller.send("POST", "/v1/decide", "[]", "Content-Type: " + contentType)
                        .status())
                .isEqualTo(200);
    }

    @Test
    void no_header_is_an_internal_error() throws IOException {
        List<String> headers = List.of(
                "Content-Type: text/plain; charset=utf-7",
                "Content-Type: application/x-www-form-urlencoded; charset=utf-7",
                "Content-Type: multipart/form-data",
                "Content-Type: multipart/form-data; boundary=",
                "Content-Type: ;;;=",
                "Content-Type: /",
                "Content-Type: application/json; charset=\"",
                "Accept: */*;q=NaN",
                "Accept: */*;q=1e999, ;;, /",
                "Accept: application/json;q=0x1p3",
                "Accept-Charset: no-such-charset",
                "Accept-Encoding: \u0001",
                "Accept-Language: ;;;q=, xx-\u00e9",
                "Authorization: Basic %%%",
                "Authorization: Bearer",
                "Cookie: $Version=1; =; a=\"\\",
                "Cookie: \u00e9=\u00e9; a",
                "If-Match: \"",
                "If-Match: \"99999999999999999999\"",
                "If-Match: W/, *",
                "If-None-Match: \"\u00e9\", ,",
                "If-Modified-Since: yesterday",
                "If-Range: x",
                "Range: bytes=9-1",
                "Expect: 100-continue, x",
                "Content-Encoding: gzip",
                "Content-Language: \u00e9",
                "Content-MD5: x",
                "Origin: ://",
                "Origin: http://\u00e9",
                "Referer: ://",
                "Sec-Fetch-Site: \u00e9",
                "Last-Event-ID: -9999999999999999999",
                "Upgrade: h2c",
                "HTTP2-Settings: ????",
                "Sec-WebSocket-Key: x",
                "Date: x",
                "X-Weir-Author: " + "a".repeat(5_000),
                "X-Weir-Reason: \u00e9\u200b",
                "X-Forwarded-For: :::::",
                "Forwarded: for=\"",
                "Weir-Forwarded: \u00e9",
                "Trailer: Content-Length",
                "TE: x;q=");
        Caller anyone = Caller.unchecked(service.port()).withToken(TOKEN);
        for (String header : headers) {
            for (Reply reply : List.of(
                    anyone.send("GET", "/v1/policies?limit=1", "", header),
                    anyone.send("GET", "/v1/policies/a", "", header),
                    anyone.send("GET", "/metrics", "", header),
                    anyone.send("GET", "/live", "", header),
                    anyone.send("DELETE", "/v1/policies/a", "", header),
                    anyone.send("POST", "/v1/decide?timeout=1s", "[]", header),
                    anyone.send("POST", "/v1/dead-letters/replay", "{}", header),
                    anyone.send("POST", "/v1/validate", "{}", header))) {
                assertThat(reply.status()).as(header + " " + reply).isNotEqualTo(500);
            }
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"?%zz", "?a=%FF", "?limit=%", "?=", "?&&", "?limit=\u0664", "?limit=1&limit=1", "?%00=%00"})
    void no_query_is_an_internal_error(String query) throws IOException {
        for (String path : List.of("/v1/policies", "/v1/usage/a", "/v1/usage/%FF", "/metrics", "/v1/dead-letters")) {
            Reply reply = caller.get(path + query);
            assertThat(reply.status()).as(path + query + reply).isNotEqualTo(500);
        }
    }
}
