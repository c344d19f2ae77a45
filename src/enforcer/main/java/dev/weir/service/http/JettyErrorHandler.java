package dev.weir.service.http;

import java.nio.ByteBuffer;
import org.eclipse.jetty.http.HttpException;
import org.eclipse.jetty.http.HttpHeader;
import org.eclipse.jetty.server.Request;
import org.eclipse.jetty.server.Response;
import org.eclipse.jetty.server.handler.ErrorHandler;
import org.eclipse.jetty.util.Callback;

/**
 * Answers for what is refused before a route is looked for: a request that is no HTTP, headers or a body that are too
 * long.
 */
public final class JettyErrorHandler extends ErrorHandler {

    /** For every method, not only for those of a browser. */
    @Override
    public boolean errorPageForMethod(String method) {
        return true;
    }

    @Override
    protected void generateResponse(
            Request request, Response response, int status, String message, Throwable cause, Callback callback) {
        response.getHeaders().put(HttpHeader.CONTENT_TYPE, ProblemDetails.CONTENT_TYPE);
        response.getHeaders().put("X-Content-Type-Options", "nosniff");
        if (cause instanceof HttpException) { // what follows cannot be told from it
            response.getHeaders().put(HttpHeader.CONNECTION, "close");
        }
        response.write(true, ByteBuffer.wrap(problem(status, message, cause)), callback);
    }

    /** Messages are the service's own only where nothing was thrown. */
    private static byte[] problem(int status, String message, Throwable cause) {
        boolean isOwn = cause == null && (status == 413 || status == 503) && message != null;
        return ProblemDetails.of(status, isOwn ? message : status < 500 ? "the request cannot be read" : "it failed")
                .json();
    }
}
