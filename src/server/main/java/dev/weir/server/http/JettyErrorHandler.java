package dev.weir.server.http;

import java.nio.ByteBuffer;
import org.eclipse.jetty.http.HttpException;
import org.eclipse.jetty.http.HttpHeader;
import org.eclipse.jetty.server.Request;
import org.eclipse.jetty.server.Response;
import org.eclipse.jetty.server.handler.ErrorHandler;
import org.eclipse.jetty.util.Callback;

/**
 * Writes the responses to requests that are rejected before routing: malformed HTTP, and headers or bodies that are
 * too long.
 */
public final class JettyErrorHandler extends ErrorHandler {

    /** Returns true for every method; Jetty's default excludes some. */
    @Override
    public boolean errorPageForMethod(String method) {
        return true;
    }

    @Override
    protected void generateResponse(
            Request request, Response response, int status, String message, Throwable cause, Callback callback) {
        response.getHeaders().put(HttpHeader.CONTENT_TYPE, ProblemDetails.CONTENT_TYPE);
        response.getHeaders().put("X-Content-Type-Options", "nosniff");
        if (cause instanceof HttpException) { // the end of the malformed request is unknown
            response.getHeaders().put(HttpHeader.CONNECTION, "close");
        }
        response.write(true, ByteBuffer.wrap(problem(status, message, cause)), callback);
    }

    /** The message is Weir's own only if there is no cause. Other messages may reveal internals and are not sent. */
    private static byte[] problem(int status, String message, Throwable cause) {
        boolean isOwn = cause == null && (status == 413 || status == 503) && message != null;
        String detail = isOwn ? message : status < 500 ? "the request is malformed or too large" : "the request failed";
        return ProblemDetails.of(status, detail).json();
    }
}
