package dev.weir.server.decide;

import dev.weir.client.Fallback;
import dev.weir.client.decision.ClientDecision;
import dev.weir.client.decision.NoDecisionException;
import dev.weir.client.decision.NoDecisionReason;
import dev.weir.client.decision.XRateLimitFields;
import dev.weir.config.WeirConfig;
import dev.weir.event.Request;
import dev.weir.event.RequestKind;
import dev.weir.policy.DurationsAndSizes;
import dev.weir.policy.RequestRules;
import dev.weir.server.http.BodyFormat;
import dev.weir.server.http.ProblemDetails;
import dev.weir.server.http.QueryParameters;
import dev.weir.server.http.RequestBody;
import dev.weir.server.http.ResponseWriter;
import dev.weir.wire.json.DecisionJson;
import dev.weir.wire.json.Json;
import dev.weir.wire.json.RequestJson;
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
import java.util.stream.Collectors;

/**
 * The endpoints that decide requests and charge them, and that take the acknowledgements of workers. A body has one request, an array of requests, or one request per
 * line. The decisions have the same form and order. If one request is invalid, none is decided.
 */
public final class DecideApi {

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
    public static final String FALLBACK_HEADER = "X-Weir-Fallback";

    private static final int OK = 200;
    private static final int UNAVAILABLE = 503;

    private final RequestRules rules;
    private final XRateLimitFields olderFields;
    private final RequestDecider client;
    private final DecideMetrics metrics;
    private final Semaphore memory;

    public DecideApi(WeirConfig config, RequestDecider client, DecideMetrics metrics) {
        this(
                config.requests().rules(),
                config.service().xRateLimit(),
                client,
                metrics,
                Runtime.getRuntime().maxMemory() / HEAP_PARTS);
    }

    /** @param maxBytes the maximum memory of the requests that wait for decisions */
    DecideApi(
            RequestRules rules,
            XRateLimitFields olderFields,
            RequestDecider client,
            DecideMetrics metrics,
            long maxBytes) {
        this.rules = rules;
        this.olderFields = olderFields;
        this.client = client;
        this.metrics = metrics;
        memory = new Semaphore((int) Math.min(Integer.MAX_VALUE, maxBytes));
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
                if (timeout.compareTo(RequestDecider.MAX_TIMEOUT) <= 0) {
                    return timeout;
                }
            } catch (IllegalArgumentException e) {
                // falls through to the same message
            }
            throw bad("timeout must be 1ms to " + RequestDecider.MAX_TIMEOUT.toSeconds() + "s, is '" + text + "'");
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

    /**
     * The answer to a request.
     *
     * @param decision null if there is none
     * @param failure why there is no decision; null if there is one
     */
    private record Answer(Request request, ClientDecision decision, Throwable failure) {

        /** Returns the answer as the text of a JSON object. */
        String json() {
            if (decision == null) {
                return undecided(null, UNAVAILABLE, reason());
            }
            return decision.decision()
                    .map(DecisionJson::text)
                    .orElseGet(() -> undecided(
                            decision.allowed() ? "ALLOWED" : "DENIED",
                            decision.httpStatus(),
                            decision.noDecisionReason().orElseThrow().name()));
        }

        private String undecided(String outcome, int httpStatus, String why) {
            return Json.write(Json.MAPPER
                    .createObjectNode()
                    .put("requestId", request.requestId())
                    .put("client", request.client())
                    .put("outcome", outcome)
                    .put("httpStatus", httpStatus)
                    .put("noDecision", why));
        }

        private String reason() {
            return failure instanceof NoDecisionException none
                    ? none.reason().name()
                    : failure instanceof IllegalArgumentException
                            ? DecideMetrics.INVALID
                            : NoDecisionReason.NOT_WRITTEN.name();
        }

        /** Returns why there is no decision, without details of the brokers. */
        String detail() {
            if (!(failure instanceof NoDecisionException none) || none.reason() == NoDecisionReason.NOT_READY) {
                return "the brokers do not answer";
            }
            return switch (none.reason()) {
                case TOO_MANY_WAITING, OVERLOADED, CIRCUIT_OPEN, NO_LEDGER -> none.getMessage();
                default -> none.getMessage() + "; the request may still be decided and charged";
            };
        }

        void count(DecideMetrics metrics) {
            boolean isFallback = decision != null && decision.decision().isEmpty();
            metrics.ended(
                    decision == null
                            ? reason()
                            : decision.noDecisionReason().map(Enum::name).orElse(DecideMetrics.ANSWERED));
            if (isFallback) {
                metrics.answeredByFallback(decision.allowed());
            }
        }
    }

    /** The form of a body and of its response. */
    private enum Form {
        SINGLE,
        ARRAY,
        LINES
    }

    /**
     * A valid call.
     *
     * @param format the format of the response
     * @param bytes an upper bound of the memory that the call needs until it is answered
     */
    private record Call(Options options, Form form, BodyFormat format, List<Request> requests, int bytes) {}

    /** Decides one or several requests. */
    public void decide(Context request) {
        decide(request, Optional.empty());
    }

    /** Ends one or several attempts of released requests: the requests are of the kind COMPLETE. */
    public void complete(Context request) {
        decide(request, Optional.of(RequestKind.COMPLETE));
    }

