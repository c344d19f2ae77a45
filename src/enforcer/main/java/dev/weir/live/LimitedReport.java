package dev.weir.live;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.ObjectReader;
import dev.weir.wire.json.Json;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.function.BinaryOperator;
import java.util.function.Function;

/**
 * The requests that were limited in a period, by client, policy and reason, and the results of the policies.
 *
 * @param from the beginning of the period, ms since the epoch
 * @param to its end
 * @param exact whether the counts of {@code clients} are exact. Otherwise they are estimates, and some may be missing
 * @param requests the number of all limited requests
 * @param clients most requests first
 * @param policies most denials first
 */
public record LimitedReport(
        long from, long to, boolean exact, long requests, List<LimitedClient> clients, List<PolicyResults> policies) {

    /** The maximum number of clients, and of policies, in a report. */
    public static final int MAX_ENTRIES = 1_000;

    static final Comparator<LimitedClient> MOST_LIMITED = Comparator.comparingLong(LimitedClient::requests)
            .reversed()
            .thenComparing(LimitedClient::client)
            .thenComparing(LimitedClient::policy)
            .thenComparing(LimitedClient::reason);

    static final Comparator<PolicyResults> MOST_DENIED = Comparator.comparingLong(PolicyResults::denied)
            .thenComparingLong(PolicyResults::evaluated)
            .reversed()
            .thenComparing(PolicyResults::policy);

    /** A later version may report more. */
    private static final ObjectReader READER =
            Json.MAPPER.readerFor(LimitedReport.class).without(DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES);

    /**
     * The limited requests of a client.
     *
     * @param policy the policy of the binding limit
     * @param reason the name of a {@link dev.weir.event.Reason}
     */
    public record LimitedClient(String client, String policy, String reason, long requests) {

        private record Key(String client, String policy, String reason) {}

        Key key() {
            return new Key(client, policy, reason);
        }

        LimitedClient plus(LimitedClient other) {
            return new LimitedClient(client, policy, reason, requests + other.requests);
        }
    }

    /** The results of a policy. A request counts for each policy that was evaluated. */
    public record PolicyResults(String policy, long allowed, long denied, long queued) {

        long evaluated() {
            return allowed + denied + queued;
        }

        PolicyResults plus(PolicyResults other) {
            return new PolicyResults(policy, allowed + other.allowed, denied + other.denied, queued + other.queued);
        }
    }

    /**
     * Selects entries. An empty condition selects all.
     *
     * @param client the client
     * @param policy the policy, also of the results
     * @param reason the name of the reason
     * @param most the maximum number of clients, and of policies, 1 to {@value #MAX_ENTRIES}
     */
    public record Selection(Optional<String> client, Optional<String> policy, Optional<String> reason, int most) {

        /** Returns the same conditions with the largest number of entries, so that the sums of instances are right. */
        public Selection withAll() {
            return new Selection(client, policy, reason, MAX_ENTRIES);
        }

        /** Returns the conditions as parameters of a query, each after an ampersand. */
        public String query() {
            return parameter("client", client) + parameter("policy", policy) + parameter("reason", reason);
        }

        private static String parameter(String name, Optional<String> value) {
            return value.map(text -> "&" + name + "=" + URLEncoder.encode(text, StandardCharsets.UTF_8))
                    .orElse("");
        }

        boolean selects(LimitedClient entry) {
            return client.map(entry.client::equals).orElse(true)
                    && policy.map(entry.policy::equals).orElse(true)
                    && reason.map(entry.reason::equals).orElse(true);
        }

        boolean selects(PolicyResults entry) {
            return policy.map(entry.policy::equals).orElse(true);
        }
    }

    /** Adds up the reports of several instances for the same period. */
    public static LimitedReport sum(Collection<LimitedReport> reports, Selection selection) {
        List<LimitedClient> clients = new ArrayList<>();
        List<PolicyResults> policies = new ArrayList<>();
        reports.forEach(report -> {
            clients.addAll(report.clients);
            policies.addAll(report.policies);
        });
        return new LimitedReport(
                reports.stream().mapToLong(LimitedReport::from).min().orElse(0),
                reports.stream().mapToLong(LimitedReport::to).max().orElse(0),
                reports.stream().allMatch(LimitedReport::exact),
                reports.stream().mapToLong(LimitedReport::requests).sum(),
                clients(clients, selection),
                policies(policies, selection));
    }

    /** Adds up, selects and sorts entries. */
    static List<LimitedClient> clients(List<LimitedClient> entries, Selection selection) {
        return summed(entries, LimitedClient::key, LimitedClient::plus).stream()
                .filter(selection::selects)
                .sorted(MOST_LIMITED)
                .limit(selection.most)
                .toList();
    }

    /** Adds up, selects and sorts entries. */
    static List<PolicyResults> policies(List<PolicyResults> entries, Selection selection) {
        return summed(entries, PolicyResults::policy, PolicyResults::plus).stream()
                .filter(selection::selects)
                .sorted(MOST_DENIED)
                .limit(selection.most)
                .toList();
    }

    private static <K, V> Collection<V> summed(List<V> entries, Function<V, K> key, BinaryOperator<V> plus) {
        Map<K, V> sums = new LinkedHashMap<>();
        entries.forEach(entry -> sums.merge(key.apply(entry), entry, plus));
        return sums.values();
    }

    /** @throws IllegalArgumentException if it is not a report of this version */
    public static LimitedReport read(String json) {
        try {
            LimitedReport report = READER.readValue(json);
            report.clients.forEach(entry -> {
                Objects.requireNonNull(entry.client);
                Objects.requireNonNull(entry.policy);
                Objects.requireNonNull(entry.reason);
            });
            report.policies.forEach(entry -> Objects.requireNonNull(entry.policy));
            return report;
        } catch (JsonProcessingException e) {
            throw new IllegalArgumentException(e.getOriginalMessage(), e);
        } catch (NullPointerException e) {
            throw new IllegalArgumentException("the report is incomplete", e);
        }
    }
}
