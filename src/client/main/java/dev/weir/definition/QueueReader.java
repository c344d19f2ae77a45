package dev.weir.definition;

import dev.weir.definition.PeriodReader.Duration;
import dev.weir.limit.Limit;
import dev.weir.policy.DurationsAndSizes;
import dev.weir.policy.Policy;
import dev.weir.policy.RequestRules;
import dev.weir.shape.rules.InFlightCaps;
import dev.weir.shape.rules.InFlightRules;
import dev.weir.shape.rules.QueueRules;
import dev.weir.shape.rules.QueueTotal;
import dev.weir.shape.rules.TierShare;
import dev.weir.shape.rules.TotalRate;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.regex.Pattern;

/** Reads one queue. A value with a fault is replaced by a harmless one, so that the rest is checked as well. */
final class QueueReader {

    static final List<String> KEYS = List.of(
            "id",
            "key",
            "limit",
            "per",
            "burst",
            "capacity",
            "max-wait",
            "look-ahead",
            "max-in-flight",
            "max-in-flight-per-client",
            "ack-timeout",
            "max-duration",
            "max-attempts",
            "retry-backoff",
            "total",
            "tiers",
            "fair-by");

    /** The keys that need {@code max-in-flight}. */
    private static final List<String> KEYS_OF_SLOTS =
            List.of("max-in-flight-per-client", "ack-timeout", "max-duration", "max-attempts", "retry-backoff");

    static final List<String> TOTAL_KEYS = List.of("limit", "per", "max-in-flight", "capacity");
    static final List<String> TIER_KEYS = List.of("priority", "weight", "min-share", "max-in-flight");

    private static final Pattern PERCENT = Pattern.compile("([1-9][0-9]?|100)%");
    private static final long MAX_PER_MS = 30 * 24 * 60 * 60 * 1000L;

    private QueueReader() {}

    /** Returns the queue. It must not be used if faults were added. */
    static QueueRules read(YamlTree tree, long version) {
        tree.fields(KEYS);
        String id = tree.require("id").read(name -> Policy.requireName("id", name));
        Map<String, YamlTree> shares = tree.get("tiers").fields();
        QueueTotal total = total(tree.get("total"));
        InFlightRules inFlight = inFlight(tree, shares, total);
        boolean hasRate = inFlight == null
                || tree.get("limit").isPresent()
                || tree.get("per").isPresent();
        Long limit = hasRate ? limit(tree) : null;
        Long perMs = hasRate ? per(tree.require("per")) : null;
        Long burst = tree.get("burst").wholeNumber(1, Limit.MAX_LEVEL);
        if (burst != null && !hasRate) {
            tree.get("burst").fault("requires limit");
        }
        Long capacity = tree.get("capacity").wholeNumber(1, QueueRules.MAX_CAPACITY);
        Long maxWaitMs = tree.get("max-wait").read(LimitReader::windowMs);
        Long lookAheadMs = tree.get("look-ahead").read(QueueReader::lookAheadMs);
        Map<String, TierShare> tiers = tiers(tree.get("tiers"), shares);
        String fairBy = tree.get("fair-by").read(PolicyReader::requireField);
        List<String> key = PolicyReader.key(tree.get("key"), List.of());
        if (total != null && key.isEmpty()) {
            tree.get("total").fault("requires key; without it, the bounds of the queue apply to all of it already");
            total = null;
        }
        if (total != null && tiers.values().stream().anyMatch(share -> share.minPercent() > 0)) {
            tree.get("tiers").fault("cannot have min-share with total");
            total = null;
        }
        QueueTotal ofAllKeys = total;
        String name = Objects.requireNonNullElse(id, "unnamed");
        boolean paced = limit != null && perMs != null;
        return tree.noting(() -> (hasRate
                        ? QueueRules.builder(name, paced ? limit : 1, paced ? perMs : 1)
                                .burst(Objects.requireNonNullElse(burst, 1L))
                                .inFlight(inFlight)
                        : QueueRules.builder(name, inFlight))
                .version(version)
                .capacity(Objects.requireNonNullElse(capacity, QueueRules.DEFAULT_CAPACITY))
                .maxWaitMs(Objects.requireNonNullElse(maxWaitMs, QueueRules.NO_MAX_WAIT))
                .lookAheadMs(Objects.requireNonNullElse(lookAheadMs, QueueRules.DEFAULT_LOOK_AHEAD_MS))
                .tiers(tiers)
                .fairBy(Objects.requireNonNullElse(fairBy, QueueRules.DEFAULT_FAIR_BY))
                .key(key)
                .total(ofAllKeys)
                .build());
    }

