package dev.weir.server.http;

import io.javalin.http.Context;
import java.io.IOException;
import java.nio.ByteBuffer;
import org.eclipse.jetty.ee10.servlet.ServletContextRequest;
import org.eclipse.jetty.io.EndPoint;

/** Detects callers that have disconnected. */
public final class CallerConnections {

    private CallerConnections() {}

    /**
     * Returns whether the caller's connection is open. The request must have been received completely. If the caller
     * has already sent another request on this connection (HTTP pipelining, which is rare), its first byte is lost; the
     * connection is then closed after this response, so that the caller sends that request again.
     */
    public static boolean isConnected(Context request) {
        EndPoint endPoint = ServletContextRequest.getServletContextRequest(request.req())
                .getConnectionMetaData()
                .getConnection()
                .getEndPoint();
        if (!endPoint.isOpen() || endPoint.isInputShutdown()) {
            return false;
        }
        try {
            ByteBuffer one = ByteBuffer.allocate(1);
            one.limit(0); // Jetty expects buffers in flush mode
            int filled = endPoint.fill(one);
            if (filled > 0) {
                request.header("Connection", "close");
            }
            return filled >= 0;
        } catch (IOException e) {
            return false;
        }
    }
}
