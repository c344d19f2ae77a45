package dev.weir.doctor;

import java.io.IOException;
import java.net.URI;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.DateTimeException;
import java.time.Duration;
import java.time.ZonedDateTime;
import java.time.format.DateTimeFormatter;
import java.util.Optional;

/** Checks the HTTP services of instances, without a token. */
final class ServiceChecks {

    private static final Duration TIMEOUT = Duration.ofSeconds(3);

    private ServiceChecks() {}

    static void ready(ClusterView cluster, FindingCollector findings) {
        if (cluster.services().isEmpty()) {
            findings.skip("the configuration has no service port to check", "use --service http://HOST:PORT");
        }
        for (URI service : cluster.services()) {
            Optional<HttpResponse<String>> answer = ask(cluster, service);
            if (answer.isEmpty()) {
                String advice = service.getScheme().equals("https")
                        ? "use --service-ca FILE for its certificate authority, or --service https://HOST:PORT"
                                + " for another instance"
                        : "use --service http://HOST:PORT for another instance, or https://HOST:PORT with service.tls";
                if (cluster.areServicesNamed()) {
                    findings.fail(unreachable(service), advice);
                } else {
                    findings.skip(unreachable(service), advice);
                }
            } else if (answer.get().statusCode() == 200) {
                findings.ok(service + " is ready");
            } else {
                findings.warn(
                        service + " is not ready: " + answer.get().body().strip(),
                        "check again in some seconds; if it is still not ready, see its log");
            }
        }
    }

    /** Compares the {@code Date} header of each response, which has whole seconds. */
    static void clocks(ClusterView cluster, FindingCollector findings) {
        boolean isAsked = false;
        for (URI service : cluster.services()) {
            long before = System.currentTimeMillis();
            Optional<Long> there = ask(cluster, service)
                    .flatMap(answer -> answer.headers().firstValue("Date"))
                    .flatMap(ServiceChecks::time);
            if (there.isPresent()) {
                isAsked = true;
                long after = System.currentTimeMillis();
                ClockChecks.compare(service.toString(), there.get(), before - 1_000, after, findings);
            }
        }
        if (!isAsked) {
            findings.skip("no instance returned its time", "use --service http://HOST:PORT, once for each instance");
        }
    }

    private static Optional<Long> time(String date) {
        try {
            return Optional.of(ZonedDateTime.parse(date, DateTimeFormatter.RFC_1123_DATE_TIME)
                    .toInstant()
                    .toEpochMilli());
        } catch (DateTimeException e) {
            return Optional.empty();
        }
    }

    private static String unreachable(URI service) {
        return "no response from " + service
                + (service.getScheme().equals("https") ? ", or its certificate is not trusted" : "");
    }

    private static Optional<HttpResponse<String>> ask(ClusterView cluster, URI service) {
        try {
            return Optional.of(cluster.http()
                    .send(
                            HttpRequest.newBuilder(service.resolve("/health/ready"))
                                    .timeout(TIMEOUT)
                                    .build(),
                            BodyHandlers.ofString()));
        } catch (IOException e) {
            return Optional.empty();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return Optional.empty();
        }
    }
}
