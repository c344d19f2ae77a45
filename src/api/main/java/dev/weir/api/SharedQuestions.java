package dev.weir.api;

import com.fasterxml.jackson.databind.JsonNode;
import dev.weir.decision.usage.SharedPolicyUsage;
import dev.weir.lease.LeaseResponse;
import dev.weir.query.InstanceQueries;
import dev.weir.query.InstanceQueries.LedgerQuestion;
import dev.weir.query.InstanceQueries.Result;
import dev.weir.server.http.ProblemDetails;
import dev.weir.server.http.QueryParameters;
import dev.weir.time.DueTime;
import dev.weir.wire.json.Json;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;

/** Asks ledgers of shared limits, on this instance and on others, whether they would lend some tokens. */
final class SharedQuestions {

    /** The parameter of {@code GET /v1/shared/{id}} with the cost of which it is asked. */
    static final String COST = "cost";

    /** The parameter with the holder that it would be lent to. */
    static final String HOLDER = "holder";

    private static final long MAX_COST = 999_999_999_999_999_999L;
    private static final Duration TIMEOUT = Duration.ofSeconds(2);

    private final PeerInstances peers;

    SharedQuestions(PeerInstances peers) {
        this.peers = peers;
    }

    /** @throws ProblemDetails.ProblemException with 400 if the parameter is invalid */
    static long cost(QueryParameters parameters) {
        String text = parameters.text(COST).orElse("1");
        if (!text.matches("[0-9]{1,18}") || Long.parseLong(text) < 1) {
            throw ProblemDetails.of(400, COST + " must be a whole number from 1 to 10^18 - 1, is '" + text + "'")
                    .exception();
        }
        return Long.parseLong(text);
    }

    /**
     * Asks ledgers.
     *
     * @return a future that fails with a {@link ProblemDetails.ProblemException} if one cannot be asked now
     */
    CompletableFuture<Map<LedgerQuestion, LeaseResponse.Checked>> ask(
            InstanceQueries queries, Set<LedgerQuestion> questions) {
        Map<LedgerQuestion, CompletableFuture<LeaseResponse.Checked>> pending = new LinkedHashMap<>();
        questions.forEach(question -> pending.put(question, ask(queries, question)));
        return CompletableFuture.allOf(pending.values().toArray(CompletableFuture[]::new))
                .thenApply(all -> {
                    Map<LedgerQuestion, LeaseResponse.Checked> answers = new HashMap<>();
                    pending.forEach((question, answer) -> answers.put(question, answer.join()));
                    return answers;
                });
    }

    private CompletableFuture<LeaseResponse.Checked> ask(InstanceQueries queries, LedgerQuestion question) {
        Result<SharedPolicyUsage> result = queries.shared(question);
        if (result instanceof Result.Local<SharedPolicyUsage> found && found.value() != null) {
            return CompletableFuture.completedFuture(found.value().check());
        }
        if (result instanceof Result.Remote<SharedPolicyUsage> elsewhere) {
            return peers.get(elsewhere.address(), target(question), TIMEOUT)
                    .thenApply(SharedQuestions::read)
                    .exceptionally(failure -> {
                        throw unavailable("the instance that has the ledger, " + elsewhere.address() + ", "
                                + PeerInstances.why(failure));
                    });
        }
        return CompletableFuture.failedFuture(unavailable(
                result instanceof Result.NotReady<SharedPolicyUsage> notNow
                        ? notNow.reason()
                        : "the policy '" + question.policyId() + "' is changing"));
    }

    private static ProblemDetails.ProblemException unavailable(String why) {
        return ProblemDetails.unavailable(why).exception();
    }

    private static String target(LedgerQuestion question) {
        StringBuilder target = new StringBuilder("/v1/shared/")
                .append(encoded(question.policyId()))
                .append('?')
                .append(COST)
                .append('=')
                .append(Math.min(question.cost(), MAX_COST))
                .append('&')
                .append(HOLDER)
                .append('=')
                .append(encoded(question.holder()));
        question.key()
                .forEach((name, value) ->
                        target.append("&key.").append(encoded(name)).append('=').append(encoded(value)));
        return target.toString();
    }

    private static String encoded(String text) {
        return URLEncoder.encode(text, StandardCharsets.UTF_8);
    }

    private static LeaseResponse.Checked read(String body) {
        JsonNode json = Json.read(body);
        JsonNode retryAfterMs = json.get("retryAfterMs");
        return new LeaseResponse.Checked(
                0,
                json.get("at").longValue(),
                json.get("lendable").longValue(),
                retryAfterMs.isNull() ? DueTime.NEVER : retryAfterMs.longValue(),
                json.get("heldUnused").booleanValue());
    }
}
