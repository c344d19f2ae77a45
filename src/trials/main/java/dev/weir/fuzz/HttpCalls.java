package dev.weir.fuzz;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.SplittableRandom;

/** HTTP requests to the service, valid and mutated ones. */
final class HttpCalls {

    /**
     * One request.
     *
     * @param after the bytes after the headers
     * @param isHttp whether the request conforms to HTTP, even if it makes no sense
     */
    @SuppressWarnings("ArrayRecordComponent") // calls are not compared
    record Call(String method, String target, byte[] after, List<String> headers, boolean isHttp) {

        private Call withBody(byte[] body) {
            List<String> others = without("Content-Length:");
            others.remove(CHUNKED);
            others.add("Content-Length: " + body.length);
            return new Call(method, target, body, others, isHttp);
        }

        private Call withHeader(String name, String value) {
            List<String> others = without(name + ":");
            others.add(name + ": " + value);
            return new Call(method, target, after, others, isHttp);
        }

        private Call withTarget(String other) {
            return new Call(method, other, after, headers, isHttp);
        }

        private Call withMethod(String other) {
            return new Call(other, target, after, headers, isHttp);
        }

        private Call noHttp() {
            return new Call(method, target, after, headers, false);
        }

        /** Returns the only value of a header; empty if it is missing, repeated or sent in another case. */
        Optional<String> header(String name) {
            List<String> found = headers.stream()
                    .filter(header -> header.startsWith(name + ": "))
                    .toList();
            return found.size() == 1 ? Optional.of(found.get(0).substring(name.length() + 2)) : Optional.empty();
        }

        private List<String> without(String start) {
            List<String> others = new ArrayList<>(headers);
            others.removeIf(header -> header.startsWith(start));
            return others;
        }

        @Override
        public String toString() {
            String text = new String(after, 0, Math.min(after.length, 2_000), StandardCharsets.UTF_8);
            return method + " " + target + " " + headers + " " + text;
        }
    }

    private static final String CHUNKED = "Transfer-Encoding: chunked";
    private static final int TOO_LARGE = (2 << 20) + 1;

    private static final List<String> IDS = List.of("p1", "p2", "q1", "q2", "never");
    private static final List<String> METHODS = List.of("GET", "HEAD", "PUT", "POST", "DELETE", "PATCH", "OPTIONS");
    private static final List<String> FRAMES =
            List.of("Content-Length", "Transfer-Encoding", "Host", "Connection", "Expect", "Upgrade");

    private static final List<String> REQUESTS = List.of(
            RecordSamples.requestLines().get(0),
            RecordSamples.requestLines().get(1),
            "{\"client\":\"alice\",\"tier\":\"free\",\"attributes\":{\"endpoint\":\"/articles/7\"}}",
            "client: bob\nrequestId: r7\ncost: 3\nattributes:\n  endpoint: /a\n");

    private static final List<String> POLICIES = List.of(
            "{\"limits\":[{\"algorithm\":\"gcra\",\"limit\":5,\"per\":\"1m\"}]}",
            "{\"limits\":[{\"algorithm\":\"concurrency\",\"limit\":5,\"ttl\":\"1m\"}]}",
            "{\"id\":\"p1\",\"match\":{\"tier\":\"free\",\"endpoint\":[\"/a/**\",\"?\"]},\"limits\":[{\"unlimited\":true}]}",
            "match: {client: ali*}\nlimits:\n- {algorithm: sliding-window-log, limit: 2, per: 11s, count-denied: true}\n",
            "{\"on-exceed\":\"throttle\",\"max-delay\":\"2s\",\"idempotency\":\"10m\",\"effective-from\":"
                    + "\"2026-12-01T00:00:00Z\",\"limits\":[{\"algorithm\":\"token-bucket\",\"limit\":7,\"per\":\"1d\"}]}",
            "{\"queue\":\"q1\",\"layer\":\"l\"}");

    private static final List<String> QUEUES = List.of(
            "{\"limit\":10,\"per\":\"1s\"}",
            "limit: 10\nper: 1s\nburst: 3\ncapacity: 5\nmax-wait: 30s\ntiers:\n  gold: {priority: 1, weight: 4}\n");

    private static final List<String> VALUES = List.of(
            "application/json",
            "application/yaml; charset=utf-8",
            "text/yaml;q=0.5, */*;q=0.1",
            "\"1\"",
            "W/\"2\", \"3\"",
            "*",
            "Bearer " + RunningService.TOKEN,
            "127.0.0.1",
            "rebound.example:8680",
            "1",
            "gzip, chunked");

    private final List<String> files;

    HttpCalls() throws IOException {
        files = DocumentSeeds.policyFiles();
    }

    /** Returns a request. One in six is valid. */
    Call next(SplittableRandom random) {
        Call call = good(random);
        for (int steps = random.nextInt(6); steps > 0; steps -= 2) {
            call = changed(call, random);
        }
        return call;
    }

