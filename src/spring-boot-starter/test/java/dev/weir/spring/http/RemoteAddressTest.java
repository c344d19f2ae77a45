package dev.weir.spring.http;

import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.event.Request;
import dev.weir.spring.WeirProperties;
import java.net.Inet6Address;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.boot.context.properties.source.MapConfigurationPropertySource;
import org.springframework.mock.http.server.reactive.MockServerHttpRequest;
import org.springframework.mock.web.MockHttpServletRequest;
import org.springframework.mock.web.server.MockServerWebExchange;

/** The client {@code remote-address}: the address of a caller as servers and proxies write it. */
class RemoteAddressTest {

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
            2001:db8:0:1:2:3:4:5            | 64  | 2001:db8:0:1::/64
            2001:DB8:0:1:FFFF:FFFF:FFFF:FF  | 64  | 2001:db8:0:1::/64
            2001:db8:0:2:2:3:4:5            | 64  | 2001:db8:0:2::/64
            2001:db8:0:1ff:2:3:4:5          | 56  | 2001:db8:0:100::/56
            2001:db8:0:1:0:0:0:5            | 127 | 2001:db8:0:1::4/127
            2001:db8:0:1:0:0:0:5            | 128 | 2001:db8:0:1::5
            2001:db8:0:1:0:0:0:5            | 1   | ::/1
            0:0:0:0:0:0:0:1                 | 64  | ::/64
            198.51.100.7                    | 64  | 198.51.100.7
            198.51.100.7                    | 1   | 198.51.100.7
            ::ffff:198.51.100.7             | 64  | 198.51.100.7
            0:0:0:0:0:FFFF:C633:6407        | 128 | 198.51.100.7
            fe80:0:0:0:1:2:3:4%eth0         | 64  | fe80::/64
            fe80:0:0:0:1:2:3:4%3            | 128 | fe80::1:2:3:4
            [2001:db8:0:1:2:3:4:5]          | 64  | 2001:db8:0:1::/64
            [2001:db8:0:1:2:3:4:5]:4711     | 64  | 2001:db8:0:1::/64
            [fe80::1%eth0]:4711             | 64  | fe80::/64
            198.51.100.7:4711               | 64  | 198.51.100.7
            """)
    void an_ipv6_address_is_counted_by_its_prefix(String address, int prefix, String client) {
        assertThat(servlet(address, Map.of("weir.filter.ipv6-prefix", prefix)).client())
                .isEqualTo(client);
    }

    /** Looked up by DNS, localhost would be 127.0.0.1, and 127.1 too. */
    @ParameterizedTest
    @ValueSource(
            strings = {"localhost", "127.1", "010.0.0.1", "2001:db8::g", "2001:db8::1::2", "[::1", "host%eth0", "%"})
    void a_text_that_is_not_an_address_stays_as_it_is(String text) {
        assertThat(servlet(text, Map.of()).client()).isEqualTo(text);
    }

    @Test
    void the_prefix_has_64_bits_unless_it_is_configured() {
        assertThat(servlet("2001:db8:0:1:2:3:4:5", Map.of()).client()).isEqualTo("2001:db8:0:1::/64");
    }

    @Test
    void web_flux_counts_the_same_clients() throws Exception {
        byte[] bytes = InetAddress.getByName("fe80::1:2:3:4").getAddress();
        assertThat(reactive(new InetSocketAddress(Inet6Address.getByAddress(null, bytes, 3), 4711)))
                .isEqualTo("fe80::/64");
        assertThat(reactive(InetSocketAddress.createUnresolved("[2001:db8:0:1:2:3:4:5]", 0)))
                .isEqualTo("2001:db8:0:1::/64");
    }

    private static Request servlet(String address, Map<String, ?> properties) {
        MockHttpServletRequest http = new MockHttpServletRequest("GET", "/");
        http.setRemoteAddr(address);
        return WeirServletFilter.mapper(mapping(properties)).map(http);
    }

    private static String reactive(InetSocketAddress address) {
        MockServerWebExchange exchange =
                MockServerWebExchange.from(MockServerHttpRequest.get("/").remoteAddress(address));
        return WeirReactiveFilter.mapper(mapping(Map.of()))
                .map(exchange)
                .map(Request::client)
                .block();
    }

    private static HttpRequestMapping mapping(Map<String, ?> properties) {
        Binder binder = new Binder(new MapConfigurationPropertySource(properties));
        return new HttpRequestMapping(
                binder.bindOrCreate("weir", WeirProperties.class).filter());
    }
}
