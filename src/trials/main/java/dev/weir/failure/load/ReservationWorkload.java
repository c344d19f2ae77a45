package dev.weir.failure.load;

import dev.weir.event.Request;
import dev.weir.event.RequestKind;
import java.util.Comparator;
import java.util.Iterator;
import java.util.Map;
import java.util.PriorityQueue;
import java.util.Random;
import java.util.function.LongSupplier;

/**
 * Endless reservations of some clients, under own and shared limits, and the requests that end or prolong them: in time,
 * late, twice, with other costs, by other clients, or never. The clients send RESETs too. The requests depend only on the
 * seed and the clock. Not thread-safe.
 */
final class ReservationWorkload implements Iterator<Request> {

    private static final int HOLDERS = 4;
    private static final int CROWD = 6; // on all partitions, with high probability
    private static final int MAX_COST = 3;
    private static final int MIN_RESERVE_MS = 500;
    private static final int MAX_RESERVE_MS = 4_000;
    private static final int SOON_MS = 1_500;
    private static final int LATE_MS = 6_000;

    /** Most requests are decided by then that wait for a lease. */
    private static final int LEASE_WAIT_MS = 1_000;

    private static final String[] CROWDED = {"/held/crowd", "/held/seats"};
    private static final String[] ENDPOINTS = {"/held/tokens", "/held/budget", "/held/log", "/held/gcra"};
    private static final Request.Source UNSENT = new Request.Source(0, 0);

    private record Due(long atMs, long number, Request request) {}

    private final Random random;
    private final LongSupplier clockMs;
    private final boolean shares;
    private final PriorityQueue<Due> due =
            new PriorityQueue<>(Comparator.comparingLong(Due::atMs).thenComparingLong(Due::number));
    private long made;
    private long planned;

    /**
     * @param clockMs the current time, ms since the epoch
     * @param shares whether clients reserve under shared limits too
     */
    ReservationWorkload(long seed, LongSupplier clockMs, boolean shares) {
        random = new Random(seed * 31 + 7);
        this.clockMs = clockMs;
        this.shares = shares;
    }

    @Override
    public boolean hasNext() {
        return true;
    }

    @Override
    public Request next() {
        made++;
        long nowMs = clockMs.getAsLong();
        Request next = !due.isEmpty() && due.peek().atMs <= nowMs ? due.poll().request : make(nowMs);
        return next.toBuilder().timestampMs(nowMs).source(UNSENT).build();
    }

    private Request make(long nowMs) {
        boolean isShared = shares && random.nextInt(3) == 0;
        String client = isShared ? "crowd-" + random.nextInt(CROWD) : "holder-" + random.nextInt(HOLDERS);
        String[] endpoints = isShared ? CROWDED : ENDPOINTS;
        String endpoint = endpoints[random.nextInt(endpoints.length)];
        boolean isByTtl = !endpoint.equals(CROWDED[0]) && random.nextInt(3) == 0;
        Request request = Request.builder("h" + made, client)
                .tier(isShared ? null : "held")
                .cost(1 + random.nextInt(MAX_COST))
                .reserveMs(isByTtl ? null : (Long) (MIN_RESERVE_MS + random.nextLong(MAX_RESERVE_MS)))
                .attributes(Map.of("endpoint", endpoint))
                .build();
        int draw = random.nextInt(100);
        if (!isShared && draw == 0) {
            return request.toBuilder()
                    .kind(RequestKind.RESET)
                    .reserveMs(null)
                    .cost(1)
                    .policyId(random.nextInt(3) == 0 ? "seats" : null)
                    .build();
        } else if (draw < 4) {
            return request.toBuilder().kind(RequestKind.PEEK).build();
        }
        plan(request, isShared ? nowMs + LEASE_WAIT_MS : nowMs);
        return request;
    }

    /** Draws what becomes of a reservation. */
    private void plan(Request request, long fromMs) {
        long soonMs = fromMs + 20 + random.nextInt(SOON_MS);
        long lateMs = soonMs + random.nextInt(LATE_MS);
        long cost = random.nextInt((int) request.cost() + 1);
        switch (random.nextInt(20)) {
            case 0, 1 -> {} // its RELEASE is lost
            case 2, 3, 4 -> later(soonMs, end(request, RequestKind.RELEASE));
            case 5, 6 -> later(lateMs, end(request, RequestKind.RELEASE));
            case 7, 8, 9 -> later(soonMs, settle(request, cost));
            case 10, 11 -> later(lateMs, settle(request, cost));
            case 12 -> {
                later(soonMs, settle(request, cost));
                later(soonMs + random.nextInt(SOON_MS), settle(request, cost));
            }
            case 13 -> {
                later(soonMs, settle(request, cost));
                later(soonMs + random.nextInt(SOON_MS), settle(request, cost + 1));
            }
            case 14 -> later(soonMs, settle(request, request.cost() + 1 + random.nextInt(MAX_COST)));
            case 15, 16 -> later(soonMs, end(request, RequestKind.CANCEL));
            case 17 -> {
                later(fromMs + random.nextInt(SOON_MS), end(request, RequestKind.RENEW));
                later(soonMs + random.nextInt(SOON_MS), end(request, RequestKind.RENEW));
                later(lateMs, end(request, RequestKind.RELEASE));
            }
            case 18 -> {
                later(fromMs + random.nextInt(SOON_MS), request); // a retry
                later(soonMs, end(request, RequestKind.RELEASE));
                later(lateMs, end(request, RequestKind.CANCEL));
            }
            default -> {
                String other = request.client().equals("holder-0") ? "holder-1" : "holder-0";
                later(
                        soonMs,
                        Request.builder(request.requestId(), other)
                                .kind(RequestKind.RELEASE)
                                .build());
            }
        }
    }

    private void later(long atMs, Request request) {
        due.add(new Due(atMs, planned++, request));
    }

    private static Request end(Request of, RequestKind kind) {
        return Request.builder(of.requestId(), of.client()).kind(kind).build();
    }

    private Request settle(Request of, long cost) {
        return Request.builder("s" + planned, of.client())
                .kind(RequestKind.SETTLE)
                .settles(of.requestId())
                .cost(cost)
                .build();
    }
}