    /** Claims or prolongs one or several attempts of released requests: the requests are of the kind EXTEND. */
    public void extend(Context request) {
        decide(request, Optional.of(RequestKind.EXTEND));
    }

    /** @param kind the kind of all requests; empty if each has its own */
    private void decide(Context request, Optional<RequestKind> kind) {
        long receivedNanos = System.nanoTime();
        Call call = call(request, kind);
        if (!memory.tryAcquire(call.bytes)) {
            metrics.refused(DecideMetrics.Refusal.OVERLOADED);
            throw ProblemDetails.unavailable("too many requests are waiting for decisions")
                    .exception();
        }
        metrics.began(call.requests.size());
        List<CompletableFuture<Answer>> answers = call.requests.stream()
                .map(one -> answer(one, receivedNanos, call.options))
                .toList();
        CompletableFuture<Void> all = CompletableFuture.allOf(answers.toArray(CompletableFuture[]::new))
                .whenComplete((done, failure) -> {
                    memory.release(call.bytes);
                    metrics.took(System.nanoTime() - receivedNanos);
                });
        request.future(() -> all.thenRun(() -> {
            switch (call.form) {
                case SINGLE ->
                    write(request, call.format, call.options, answers.get(0).join());
                case ARRAY -> ResponseWriter.write(request, call.format, OK, joined(answers, ",", "[", "]"));
                case LINES ->
                    request.contentType(BodyFormat.NDJSON)
                            .result((answers.isEmpty() ? "" : joined(answers, "\n", "", "\n"))
                                    .getBytes(StandardCharsets.UTF_8));
            }
        }));
    }

    /** Reads and checks a call. */
    private Call call(Context request, Optional<RequestKind> kind) {
        try {
            Options options = Options.of(request);
            boolean isLines = BodyFormat.isNdjson(request);
            BodyFormat format = isLines ? BodyFormat.JSON : BodyFormat.ofAcceptHeader(request);
            BodyFormat sent = isLines ? BodyFormat.JSON : BodyFormat.ofContentType(request);
            String body = RequestBody.text(request);
            Form form = isLines ? Form.LINES : body.stripLeading().startsWith("[") ? Form.ARRAY : Form.SINGLE;
            if (options.enforce && form != Form.SINGLE) {
                throw bad("enforce=true needs a body with a single request");
            }
            List<Request> requests =
                    switch (form) {
                        case SINGLE -> List.of(single(sent, body, kind));
                        case ARRAY -> array(body, kind);
                        case LINES -> lines(body, kind);
                    };
            return new Call(options, form, format, requests, body.length() + requests.size() * REQUEST_OVERHEAD);
        } catch (ProblemDetails.ProblemException e) {
            metrics.refused(DecideMetrics.Refusal.INVALID);
            throw e;
        }
    }

    private CompletableFuture<Answer> answer(Request request, long receivedNanos, Options options) {
        CompletableFuture<ClientDecision> pending;
        try {
            pending = client.decide(request, receivedNanos, options.timeout, options.fallback);
        } catch (RuntimeException e) {
            pending = CompletableFuture.failedFuture(e); // each request gets an answer, and its memory is released
        }
        return pending.handle((decision, failure) -> {
            Answer answer = new Answer(
                    request, decision, failure instanceof CompletionException ? failure.getCause() : failure);
            answer.count(metrics);
            return answer;
        });
    }

    private static String joined(List<CompletableFuture<Answer>> answers, String separator, String start, String end) {
        return answers.stream().map(answer -> answer.join().json()).collect(Collectors.joining(separator, start, end));
    }

    private void write(Context request, BodyFormat format, Options options, Answer answer) {
        if (answer.failure instanceof IllegalArgumentException) {
            throw bad(answer.failure.getMessage());
        }
        if (answer.failure != null) {
            throw ProblemDetails.unavailable(answer.detail()).exception();
        }
        answer.decision.noDecisionReason().ifPresent(why -> request.header(FALLBACK_HEADER, why.name()));
        if (options.enforce) {
            answer.decision.httpHeaders(olderFields).forEach(request::header);
        }
        ResponseWriter.write(request, format, options.enforce ? answer.decision.httpStatus() : OK, answer.json());
    }

    private Request single(BodyFormat sent, String body, Optional<RequestKind> kind) {
        long nowMs = System.currentTimeMillis();
        return RequestBody.request(sent, body, json -> RequestJson.readNew(json, kind, DecideApi::newId, nowMs), rules);
    }

    private List<Request> array(String body, Optional<RequestKind> kind) {
        try {
            List<Request> requests =
                    RequestJson.readNewArray(body, MAX_BATCH, kind, DecideApi::newId, System.currentTimeMillis());
            for (int i = 0; i < requests.size(); i++) {
                requireValid("[" + i + "]: ", requests.get(i));
            }
            return requests;
        } catch (IllegalArgumentException e) {
            throw bad("the body " + e.getMessage());
        }
    }

    private List<Request> lines(String body, Optional<RequestKind> kind) {
        List<Request> requests = new ArrayList<>();
        long nowMs = System.currentTimeMillis();
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
                requests.add(RequestJson.readNew(line, kind, DecideApi::newId, nowMs));
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
