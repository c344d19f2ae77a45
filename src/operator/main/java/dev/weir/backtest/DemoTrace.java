package dev.weir.backtest;

import dev.weir.config.WeirConfig;
import dev.weir.event.Request;
import dev.weir.wire.json.NdjsonLines;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.zip.GZIPInputStream;

/** The request trace and the policies of the demo. {@code demo/NOTICE.md} names the source of the trace. */
public final class DemoTrace {

    private static final String REQUESTS = "/demo/requests.ndjson.gz";
    private static final String POLICIES = "/demo/policies.yaml";

    private DemoTrace() {}

    /** Returns all requests in order. */
    public static List<Request> requests() throws IOException {
        List<Request> requests = new ArrayList<>();
        try (NdjsonLines lines = open()) {
            for (String line = lines.next(); line != null; line = lines.next()) {
                requests.add(BadRequestException.read(line, lines, WeirConfig.DEFAULTS, 0, requests.size()));
            }
        }
        return requests;
    }

    /** Opens the trace as a file. */
    public static NdjsonLines open() throws IOException {
        return new NdjsonLines(REQUESTS, new GZIPInputStream(DemoTrace.class.getResourceAsStream(REQUESTS)));
    }

    /** Returns the policy file. */
    public static String policies() throws IOException {
        try (InputStream in = DemoTrace.class.getResourceAsStream(POLICIES)) {
            return new String(in.readAllBytes(), StandardCharsets.UTF_8);
        }
    }
}
