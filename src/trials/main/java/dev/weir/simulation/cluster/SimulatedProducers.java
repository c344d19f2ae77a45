package dev.weir.simulation.cluster;

import dev.weir.event.Decision;
import dev.weir.event.Request;
import dev.weir.event.RequestKind;
import dev.weir.simulation.schedule.SchedulePlan;
import dev.weir.simulation.schedule.SchedulePolicies;
import dev.weir.wire.RequestCodec;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import org.apache.kafka.common.header.Headers;
import org.apache.kafka.common.header.internals.RecordHeaders;

/**
 * The load of producers. They are not idempotent, so requests arrive out of order and sometimes twice. Clients also
 * retry, cancel, and send invalid requests.
 */
public final class SimulatedProducers {

    private static final RequestCodec AVRO = new RequestCodec();
    private static final Request.Source NOWHERE = new Request.Source(0, 0);
    private static final Set<String> SHAPED = Set.of(
            "queue",
            "burst",
            "lane",
            SchedulePolicies.DESK,
            SchedulePolicies.RUSH,
            SchedulePolicies.CREW,
            SchedulePolicies.STAFF);
    private static final Set<String> SETTLED = Set.of("counter", "interval", "hour");
    /** The costs of settlements: refunds, small costs, and one far beyond any limit. */
    private static final long[] SETTLEMENTS = {-2, -1, 1_000_000_000L, 1, 2};

    /** The cost of a request of the tier whose limit is so high that quota of it is also lent in reserve. */
    private static final int HOUR_COST = 8;

    private static final Long RESERVE_MS = 500L;
    private static final Long SHARED_RESERVE_MS = 20_000L;

    /** The tiers of shared limits whose requests sometimes reserve. */
    private static final List<String> RESERVED = List.of("pool", "both", SchedulePolicies.HOUR);

    private static final int CLIENTS_A_TIER = 2;
    private static final int UNDER_WAY = 3;

    private final Random random;
    private final List<Request> underWay = new ArrayList<>();
    private final List<Request> sent = new ArrayList<>();
    private final Set<List<String>> known = new HashSet<>(); // clients and ids of reservations
    private final boolean repeatsShaped;
    private final boolean reservesShared;
    private final List<String> tiers;
    private final boolean misplaces;
    private final int partitions;
    private int left;
    private int late;

    /**
     * A record for the requests topic.
     *
     * @param partition the partition, null to use that of the key
     */
    @SuppressWarnings("ArrayRecordComponent") // never compared
    public record Sent(byte[] key, byte[] value, Headers headers, Integer partition) {}

    public SimulatedProducers(Random random, SchedulePlan plan) {
        this.random = random;
        this.left = plan.traffic().requests();
        this.repeatsShaped = plan.traffic().repeatsShaped();
        this.reservesShared = random.nextInt(4) > 0;
        this.tiers = plan.tiers();
        this.misplaces = plan.traffic().misplaces();
        this.partitions = plan.size().partitions();
    }

    public boolean isOver() {
        return left == 0 && underWay.isEmpty();
    }

    /** Returns the next record. */
    public Sent next(long nowMs) {
        while (left > 0 && underWay.size() < UNDER_WAY) {
            underWay.add(make(nowMs));
            left--;
        }
        Request request = underWay.remove(random.nextInt(underWay.size()));
        boolean mayComeTwice = repeatsShaped || !isShaped(request.tier());
        if (mayComeTwice && random.nextInt(20) == 0) {
            underWay.add(request);
        }
        sent.add(request);
        return record(request);
    }

