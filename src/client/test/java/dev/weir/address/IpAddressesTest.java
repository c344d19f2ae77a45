package dev.weir.address;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class IpAddressesTest {

    @ParameterizedTest
    @CsvSource(textBlock = """
            0:0:0:0:0:0:0:0           , ::
            0:0:0:0:0:0:0:1           , ::1
            2001:DB8:0:0:1:0:0:1      , 2001:db8::1:0:0:1
            2001:db8:0:1:1:1:1:1      , 2001:db8:0:1:1:1:1:1
            1:0:0:2:0:0:0:3           , 1:0:0:2::3
            1:2:3:4:5:6:7:0           , 1:2:3:4:5:6:7:0
            1:2:3:4:5:6:0:0           , 1:2:3:4:5:6::
            192.0.2.1                 , 192.0.2.1
            ::ffff:192.0.2.1          , 192.0.2.1
            ::FFFF:C000:201           , 192.0.2.1
            """)
    void addresses_have_one_spelling(String address, String text) {
        assertThat(IpAddresses.text(IpAddresses.parse(address).orElseThrow())).isEqualTo(text);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {"", "localhost", "127.1", "010.0.0.1", "1.2.3.4:80", "[::1]", "fe80::1%eth0", "::g", "1::2::3"})
    void other_texts_are_not_addresses(String text) {
        assertThat(IpAddresses.parse(text)).isEmpty();
    }

    @ParameterizedTest
    @CsvSource(textBlock = """
            192.0.2.1                 , 192.0.2.1
            192.0.2.1:4711            , 192.0.2.1
            2001:db8::1               , 2001:db8::1
            [2001:db8::1]             , 2001:db8::1
            [2001:db8::1]:4711        , 2001:db8::1
            """)
    void a_port_is_not_part_of_an_address(String text, String address) {
        assertThat(IpAddresses.parseWithPort(text).map(IpAddresses::text)).contains(address);
    }

    @ParameterizedTest
    @CsvSource(textBlock = """
            2001:db8:0:1:2:3:4:5      , 64  , 2001:db8:0:1::/64
            2001:db8:0:1ff:2:3:4:5    , 56  , 2001:db8:0:100::/56
            2001:db8:0:1::5           , 127 , 2001:db8:0:1::4/127
            2001:db8:0:1::5           , 128 , 2001:db8:0:1::5
            2001:db8:0:1::5           , 1   , ::/1
            192.0.2.1                 , 1   , 192.0.2.1
            """)
    void the_text_of_an_ipv6_caller_is_its_range(String address, int prefixLength, String text) {
        assertThat(IpAddresses.text(IpAddresses.parse(address).orElseThrow(), prefixLength))
                .isEqualTo(text);
    }

    /** RFC 6052 and RFC 8215 (NAT64), RFC 3056 (6to4), RFC 4380 (Teredo). */
    @ParameterizedTest
    @CsvSource(textBlock = """
            64:ff9b::c633:6407               , 64  , 198.51.100.7
            64:ff9b::198.51.100.8            , 64  , 198.51.100.8
            64:ff9b::198.51.100.8            , 128 , 198.51.100.8
            64:ff9b::198.51.100.8            , 32  , 198.51.100.8
            64:ff9b:1::198.51.100.7          , 64  , 198.51.100.7
            64:ff9b:1:abcd::10.1.2.3         , 64  , 10.1.2.3
            64:ff9b:1:c633:64:700::          , 64  , 64:ff9b:1:c633::/64
            64:ff9b::10.1.2.3                , 64  , 64:ff9b::/64
            64:ff9b::127.0.0.1               , 64  , 64:ff9b::/64
            64:ff9b:1::127.0.0.1             , 64  , 64:ff9b:1::/64
            64:ff9b:1::224.0.0.1             , 64  , 64:ff9b:1::/64
            64:ff9b:1::                      , 64  , 64:ff9b:1::/64
            64:ff9b:1::0.0.0.1               , 64  , 64:ff9b:1::/64
            64:ff9b::1:c633:6407             , 64  , 64:ff9b::/64
            64:ff9b:2::c633:6407             , 64  , 64:ff9b:2::/64
            2002:c633:6407:1::1              , 64  , 2002:c633:6407::/48
            2002:c633:6407:ffff:1:2:3:4      , 64  , 2002:c633:6407::/48
            2002:c633:6407:1::1              , 128 , 2002:c633:6407::/48
            2002:c633:6407:1::1              , 32  , 2002:c633::/32
            2001:0:c633:6407:0:1:2:3         , 64  , 2001:0:c633:6407::/64
            ::ffff:198.51.100.7              , 64  , 198.51.100.7
            ::198.51.100.7                   , 64  , ::/64
            """)
    void an_address_that_contains_an_ipv4_address_is_counted_as_its_host(
            String address, int prefixLength, String text) {
        assertThat(IpAddresses.text(IpAddresses.parse(address).orElseThrow(), prefixLength))
                .isEqualTo(text);
    }
}
