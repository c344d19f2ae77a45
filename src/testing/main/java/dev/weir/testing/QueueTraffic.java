package dev.weir.testing;

import dev.weir.event.Request;
import dev.weir.event.RequestKind;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;

/**
 * A generator of requests for the three queues {@code sms}, {@code mail} and {@code hooks}, which are selected by
 * {@code endpoint}. The requests have several clients and tiers; some have a deadline, and some are cancelled, at once
 * or later. A seed returns the same requests each time, with deadlines relative to the current time.
 */
public final class QueueTraffic {

    private static final String[] TIERS = {"platinum", "gold", "free", null};
    private static final String[] ENDPOINTS = {"/sms", "/sms", "/mail", "/hooks"};
    private static final int CLIENTS = 12;
    private static final int MAX_COST = 5;
    private static final int MIN_DEADLINE_MS = 200;
    private static final int MAX_DEADLINE_MS = 6_000;
    private static final Request.Source UNSENT = new Request.Source(0, 0);

    private final Random random;
    private final List<Request> sent = new ArrayList<>();

    public QueueTraffic(long seed) {
        random = new Random(seed);
    }

    /** Returns further requests, together with those that cancel some of them or earlier ones. */
    public List<Request> next(int count) {
        List<Request> next = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            Request request = request(System.currentTimeMillis());
            sent.add(request);
            next.add(request);
            if (random.nextInt(15) == 0) {
                next.add(cancel(random.nextBoolean() ? request : sent.get(random.nextInt(sent.size()))));
            }
        }
        return next;
    }

    private Request request(long nowMs) {
        boolean hasDeadline = random.nextInt(10) == 0;
        int deadlineInMs = MIN_DEADLINE_MS + random.nextInt(MAX_DEADLINE_MS - MIN_DEADLINE_MS);
        return Request.builder("r" + sent.size(), "c" + random.nextInt(CLIENTS))
                .tier(TIERS[random.nextInt(TIERS.length)])
                .cost(1 + random.nextInt(MAX_COST))
                .attributes(Map.of("endpoint", ENDPOINTS[random.nextInt(ENDPOINTS.length)]))
                .deadlineMs(hasDeadline ? (Long) (nowMs + deadlineInMs) : null)
                .payload(new byte[] {(byte) sent.size()})
                .timestampMs(nowMs)
                .source(UNSENT)
                .build();
    }

    private static Request cancel(Request of) {
        return Request.builder(of.requestId(), of.client())
                .kind(RequestKind.CANCEL)
                .queue(of.field("endpoint").substring(1))
                .timestampMs(of.timestampMs())
                .source(UNSENT)
                .build();
    }
}
