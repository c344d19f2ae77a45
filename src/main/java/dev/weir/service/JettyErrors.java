package dev.weir.service;

import java.nio.ByteBuffer;
import org.eclipse.jetty.http.HttpHeader;
import org.eclipse.jetty.server.Request;
import org.eclipse.jetty.server.Response;
import org.eclipse.jetty.server.handler.ErrorHandler;
import org.eclipse.jetty.util.Callback;

/** Answers for what Jetty refuses before anybody sees it: a request that is no HTTP, headers that are too long. */
final class JettyErrors extends ErrorHandler {

    /** For every method, not only for those of a browser. */
    @Override
    public boolean errorPageForMethod(String method) {
        return true;
    }

    @Override
    protected void generateResponse(
            Request request, Response response, int status, String message, Throwable cause, Callback callback) {
        response.getHeaders().put(HttpHeader.CONTENT_TYPE, Problem.CONTENT_TYPE);
        response.write(true, ByteBuffer.wrap(problem(status)), callback);
    }

    private static byte[] problem(int status) {
        return Problem.of(status, status < 500 ? "the request cannot be read" : "it failed")
                .json();
    }
}