    private Sent record(Request request) {
        Headers headers = new RecordHeaders();
        if (random.nextInt(4) == 0) {
            headers.add("trace", new byte[] {(byte) random.nextInt(100)});
        }
        if (random.nextInt(10) == 0) {
            headers.add("weir.origin", bytes("0:" + random.nextInt(100) + ":0")); // a forged header
        }
        byte[] value = random.nextInt(60) == 0 ? new byte[] {(byte) random.nextInt(5)} : AVRO.encode(request);
        if (!misplaces || random.nextInt(2) == 0) {
            return new Sent(bytes(request.client()), value, headers, null);
        }
        return switch (random.nextInt(3)) {
            case 0 -> new Sent(null, value, headers, random.nextInt(partitions));
            case 1 -> new Sent(bytes("another"), value, headers, null);
            default -> new Sent(bytes(request.client()), value, headers, random.nextInt(partitions));
        };
    }

    private Request make(long nowMs) {
        String tier = tiers.get(random.nextInt(tiers.size()));
        String client = tier + random.nextInt(CLIENTS_A_TIER);
        if (random.nextInt(8) == 0 && !sent.isEmpty()) {
            Request again = sent.get(random.nextInt(sent.size()));
            if (again.isForReservation()) {
                return again;
            }
            if (!isShaped(again.tier()) || (repeatsShaped && random.nextBoolean())) {
                boolean isOther = !isShaped(again.tier()) && left % 4 == 0;
                return isOther ? ofCost(again, again.cost() + 1) : again;
            }
            return again.kind() == RequestKind.CONSUME ? cancel(again) : request("r" + left, client, tier, nowMs);
        }
        return request("r" + left, client, tier, nowMs);
    }

    private static boolean isShaped(String tier) {
        return tier != null && SHAPED.contains(tier);
    }

    private Request request(String id, String client, String tier, long nowMs) {
        if (tier.equals(SchedulePolicies.SLOTS) && random.nextInt(2) == 0) {
            return ofReservation(id, client);
        }
        if (reservesShared && RESERVED.contains(tier) && random.nextBoolean()) {
            Request end = ofShared(id, client);
            if (end != null) {
                return end;
            }
        }
        boolean settles = SETTLED.contains(tier);
        RequestKind kind = random.nextInt(10) == 0
                ? RequestKind.PEEK
                : settles && random.nextInt(8) == 0 ? RequestKind.SETTLE : RequestKind.CONSUME;
        long cost = kind == RequestKind.SETTLE
                ? SETTLEMENTS[random.nextInt(SETTLEMENTS.length)]
                : (random.nextInt(8) == 0 ? random.nextInt(4) : 1)
                        * (tier.equals(SchedulePolicies.HOUR) ? HOUR_COST : 1);
        Long deadlineMs = isShaped(tier) && random.nextInt(4) == 0 ? (Long) (nowMs + random.nextInt(1_000)) : null;
        return Request.builder(id, client)
                .kind(kind)
                .tier(tier)
                .cost(cost)
                .attributes(Map.of("endpoint", "/" + random.nextInt(2)))
                .deadlineMs(deadlineMs)
                .payload(random.nextInt(4) == 0 ? bytes(id) : null)
                .reserveMs(reserveMs(tier, kind))
                .source(NOWHERE)
                .build();
    }

    /** Has requests end a reservation more often than others, of which most do not exist. */
    public void reserved(Decision decision) {
        known.add(List.of(decision.client(), decision.requestId()));
    }

    private Long reserveMs(String tier, RequestKind kind) {
        if (kind == RequestKind.SETTLE) {
            return null;
        }
        if (tier.equals(SchedulePolicies.SLOTS)) {
            return random.nextInt(3) == 0 ? RESERVE_MS : null;
        }
        return reservesShared && RESERVED.contains(tier) && random.nextInt(5) > 0 ? SHARED_RESERVE_MS : null;
    }

    /** Returns a request that ends or prolongs a recent reservation of shared limits, null if there is none. */
    private Request ofShared(String id, String client) {
        List<Request> reserved = sent.stream()
                .filter(one ->
                        one.client().equals(client) && one.kind() == RequestKind.CONSUME && one.reserveMs() != null)
                .toList();
        List<Request> open = reserved.stream()
                .filter(one -> known.contains(List.of(one.client(), one.requestId())))
                .toList();
        if (reserved.isEmpty() || open.isEmpty() && random.nextInt(4) > 0) {
            return null;
        }
        List<Request> some = open.isEmpty() || random.nextInt(8) == 0 ? reserved : open;
        return end(id, some.get(random.nextInt(some.size())));
    }

