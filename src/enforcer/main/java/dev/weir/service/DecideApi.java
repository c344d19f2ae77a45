package dev.weir.service;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import dev.weir.client.ClientDecision;
import dev.weir.client.Fallback;
import dev.weir.client.NoDecisionException;
import dev.weir.client.NoDecisionReason;
import dev.weir.config.WeirConfig;
import dev.weir.event.Request;
import dev.weir.policy.DurationsAndSizes;
import dev.weir.policy.RequestRules;
import dev.weir.service.http.BodyFormat;
import dev.weir.service.http.ProblemDetails;
import dev.weir.service.http.QueryParameters;
import dev.weir.service.http.RequestBody;
import dev.weir.service.http.ResponseWriter;
import dev.weir.wire.RequestJson;
import io.javalin.http.Context;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.Semaphore;

/**
 * The endpoint that decides requests and charges them. A body has one request, an array of requests, or one request per
 * line. The decisions have the same form and order. If one request is invalid, none is decided.
 */
final class DecideApi {

    /** How many requests a body can have. */
    static final int MAX_BATCH = 1_000;

    /** The heap divided by this bounds the requests that wait for decisions. */
    private static final int HEAP_PARTS = 16;

    /** An upper bound of the memory of a request besides its text, and of its decision. */
    private static final int REQUEST_OVERHEAD = 2_048;

    private static final Duration DEFAULT_TIMEOUT = Duration.ofSeconds(1);
    private static final String TIMEOUT = "timeout";
    private static final String FALLBACK = "fallback";
    private static final String ENFORCE = "enforce";

    /** The header of a response that Weir did not decide. */
    private static final String FALLBACK_HEADER = "X-Weir-Fallback";

    private static final int OK = 200;
    private static final int UNAVAILABLE = 503;

    private final RequestRules rules;
    private final DecidingClient client;
    private final Semaphore memory =
            new Semaphore((int) Math.min(Integer.MAX_VALUE, Runtime.getRuntime().maxMemory() / HEAP_PARTS));

    DecideApi(WeirConfig config, DecidingClient client) {
        this.rules = config.requests().rules();
        this.client = client;
    }

    /** The query parameters of a request. */
    private record Options(Duration timeout, Fallback fallback, boolean enforce) {

        static Options of(Context request) {
            QueryParameters parameters = QueryParameters.of(request, TIMEOUT, FALLBACK, ENFORCE);
            return new Options(
                    parameters.text(TIMEOUT).map(Options::timeout).orElse(DEFAULT_TIMEOUT),
                    parameters.text(FALLBACK).map(Options::fallback).orElse(Fallback.FAIL),
                    parameters.text(ENFORCE).map(Options::flag).orElse(false));
        }

        private static Duration timeout(String text) {
            try {
                Duration timeout = Duration.ofMillis(DurationsAndSizes.durationMs(text));
                if (timeout.compareTo(DecidingClient.MAX_TIMEOUT) <= 0) {
                    return timeout;
                }
            } catch (IllegalArgumentException e) {
                // falls through to the same message
            }
            throw bad("timeout must be 1ms to " + DecidingClient.MAX_TIMEOUT.toSeconds() + "s, is '" + text + "'");
        }

        private static Fallback fallback(String text) {
            return switch (text) {
                case "allow" -> Fallback.FAIL_OPEN;
                case "deny" -> Fallback.FAIL_CLOSED;
                case "none" -> Fallback.FAIL;
                default -> throw bad("fallback must be allow, deny or none, is '" + text + "'");
            };
        }

        private static boolean flag(String text) {
            return switch (text) {
                case "true" -> true;
                case "false" -> false;
                default -> throw bad("enforce must be true or false, is '" + text + "'");
            };
        }
    }

    /** Decides one or several requests. */
    void decide(Context request) {
        Options options = Options.of(request);
        boolean isLines = BodyFormat.isNdjson(request);
        BodyFormat format = isLines ? BodyFormat.JSON : BodyFormat.ofAcceptHeader(request);
        BodyFormat sent = isLines ? BodyFormat.JSON : BodyFormat.ofContentType(request);
        String body = RequestBody.text(request);
        boolean isArray = !isLines && body.stripLeading().startsWith("[");
        if (options.enforce && (isLines || isArray)) {
            throw bad("enforce=true needs a body with a single request");
        }
        List<Request> requests =
                isLines ? lines(body) : isArray ? array(body) : List.of(QueryApi.read(sent, body, newId(), rules));
        int bytes = body.length() + requests.size() * REQUEST_OVERHEAD;
        if (!memory.tryAcquire(bytes)) {
            throw ProblemDetails.unavailable("too many requests are waiting for decisions")
                    .exception();
        }
        List<CompletableFuture<Object>> answers =
                requests.stream().map(one -> answer(one, options)).toList();
        CompletableFuture<Void> all = CompletableFuture.allOf(answers.toArray(CompletableFuture[]::new))
                .whenComplete((done, failure) -> memory.release(bytes));
        request.future(() -> all.thenRun(() -> {
            if (isLines || isArray) {
                writeBatch(request, isLines, format, requests, answers);
            } else {
                write(request, format, options, requests.get(0), answers.get(0).join());
            }
        }));
    }

