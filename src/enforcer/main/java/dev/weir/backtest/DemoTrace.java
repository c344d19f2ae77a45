package dev.weir.backtest;

import dev.weir.config.WeirConfig;
import dev.weir.event.Request;
import dev.weir.wire.NdjsonLines;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.zip.GZIPInputStream;

/** The real trace that ships with Weir, and policies for it; {@code demo/NOTICE.md} says where it is from. */
public final class DemoTrace {

    private static final String REQUESTS = "/demo/requests.ndjson.gz";
    private static final String POLICIES = "/demo/policies.yaml";

    private DemoTrace() {}

    /** All requests, in their order. */
    public static List<Request> requests() throws IOException {
        List<Request> requests = new ArrayList<>();
        try (NdjsonLines lines = open()) {
            for (String line = lines.next(); line != null; line = lines.next()) {
                requests.add(BadRequestException.read(line, lines, WeirConfig.DEFAULTS, 0, requests.size()));
            }
        }
        return requests;
    }

    /** The trace as the file that it is. */
    public static NdjsonLines open() throws IOException {
        return new NdjsonLines(REQUESTS, new GZIPInputStream(DemoTrace.class.getResourceAsStream(REQUESTS)));
    }

    /** The policy file. */
    public static String policies() throws IOException {
        try (InputStream in = DemoTrace.class.getResourceAsStream(POLICIES)) {
            return new String(in.readAllBytes(), StandardCharsets.UTF_8);
        }
    }
}