    /**
     * Returns a request that reserves under shared limits, or ends such a reservation, after all others are sent; empty if
     * there are no such limits.
     */
    public Optional<Sent> late(long nowMs) {
        if (!reservesShared || !tiers.containsAll(RESERVED)) {
            return Optional.empty();
        }
        List<Request> open = sent.stream()
                .filter(one -> one.kind() == RequestKind.CONSUME
                        && SHARED_RESERVE_MS.equals(one.reserveMs())
                        && known.contains(List.of(one.client(), one.requestId())))
                .toList();
        String id = "e" + late++;
        Request request;
        if (open.isEmpty() || random.nextBoolean()) {
            String tier = RESERVED.get(random.nextInt(RESERVED.size()));
            request = request(id, tier + random.nextInt(CLIENTS_A_TIER), tier, nowMs);
        } else {
            Request of = open.get(random.nextInt(open.size()));
            known.remove(List.of(of.client(), of.requestId()));
            request = end(id, of);
        }
        sent.add(request);
        return Optional.of(record(request));
    }

    private Request end(String id, Request of) {
        Request.Builder request = Request.builder(of.requestId(), of.client()).source(NOWHERE);
        return switch (random.nextInt(8)) {
            case 0 -> request.kind(RequestKind.RENEW).build();
            case 1 -> request.kind(RequestKind.RELEASE).build();
            case 2, 3 -> request.kind(RequestKind.CANCEL).build();
            default ->
                request.requestId(id)
                        .kind(RequestKind.SETTLE)
                        .settles(of.requestId())
                        .cost(random.nextInt(4) == 0 ? of.cost() + 1 : random.nextInt((int) of.cost() + 1) / 2)
                        .build();
        };
    }

    /**
     * Returns a request that ends or prolongs a recent reservation, or frees the usage of the client. Many reservations
     * are never ended, some twice, some before they are requested.
     */
    private Request ofReservation(String id, String client) {
        List<Request> reserved = sent.stream()
                .filter(one -> one.client().equals(client) && one.kind() == RequestKind.CONSUME)
                .toList();
        int back = random.nextInt(6);
        Request of = back < 5 && !reserved.isEmpty() ? reserved.get(Math.max(0, reserved.size() - 1 - back)) : null;
        String reservation = of == null ? "r" + (left - 1) : of.requestId();
        long estimate = of == null ? 1 : of.cost();
        Request.Builder request = Request.builder(reservation, client).source(NOWHERE);
        return switch (random.nextInt(12)) {
            case 0 ->
                request.requestId(id)
                        .kind(RequestKind.RESET)
                        .tier(SchedulePolicies.SLOTS)
                        .build();
            case 1, 2 -> request.kind(RequestKind.RENEW).build();
            case 3 -> request.kind(RequestKind.CANCEL).build();
            case 4, 5, 6 ->
                request.requestId(id)
                        .kind(RequestKind.SETTLE)
                        .settles(reservation)
                        .cost(random.nextInt((int) estimate + (client.startsWith(SchedulePolicies.SLOTS) ? 1 : 3)))
                        .build();
            default -> request.kind(RequestKind.RELEASE).build();
        };
    }

    /**
     * Returns a request with the id of another one and another cost, which a policy with {@code idempotency} denies.
     */
    private static Request ofCost(Request of, long cost) {
        return of.toBuilder().cost(cost).timestampMs(0).source(NOWHERE).build();
    }

    private Request cancel(Request of) {
        return Request.builder(of.requestId(), of.client())
                .kind(RequestKind.CANCEL)
                .tier(of.tier())
                .queue(SchedulePolicies.queueOf(of.tier(), random))
                .source(NOWHERE)
                .build();
    }

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }
}
