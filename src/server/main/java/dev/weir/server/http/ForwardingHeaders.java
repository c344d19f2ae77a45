package dev.weir.server.http;

import java.util.Locale;
import java.util.Set;
import java.util.stream.Stream;

/**
 * Recognizes the headers with which proxies and content delivery networks name the origin of a request, by their names:
 * {@code Forwarded} (RFC 7239), {@code Via} (RFC 9110), {@code CDN-Loop} (RFC 8586), {@code X-Forwarded-*}, and those
 * with an address, such as {@code X-Real-IP}, {@code True-Client-IP} or {@code CF-Connecting-IP}. There is no complete
 * list, so all names that have the form are included.
 */
final class ForwardingHeaders {

    private static final Set<String> NAMES = Set.of("via", "cdn-loop");
    private static final Set<String> PREFIXES = Set.of("forwarded", "x-forwarded", "x-original-", "x-envoy-", "cf-");

    /** Parts of names, between hyphens. */
    private static final Set<String> ADDRESS_PARTS = Set.of("ip", "ipv6", "addr", "clientip", "socketip");

    private ForwardingHeaders() {}

    /** Returns whether a header with this name is one of a forwarded request. Case does not matter. */
    static boolean contain(String name) {
        String lower = name.toLowerCase(Locale.ROOT);
        return NAMES.contains(lower)
                || PREFIXES.stream().anyMatch(lower::startsWith)
                || Stream.of(lower.split("[-_]", -1)).anyMatch(ADDRESS_PARTS::contains);
    }
}
