package dev.weir.service.http;

import io.javalin.http.Context;
import java.io.IOException;
import java.nio.ByteBuffer;
import org.eclipse.jetty.ee10.servlet.ServletContextRequest;
import org.eclipse.jetty.io.EndPoint;

/** Whether callers still wait for their answers. */
public final class CallerConnections {

    private CallerConnections() {}

    /**
     * Whether the caller's connection is open. Its request must have arrived as a whole. If the caller has sent a
     * further request already, which HTTP permits and hardly anybody does, its first byte is lost, and the connection
     * is closed after this answer, so that it is sent again.
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
            one.limit(0); // between its calls, Jetty's buffers are set to be read
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