    /** Returns a {@link ClientDecision}, or the exception if there is none. */
    private CompletableFuture<Object> answer(Request request, Options options) {
        CompletableFuture<ClientDecision> asked;
        try {
            asked = client.decide(request, options.timeout, options.fallback);
        } catch (RuntimeException e) {
            asked = CompletableFuture.failedFuture(e); // each request gets an answer, and its memory is released
        }
        return asked.handle((decision, failure) -> {
            if (failure == null) {
                return decision;
            }
            Throwable cause = failure instanceof CompletionException ? failure.getCause() : failure;
            boolean isStarting = !(cause instanceof NoDecisionException || cause instanceof IllegalArgumentException);
            return isStarting && options.fallback != Fallback.FAIL
                    ? fallback(options.fallback == Fallback.FAIL_OPEN)
                    : cause;
        });
    }

    private static ClientDecision fallback(boolean allowed) {
        return new ClientDecision(allowed, Optional.empty(), Optional.of(NoDecisionReason.NOT_WRITTEN));
    }

    private static void write(Context request, BodyFormat format, Options options, Request asked, Object answer) {
        if (answer instanceof IllegalArgumentException invalid) {
            throw bad(invalid.getMessage());
        }
        if (!(answer instanceof ClientDecision decision)) {
            throw ProblemDetails.unavailable(explain((Throwable) answer)).exception();
        }
        decision.noDecisionReason().ifPresent(why -> request.header(FALLBACK_HEADER, why.name()));
        int status = OK;
        if (options.enforce) {
            status = decision.httpStatus();
            decision.httpHeaders().forEach(request::header);
        }
        ResponseWriter.write(request, format, status, json(asked, decision));
    }

    private static void writeBatch(
            Context request,
            boolean isLines,
            BodyFormat format,
            List<Request> requests,
            List<CompletableFuture<Object>> answers) {
        ArrayNode all = JsonViews.array();
        for (int i = 0; i < requests.size(); i++) {
            Object answer = answers.get(i).join();
            all.add(
                    answer instanceof ClientDecision decision
                            ? json(requests.get(i), decision)
                            : undecided(requests.get(i), null, UNAVAILABLE, reason((Throwable) answer)));
        }
        if (!isLines) {
            ResponseWriter.write(request, format, OK, all);
            return;
        }
        StringBuilder text = new StringBuilder();
        for (JsonNode one : all) {
            text.append(one).append('\n');
        }
        request.status(OK).contentType(BodyFormat.NDJSON).result(text.toString().getBytes(StandardCharsets.UTF_8));
    }

    private static JsonNode json(Request asked, ClientDecision answer) {
        return answer.decision()
                .map(JsonViews::decision)
                .orElseGet(() -> undecided(
                        asked,
                        answer.allowed() ? "ALLOWED" : "DENIED",
                        answer.httpStatus(),
                        answer.noDecisionReason().orElseThrow().name()));
    }

    /** Returns an answer without a decision. */
    private static JsonNode undecided(Request asked, String outcome, int httpStatus, String why) {
        return JsonViews.object()
                .put("requestId", asked.requestId())
                .put("client", asked.client())
                .put("outcome", outcome)
                .put("httpStatus", httpStatus)
                .put("noDecision", why);
    }

    private static String reason(Throwable failure) {
        return failure instanceof NoDecisionException none
                ? none.reason().name()
                : failure instanceof IllegalArgumentException ? "INVALID" : NoDecisionReason.NOT_WRITTEN.name();
    }

    private static String explain(Throwable failure) {
        return failure instanceof NoDecisionException
                ? failure.getMessage() + "; the request may still be decided and charged"
                : "the brokers do not answer";
    }

    private List<Request> array(String body) {
        try {
            List<Request> requests =
                    RequestJson.readArray(body, MAX_BATCH, DecideApi::newId, System.currentTimeMillis());
            for (int i = 0; i < requests.size(); i++) {
                requireValid("[" + i + "]: ", requests.get(i));
            }
            return requests;
        } catch (IllegalArgumentException e) {
            throw bad("the body " + e.getMessage());
        }
    }

    private List<Request> lines(String body) {
        List<Request> requests = new ArrayList<>();
        int number = 0;
        for (String line : (Iterable<String>) body.lines()::iterator) {
            number++;
            if (line.isBlank()) {
                continue;
            }
            if (requests.size() == MAX_BATCH) {
                throw bad("the body has more than " + MAX_BATCH + " requests");
            }
            try {
                requests.add(RequestJson.read(line, newId(), System.currentTimeMillis(), Request.Source.NONE));
            } catch (IllegalArgumentException e) {
                throw bad("line " + number + ": " + e.getMessage());
            }
            requireValid("line " + number + ": ", requests.get(requests.size() - 1));
        }
        return requests;
    }

    private void requireValid(String where, Request request) {
        rules.check(request).ifPresent(violation -> {
            throw bad(where + violation.detail());
        });
    }

    private static String newId() {
        return UUID.randomUUID().toString();
    }

    private static ProblemDetails.ProblemException bad(String detail) {
        return ProblemDetails.of(400, detail).exception();
    }
}