    /** Returns the slots of each bucket, or null if there are none. All slots of a total can be those of one bucket. */
    private static InFlightRules inFlight(YamlTree tree, Map<String, YamlTree> shares, QueueTotal total) {
        YamlTree own = tree.get("max-in-flight");
        long ofTotal = total == null ? 1 : total.inFlight().orElse(1); // 1 after a fault
        Long most = own.isPresent() ? own.wholeNumber(1, InFlightRules.MOST) : (Long) ofTotal;
        if (!own.isPresent() && !tree.get("total").get("max-in-flight").isPresent()) {
            KEYS_OF_SLOTS.stream()
                    .map(tree::get)
                    .filter(YamlTree::isPresent)
                    .forEach(each -> each.fault("requires max-in-flight"));
            shares.values().stream()
                    .map(tier -> tier.get("max-in-flight"))
                    .filter(YamlTree::isPresent)
                    .forEach(each -> each.fault("requires max-in-flight of the queue"));
            return null;
        }
        Long ackTimeoutMs = tree.get("ack-timeout").read(LimitReader::windowMs);
        Long maxDurationMs = tree.get("max-duration").read(LimitReader::windowMs);
        Long maxAttempts = tree.get("max-attempts").wholeNumber(1, InFlightRules.MOST_ATTEMPTS);
        Long retryBackoffMs = tree.get("retry-backoff").read(DurationsAndSizes::durationOrZeroMs);
        long ackMs = Objects.requireNonNullElse(ackTimeoutMs, InFlightRules.DEFAULT_ACK_TIMEOUT_MS);
        long longestMs = Math.max(ackMs, InFlightRules.DEFAULT_MAX_DURATION_MS);
        InFlightRules rules = tree.noting(() -> new InFlightRules(
                Objects.requireNonNullElse(most, 1L),
                ackMs,
                Objects.requireNonNullElse(maxDurationMs, longestMs),
                maxAttempts == null ? InFlightRules.DEFAULT_MAX_ATTEMPTS : maxAttempts.intValue(),
                Objects.requireNonNullElse(retryBackoffMs, InFlightRules.DEFAULT_RETRY_BACKOFF_MS),
                caps(tree, shares)));
        return Objects.requireNonNullElse(rules, InFlightRules.of(1));
    }

    private static InFlightCaps caps(YamlTree tree, Map<String, YamlTree> shares) {
        Map<String, Long> ofTier = new LinkedHashMap<>();
        shares.forEach((tier, share) -> {
            Long most = share.get("max-in-flight").wholeNumber(1, InFlightRules.MOST);
            if (most != null) {
                ofTier.put(tier, most);
            }
        });
        YamlTree perClient = tree.get("max-in-flight-per-client");
        Long ofClient = perClient.wholeNumber(1, InFlightRules.MOST);
        YamlTree fairBy = tree.get("fair-by");
        if (ofClient != null && fairBy.isPresent() && !fairBy.text().equals(QueueRules.DEFAULT_FAIR_BY)) {
            perClient.fault("requires fair-by: " + QueueRules.DEFAULT_FAIR_BY);
            ofClient = null;
        }
        return new InFlightCaps(ofTier, ofClient == null ? OptionalLong.empty() : OptionalLong.of(ofClient));
    }

