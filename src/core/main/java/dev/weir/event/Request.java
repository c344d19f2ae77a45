package dev.weir.event;

import java.util.Map;

/**
 * A request for quota.
 *
 * @param requestId names the request in its decision
 * @param client whose quota is used
 * @param kind what it wants
 * @param tier the client's plan, null if it has none
 * @param cost tokens, 0 or more; signed for {@link RequestKind#SETTLE}
 * @param sizeBytes size of the request itself, null if unknown
 * @param attributes what policies match on, beside tier and client
 * @param deadlineMs the request is useless after this time, null if it never is
 * @param payload carried along untouched, null if there is none
 * @param queue where a {@link RequestKind#CANCEL} looks for the request, null for other kinds
 * @param timestampMs when it came, ms since the epoch
 * @param source where it was read
 */
@SuppressWarnings("ArrayRecordComponent") // the payload is carried, never compared
public record Request(
        String requestId,
        String client,
        RequestKind kind,
        String tier,
        long cost,
        Long sizeBytes,
        Map<String, String> attributes,
        Long deadlineMs,
        byte[] payload,
        String queue,
        long timestampMs,
        Source source) {

    /**
     * Where a request was read.
     *
     * @param partition of the request topic
     * @param offset in that partition
     */
    public record Source(int partition, long offset) {

        /** Of what is decided where it is asked, and is on no topic. */
        public static final Source NONE = new Source(-1, -1);
    }

    /**
     * The value that policies see under a name: {@code client}, {@code tier}, or an attribute.
     *
     * @return null if the request has none
     */
    public String field(String name) {
        return switch (name) {
            case "client" -> client;
            case "tier" -> tier;
            default -> attributes.get(name);
        };
    }
}
