package dev.weir.gateway;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.weir.http.PathRules;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The templates over a proxied request. */
class TemplateTest {

    private static final Map<String, List<String>> HEADERS = Map.of(
            "x-api-key",
            List.of("key-1"),
            "x-blank",
            List.of(" "),
            "x-twice",
            List.of("a", "b"),
            "x-plan",
            List.of("gold"));

    private static final ProxiedRequest REQUEST = ProxiedRequest.of(
            "PUT",
            "/a//%7Ec?tenant=blue%20sky&empty=&two=1&two=2&flag",
            "API.example.com:8443",
            PathRules.DEFAULTS,
            () -> "203.0.113.9",
            name -> HEADERS.getOrDefault(name.toLowerCase(Locale.ROOT), List.of()));

    @ParameterizedTest
    @CsvSource(delimiter = '~', quoteCharacter = '"', textBlock = """
            {method}                               ~ PUT
            {path}                                 ~ /a/ + c
            {query}                                ~ tenant=blue%20sky&empty=&two=1&two=2&flag
            {host}                                 ~ api.example.com
            {address}                              ~ 203.0.113.9
            {header.X-Api-Key}                     ~ key-1
            {header.x-missing|address}             ~ 203.0.113.9
            {header.x-blank|header.x-plan}         ~ gold
            {header.x-missing|'free plan'}         ~ free plan
            {'a|b}c'}                              ~ a|b}c
            {query.tenant}                         ~ blue sky
            tenant-{query.tenant}/{method}         ~ tenant-blue sky/PUT
            plain                                  ~ plain
            {header.x-missing}                     ~
            {query.empty}                          ~
            {query.flag}                           ~
            a{header.x-missing}b                   ~
            """)
    void a_template_has_the_value_of_its_parts(String template, String value) {
        assertThat(Template.parse(template).evaluate(REQUEST).orElse(null))
                .isEqualTo(value == null ? null : value.replace(" + ", "~"));
    }

    @ParameterizedTest
    @CsvSource(delimiter = '~', textBlock = """
            {header.x-twice}    ~ header x-twice is repeated
            {query.two}         ~ query parameter two is repeated
            """)
    void a_repeated_value_is_refused(String template, String message) {
        Template parsed = Template.parse(template);
        assertThatThrownBy(() -> parsed.evaluate(REQUEST))
                .isInstanceOf(InvalidCallException.class)
                .hasMessage(message);
    }

    @ParameterizedTest
    @CsvSource(delimiter = '~', quoteCharacter = '"', textBlock = """
            ""               ~ must not be empty
            {path            ~ has a { without a } behind it
            path}            ~ has a } without a { before it
            {pth}            ~ unknown part 'pth'; did you mean "path"?
            {}               ~ unknown part ''; a part is one of method, path, query, host, address, header.NAME, query.NAME, or a text in single quotes
            {header.}        ~ unknown part 'header.'; a part is one of method, path, query, host, address, header.NAME, query.NAME, or a text in single quotes
            {header.a b}     ~ unknown part 'header.a b'; a part is one of method, path, query, host, address, header.NAME, query.NAME, or a text in single quotes
            {path|'x}        ~ has a { without a } behind it
            """)
    void an_invalid_template_is_described(String template, String message) {
        assertThatThrownBy(() -> Template.parse(template))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage(message);
    }

    @Test
    void the_query_is_absent_without_a_question_mark() {
        ProxiedRequest request = ProxiedRequest.of("GET", "/", "", PathRules.DEFAULTS, () -> "::1", name -> List.of());
        assertThat(Template.parse("{query}").evaluate(request)).isEmpty();
        assertThat(Template.parse("{host}").evaluate(request)).isEmpty();
    }
}
