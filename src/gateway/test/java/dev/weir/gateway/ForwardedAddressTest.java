package dev.weir.gateway;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.weir.address.IpAddresses;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The address of a client behind trusted proxies, with headers that a client has forged. */
class ForwardedAddressTest {

    private static final ForwardedAddress ADDRESSES = new ForwardedAddress(
            List.of(
                    AddressRange.parse("127.0.0.0/8"),
                    AddressRange.parse("10.0.0.0/8"),
                    AddressRange.parse("::1"),
                    AddressRange.parse("fd00::/8")),
            64);

    /** A semicolon separates several headers. */
    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
            198.51.100.7 |                                            | 198.51.100.7
            198.51.100.7 | 1.1.1.1                                    | 198.51.100.7
            127.0.0.1    |                                            | 127.0.0.1
            127.0.0.1    | 198.51.100.7                               | 198.51.100.7
            127.0.0.1    | 1.1.1.1, 198.51.100.7                      | 198.51.100.7
            127.0.0.1    | 1.1.1.1, 198.51.100.7, 10.0.0.2            | 198.51.100.7
            127.0.0.1    | 10.0.0.9, 198.51.100.7, 10.0.0.2           | 198.51.100.7
            127.0.0.1    | 1.1.1.1;198.51.100.7, 10.0.0.2             | 198.51.100.7
            127.0.0.1    | 198.51.100.7;10.0.0.2                      | 198.51.100.7
            127.0.0.1    | 10.0.0.3, 10.0.0.2                         | 10.0.0.3
            127.0.0.1    | 198.51.100.7:4711                          | 198.51.100.7
            127.0.0.1    | [2001:db8::7]:4711                         | 2001:db8::/64
            127.0.0.1    | [2001:db8::7]                              | 2001:db8::/64
            127.0.0.1    | 2001:DB8:0:0:1:2:3:4                       | 2001:db8::/64
            127.0.0.1    | ::ffff:198.51.100.7                        | 198.51.100.7
            ::1          | 2001:db8:1:2:3:4:5:6, fd00::1              | 2001:db8:1:2::/64
            127.0.0.1    | unknown                                    | 127.0.0.1
            127.0.0.1    | 1.1.1.1, garbage, 10.0.0.2                 | 10.0.0.2
            127.0.0.1    | 1.1.1.1,                                   | 127.0.0.1
            127.0.0.1    | 010.0.0.1                                  | 127.0.0.1
            127.0.0.1    | 1.1.1                                      | 127.0.0.1
            127.0.0.1    | localhost                                  | 127.0.0.1
            127.0.0.1    | fe80::1%eth0                               | 127.0.0.1
            127.0.0.1    | [::1                                       | 127.0.0.1
            """)
    void the_client_is_the_rightmost_address_that_is_not_trusted(String peer, String headers, String client) {
        List<String> values = headers == null ? List.of() : Arrays.asList(headers.split(";", -1));
        assertThat(ADDRESSES.text(ADDRESSES.client(IpAddresses.parse(peer).orElseThrow(), values)))
                .isEqualTo(client);
    }

    @ParameterizedTest
    @CsvSource(textBlock = """
            10.0.0.0/8        , 10.255.0.1          , true
            10.0.0.0/8        , 11.0.0.0            , false
            10.0.0.0/9        , 10.127.255.255      , true
            10.0.0.0/9        , 10.128.0.0          , false
            0.0.0.0/0         , 203.0.113.1         , true
            0.0.0.0/0         , ::1                 , false
            203.0.113.1       , 203.0.113.1         , true
            203.0.113.1       , 203.0.113.2         , false
            2001:db8::/32     , 2001:db8:ffff::1    , true
            2001:db8::/32     , 2001:db9::1         , false
            ::/0              , 2001:db9::1         , true
            """)
    void a_range_contains_the_addresses_with_its_prefix(String range, String address, boolean contains) {
        assertThat(AddressRange.parse(range).contains(IpAddresses.parse(address).orElseThrow()))
                .isEqualTo(contains);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "10.0.0.0/33",
                "10.0.0.0/",
                "10.0.0.0/08",
                "::/129",
                "localhost",
                "10.0.0/8",
                "/8",
                "1.2.3.4:80",
                "1.2.3.256",
                "1.2.3.04",
                "1.2.3.1000",
                "1.2.3.4.5",
                "1.2.3.",
                "1..3.4",
                "1.2.3.-4",
                "1.2.3.\u0664"
            })
    void an_invalid_range_is_refused(String range) {
        assertThatThrownBy(() -> AddressRange.parse(range))
                .hasMessage("must be an address or a range such as 10.0.0.0/8 or fd00::/8, is '" + range + "'");
    }

    @Test
    void a_range_with_bits_behind_its_prefix_is_refused() {
        assertThatThrownBy(() -> AddressRange.parse("10.1.2.3/8"))
                .hasMessage("'10.1.2.3/8' has bits behind its prefix; the range that contains it is 10.0.0.0/8");
    }
}
