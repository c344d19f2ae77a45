package dev.weir.spring.http;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.weir.spring.WeirProperties;
import java.util.HashMap;
import java.util.Map;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.boot.context.properties.source.MapConfigurationPropertySource;
import org.springframework.mock.web.MockHttpServletRequest;

/** The paths that a filter decides, and their attribute. */
class HttpRequestMappingTest {

    private static HttpRequestMapping mapping(String properties) {
        Map<String, String> all = new HashMap<>();
        for (String property : properties.split(" ", -1)) {
            String[] parts = property.split("=", 2);
            all.put("weir.filter." + parts[0], parts[1]);
        }
        return new HttpRequestMapping(new Binder(new MapConfigurationPropertySource(all))
                .bindOrCreate("weir", WeirProperties.class)
                .filter());
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
            paths=/**                             | /a//%62;v=1         | true  | /a/b
            paths=/a/** exclude-paths=/a/free     | /a/x                | true  | /a/x
            paths=/a/** exclude-paths=/a/free     | /%61/x              | true  | /a/x
            paths=/a/** exclude-paths=/a/free     | /a/fr%65e           | false |
            paths=/a/** exclude-paths=/a/free     | /A/x                | false |
            paths=/a/** path.fold-case=true       | /A/X                | true  | /a/x
            paths=/A/** path.fold-case=true       | /A/X                | true  | /a/x
            paths=/** path.encoded-slash=decode   | /a%2Fb              | true  | /a/b
            paths=/a/* path.encoded-slash=decode  | /a/b%2Fc            | false |
            paths=/a/* path.encoded-slash=keep    | /a/b%2Fc            | true  | /a/b%2Fc
            paths=/é/**                           | /%C3%A9/%25         | true  | /é/%25
            """)
    void the_normal_form_of_a_path_counts(String properties, String path, boolean isDecided, String attribute) {
        HttpRequestMapping mapping = mapping(properties);
        assertThat(mapping.includes(path)).isEqualTo(isDecided);
        if (isDecided) {
            MockHttpServletRequest http = new MockHttpServletRequest("GET", path);
            assertThat(WeirServletFilter.mapper(mapping).map(http).attributes()).containsEntry("endpoint", attribute);
        }
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
            paths=/a/**                           | /x/..;/a            | the path has a dot segment
            paths=/a/** exclude-paths=/free/**    | /free/..;/a         | the path has a dot segment
            paths=/a/**                           | /a%2Fb              | the path has an encoded slash, %2F
            paths=/a/** path.double-slash=reject  | //h/a               | the path has a double slash
            """)
    void an_unclear_path_is_not_excluded_and_has_no_attribute(String properties, String path, String reason) {
        HttpRequestMapping mapping = mapping(properties);
        assertThat(mapping.includes(path)).isTrue();
        MockHttpServletRequest http = new MockHttpServletRequest("GET", path);
        assertThatThrownBy(() -> WeirServletFilter.mapper(mapping).map(http))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage(reason);
    }
}
