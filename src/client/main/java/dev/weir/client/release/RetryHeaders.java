package dev.weir.client.release;

import dev.weir.client.RequestBuilder;
import dev.weir.client.kafka.RequestCorrelation;
import dev.weir.event.Release;
import dev.weir.event.Request;
import dev.weir.policy.RequestRules;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.UUID;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.Headers;
import org.apache.kafka.common.header.internals.RecordHeader;

/** The headers that number the attempts of a release, and the request for its next attempt. */
final class RetryHeaders {

    static final String ATTEMPT = "weir.attempt";
    static final String FIRST_REQUEST_ID = "weir.first-request-id";

    /** The headers that are not copied from one attempt to the next. */
    private static final Set<String> OWN =
            Set.of(ATTEMPT, FIRST_REQUEST_ID, RequestCorrelation.HEADER, RequestCorrelation.REPLY_PARTITION);

    private RetryHeaders() {}

    /**
     * Returns the attempt of a release, or the one that its headers describe if its queue does not count them. Missing
     * or invalid headers mean the first attempt.
     */
    static ReleaseTask work(Release release, Headers headers) {
        String attempt = text(headers.lastHeader(ATTEMPT));
        String first = text(headers.lastHeader(FIRST_REQUEST_ID));
        if (release.attempt() != null) {
            String id = first == null ? release.requestId() : first;
            return new ReleaseTask(release, release.attempt().number(), id);
        }
        return attempt == null || first == null || !attempt.matches("[1-9][0-9]{0,8}")
                ? new ReleaseTask(release, 1, release.requestId())
                : new ReleaseTask(release, Integer.parseInt(attempt), first);
    }

    /**
     * Returns the id of an attempt. It is the same each time, so a policy with {@code idempotency} accepts the
     * attempt once.
     */
    static String requestId(String first, int attempt) {
        String id = first + "~" + attempt;
        return !RequestRules.isTooLong(id)
                ? id
                : UUID.nameUUIDFromBytes(first.getBytes(StandardCharsets.UTF_8)) + "~" + attempt;
    }

    static Request request(ReleaseTask work, int attempt) {
        Release release = work.release();
        RequestBuilder request = RequestBuilder.of(release.client())
                .requestId(requestId(work.firstRequestId(), attempt))
                .tier(release.tier())
                .cost(release.cost())
                .payload(release.payload());
        release.attributes().forEach(request::attribute);
        return request.build();
    }

    /** Returns the headers of a release, with those of the next attempt. */
    static List<Header> headers(ReleaseTask work, int attempt, Headers of) {
        List<Header> headers = new ArrayList<>();
        for (Header header : of) {
            if (!OWN.contains(header.key())) {
                headers.add(header);
            }
        }
        headers.add(new RecordHeader(ATTEMPT, String.valueOf(attempt).getBytes(StandardCharsets.UTF_8)));
        headers.add(new RecordHeader(FIRST_REQUEST_ID, work.firstRequestId().getBytes(StandardCharsets.UTF_8)));
        return headers;
    }

    private static String text(Header header) {
        return header == null || header.value() == null ? null : new String(header.value(), StandardCharsets.UTF_8);
    }
}