    private Call good(SplittableRandom random) {
        String id = any(IDS, random);
        String place = random.nextInt(3) > 0 ? "/v1/policies" : "/v1/queues";
        return switch (random.nextInt(28)) {
            case 0, 1, 2, 3, 4, 5 -> sent("POST", "/v1/peek", any(REQUESTS, random));
            case 6, 7, 8 -> sent("POST", "/v1/validate?prune=" + random.nextBoolean(), any(files, random));
            case 9, 10, 11 -> conditional(put(place, id, random), random);
            case 12 -> conditional(call("DELETE", place + "/" + id), random);
            case 13 -> call("GET", place + "/" + id).withHeader("If-None-Match", any(VALUES, random));
            case 14 -> call("GET", place + "/" + id + "/history");
            case 15, 16 -> call("GET", place + "?after=" + id + "&limit=" + (1 + random.nextInt(3)));
            case 17 -> call("GET", "/v1/reservations/bob?limit=" + random.nextInt(-1, 1_002) + "&after=r" + id);
            case 18, 19 -> call("GET", "/v1/usage/alice?tier=free&attribute.endpoint=/a/" + id);
            case 20, 21 -> decide(DecideCalls.JSON, DecideCalls.single(random), random);
            case 22, 23 -> decide(DecideCalls.JSON, DecideCalls.array(random), random);
            case 24, 25 -> decide(DecideCalls.NDJSON, DecideCalls.lines(random), random);
            default ->
                call(
                        "GET",
                        any(List.of("/health/live", "/health/ready", "/v1/openapi.json", "/v1/openapi.yaml"), random));
        };
    }

    private static Call put(String place, String id, SplittableRandom random) {
        return sent("PUT", place + "/" + id, any(place.endsWith("queues") ? QUEUES : POLICIES, random));
    }

    private static Call decide(String type, String body, SplittableRandom random) {
        return call("POST", DecideCalls.target(random))
                .withHeader("Content-Type", type)
                .withBody(bytes(body));
    }

    private static Call conditional(Call call, SplittableRandom random) {
        Call trusted = call.withHeader("Authorization", "Bearer " + RunningService.TOKEN);
        return switch (random.nextInt(4)) {
            case 0 -> trusted;
            case 1 -> trusted.withHeader("If-Match", "\"" + (1 + random.nextInt(3)) + "\"");
            default -> trusted.withHeader("If-Match", "*");
        };
    }

    private static Call call(String method, String target) {
        return new Call(method, target, new byte[0], List.of(), true);
    }

    private static Call sent(String method, String target, String text) {
        String type = text.startsWith("{") ? "application/json" : "application/yaml";
        return call(method, target).withHeader("Content-Type", type).withBody(bytes(text));
    }

    private static Call changed(Call call, SplittableRandom random) {
        String text = new String(call.after, StandardCharsets.UTF_8);
        boolean hasBody = call.after.length > 0;
        return switch (random.nextInt(hasBody ? 16 : 8)) {
            case 0, 1 -> call.withHeader(name(random), legal(value(random)));
            case 2, 3 -> call.withTarget(encoded(call.target, random));
            case 4 -> call.withMethod(any(METHODS, random));
            case 5 ->
                call.withTarget(TextMutation.of(List.of(call.target), random)).noHttp();
            case 6 -> call.withHeader(any(FRAMES, random), value(random)).noHttp();
            case 7 -> call.withHeader(name(random), value(random)).noHttp();
            case 8 -> call.withBody(BytesMutation.of(List.of(call.after), random));
            case 9 -> random.nextInt(100) == 0 ? large(call, random) : chunked(call, call.after);
            default -> call.withBody(bytes(TextMutation.of(List.of(text), random)));
        };
    }

    private static Call large(Call call, SplittableRandom random) {
        byte[] body = new byte[TOO_LARGE];
        System.arraycopy(call.after, 0, body, 0, call.after.length);
        return random.nextBoolean() ? call.withBody(body) : chunked(call, body);
    }

    private static Call chunked(Call call, byte[] body) {
        ByteArrayOutputStream chunks = new ByteArrayOutputStream();
        chunks.writeBytes(bytes(Integer.toHexString(body.length) + "\r\n"));
        chunks.writeBytes(body);
        chunks.writeBytes(bytes(body.length == 0 ? "" : "\r\n0\r\n\r\n"));
        List<String> headers = call.without("Content-Length:");
        headers.remove(CHUNKED);
        headers.add(CHUNKED);
        return new Call(call.method, call.target, chunks.toByteArray(), headers, call.isHttp);
    }

    /** Returns the target with another path segment or query parameter, percent-encoded. */
    private static String encoded(String target, SplittableRandom random) {
        String value = URLEncoder.encode(TextMutation.of(List.of("alice", "p1", "7"), random), StandardCharsets.UTF_8)
                .replace("+", "%20")
                .replace(".", "%2E");
        int question = target.indexOf('?');
        String path = question < 0 ? target : target.substring(0, question);
        return switch (random.nextInt(4)) {
            case 0 -> path + "?" + any(List.of("tier", "limit", "after", "prune", "attribute.x"), random) + "=" + value;
            case 1 -> path + "?attribute." + value + "=" + value;
            case 2 -> path + "?" + value;
            default -> path.substring(0, path.lastIndexOf('/') + 1) + value;
        };
    }

    private static String name(SplittableRandom random) {
        return any(
                List.of("Accept", "Content-Type", "If-Match", "If-None-Match", "Authorization", "Weir-Forwarded"),
                random);
    }

    private static String value(SplittableRandom random) {
        return random.nextBoolean() ? any(VALUES, random) : TextMutation.of(VALUES, random);
    }

    private static String legal(String value) {
        return value.replaceAll("[^ -~]", "");
    }

    private static <T> T any(List<T> values, SplittableRandom random) {
        return values.get(random.nextInt(values.size()));
    }

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }
}
