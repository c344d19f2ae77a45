package dev.weir.bench.gateway;

import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Reads from the metrics of a gateway how many requests were decided by leases, and how many waited for one. */
final class LeaseWaits {

    private static final Pattern DECIDED =
            Pattern.compile("(?m)^weir_client_requests_total\\{result=\"DECIDED_HERE\"\\} (\\S+)$");
    private static final Pattern WAITED = Pattern.compile("(?m)^weir_client_waited_here_total (\\S+)$");

    private final HttpClient client = HttpClient.newHttpClient();
    private final HttpRequest request;
    private double decided;
    private double waited;

    /** @param port the HTTP port of the gateway */
    LeaseWaits(int port) {
        request = HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + port + "/metrics"))
                .build();
    }

    /** Returns the share of requests that did not wait, 0 to 1, since the last call; 0 if there were none. */
    double shareDecidedAtOnce() throws IOException, InterruptedException {
        String metrics =
                client.send(request, HttpResponse.BodyHandlers.ofString()).body();
        double decidedNow = value(DECIDED, metrics);
        double waitedNow = value(WAITED, metrics);
        double share = decidedNow > decided ? 1 - (waitedNow - waited) / (decidedNow - decided) : 0;
        decided = decidedNow;
        waited = waitedNow;
        return share;
    }

    private static double value(Pattern line, String metrics) {
        Matcher matcher = line.matcher(metrics);
        if (!matcher.find()) {
            throw new IllegalStateException("the gateway reports no line " + line);
        }
        return Double.parseDouble(matcher.group(1));
    }
}
