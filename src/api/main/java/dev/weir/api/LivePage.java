package dev.weir.api;

import dev.weir.server.http.AccessControl;
import dev.weir.server.http.ProblemDetails;
import io.javalin.http.Context;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.Map;
import java.util.regex.Pattern;

/** Serves the static files of the live page. They contain no data and load nothing from other hosts. */
public final class LivePage {

    private static final String DIRECTORY = "/live/";
    private static final String INDEX = "index.html";

    /** Files that come from other jars, by the name that the page uses. */
    private static final Map<String, String> LIBRARIES =
            Map.of("chart.js", "/META-INF/resources/webjars/chart.js/4.5.1/dist/chart.umd.min.js");

    private static final Pattern FILE = Pattern.compile("[a-z][a-z-]*\\.(js|css|svg|html)");

    private static final Map<String, String> TYPES = Map.of(
            "js", "text/javascript;charset=utf-8",
            "css", "text/css;charset=utf-8",
            "svg", "image/svg+xml",
            "html", "text/html;charset=utf-8");

    private static final Map<String, String> HEADERS = Map.of(
            "Cache-Control",
            "no-cache", // the files contain no data
            "Content-Security-Policy",
            "default-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
            "X-Content-Type-Options",
            "nosniff",
            "Referrer-Policy",
            "no-referrer");

    private LivePage() {}

    static void redirect(Context request) {
        request.status(302).header("Location", AccessControl.LIVE_PAGE_PATH);
    }

    public static void page(Context request) {
        answer(request, INDEX);
    }

    public static void file(Context request) {
        String file = request.pathParam("file");
        if (!FILE.matcher(file).matches()) {
            throw notThere().exception();
        }
        answer(request, file);
    }

    private static void answer(Context request, String file) {
        try (InputStream content = LivePage.class.getResourceAsStream(LIBRARIES.getOrDefault(file, DIRECTORY + file))) {
            if (content == null) {
                throw notThere().exception();
            }
            HEADERS.forEach(request::header);
            request.contentType(TYPES.get(file.substring(file.lastIndexOf('.') + 1)))
                    .result(content.readAllBytes());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static ProblemDetails notThere() {
        return ProblemDetails.of(404, "the live page has no such file");
    }
}