    /** Returns the total, or null if there is none. */
    private static QueueTotal total(YamlTree tree) {
        if (!tree.isPresent()) {
            return null;
        }
        tree.fields(TOTAL_KEYS);
        Long inFlight = tree.get("max-in-flight").wholeNumber(1, InFlightRules.MOST);
        boolean hasRate = !tree.get("max-in-flight").isPresent()
                || tree.get("limit").isPresent()
                || tree.get("per").isPresent();
        Long limit = hasRate ? limit(tree) : null;
        Long perMs = hasRate ? per(tree.require("per")) : null;
        Long capacity = tree.get("capacity").wholeNumber(1, QueueRules.MAX_CAPACITY);
        if (hasRate ? limit == null || perMs == null : inFlight == null) {
            return null;
        }
        return new QueueTotal(
                hasRate ? Optional.of(new TotalRate(limit, perMs)) : Optional.empty(),
                inFlight == null ? OptionalLong.empty() : OptionalLong.of(inFlight),
                Objects.requireNonNullElse(capacity, QueueTotal.DEFAULT_CAPACITY));
    }

    private static Long limit(YamlTree tree) {
        return tree.require("limit")
                .wholeNumber(1, Limit.MAX_LEVEL, FractionHint.of(tree.get("limit"), tree.get("per")));
    }

    private static Long per(YamlTree tree) {
        Duration per = PeriodReader.read(tree, "a queue");
        if (per != null && per.ms() > MAX_PER_MS) {
            tree.fault("must be at most 30d, is '" + tree.text() + "'");
            return null;
        }
        return per == null ? null : (Long) per.ms();
    }

    private static long lookAheadMs(String text) {
        long ms = DurationsAndSizes.durationOrZeroMs(text);
        if (ms > QueueRules.MAX_LOOK_AHEAD_MS) {
            throw new IllegalArgumentException("must be at most "
                    + DurationsAndSizes.duration(QueueRules.MAX_LOOK_AHEAD_MS) + ", is '" + text + "'");
        }
        return ms;
    }

    private static Map<String, TierShare> tiers(YamlTree tree, Map<String, YamlTree> written) {
        if (written.size() > QueueRules.MAX_TIERS) {
            tree.fault("must have at most " + QueueRules.MAX_TIERS + " tiers, has " + written.size());
            return Map.of();
        }
        Map<String, TierShare> tiers = new LinkedHashMap<>();
        written.forEach((tier, share) -> {
            if (RequestRules.isTooLong(tier)) {
                share.fault("a tier must have at most " + RequestRules.MAX_NAME_LENGTH + " characters");
            }
            tiers.put(tier, share(share));
        });
        int percent = tiers.values().stream().mapToInt(TierShare::minPercent).sum();
        if (percent > TierShare.MAX_PERCENT) {
            tree.fault("must have a min-share of at most 100% together, have " + percent + "%");
            return Map.of();
        }
        return tiers;
    }

    private static TierShare share(YamlTree tree) {
        tree.fields(TIER_KEYS);
        Long priority = tree.get("priority").wholeNumber(Integer.MIN_VALUE, Integer.MAX_VALUE);
        Long weight = tree.get("weight").wholeNumber(1, TierShare.MAX_WEIGHT);
        return new TierShare(
                priority == null ? TierShare.DEFAULT.priority() : priority.intValue(),
                weight == null ? TierShare.DEFAULT.weight() : weight.intValue(),
                Objects.requireNonNullElse(tree.get("min-share").read(QueueReader::percent), 0));
    }

    private static int percent(String text) {
        if (!PERCENT.matcher(text).matches()) {
            throw new IllegalArgumentException("must be a whole percentage from 1% to 100%, is '" + text + "'");
        }
        return Integer.parseInt(text.substring(0, text.length() - 1));
    }
}
