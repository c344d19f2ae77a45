package dev.weir.service.http;

import java.net.SocketAddress;
import org.eclipse.jetty.io.AbstractEndPoint;
import org.eclipse.jetty.io.Connection;
import org.eclipse.jetty.io.EndPoint;
import org.eclipse.jetty.server.Connector;
import org.eclipse.jetty.server.HttpConfiguration;
import org.eclipse.jetty.server.HttpConnectionFactory;
import org.eclipse.jetty.server.Request;
import org.eclipse.jetty.server.internal.HttpConnection;

/** Creates HTTP connections that a {@link ConnectionGuard} bounds. */
public final class GuardedConnectionFactory extends HttpConnectionFactory {

    private final ConnectionGuard guard;

    public GuardedConnectionFactory(HttpConfiguration http, ConnectionGuard guard) {
        super(http);
        this.guard = guard;
    }

    @Override
    public Connection newConnection(Connector connector, EndPoint endPoint) {
        GuardedHttpConnection connection = new GuardedHttpConnection(getHttpConfiguration(), connector, endPoint);
        connection.setUseInputDirectByteBuffers(isUseInputDirectByteBuffers());
        connection.setUseOutputDirectByteBuffers(isUseOutputDirectByteBuffers());
        return configure(connection, connector, endPoint);
    }

    /** Must be called when a request has been received completely. */
    static void arrived(Request request) {
        if (request.getConnectionMetaData().getConnection() instanceof GuardedHttpConnection guarded) {
            guarded.arrived();
        }
    }

    private final class GuardedHttpConnection extends HttpConnection implements ConnectionGuard.GuardedConnection {
        private volatile boolean isIncomplete = true; // until its first request has arrived
        private volatile long sinceNanos = System.nanoTime();
        private volatile long bytesBefore;

        GuardedHttpConnection(HttpConfiguration http, Connector connector, EndPoint endPoint) {
            super(http, connector, endPoint);
        }

        @Override
        protected RequestHandler newRequestHandler() {
            return new RequestHandler() {
                @Override
                public void messageBegin() {
                    if (!isIncomplete) {
                        sinceNanos = System.nanoTime();
                        bytesBefore = getBytesIn();
                        isIncomplete = true;
                    }
                    super.messageBegin();
                }
            };
        }

        private void arrived() {
            isIncomplete = false;
            sinceNanos = System.nanoTime();
        }

        @Override
        public void onOpen() {
            guard.opened(this);
            super.onOpen();
        }

        @Override
        public void onClose(Throwable cause) {
            guard.closed(this);
            super.onClose(cause);
        }

        @Override
        public boolean isIncomplete() {
            return isIncomplete;
        }

        @Override
        public boolean isIdle() {
            return !isIncomplete && getEndPoint().isFillInterested();
        }

        @Override
        public boolean isSending() {
            return !isIncomplete
                    && getEndPoint() instanceof AbstractEndPoint endPoint
                    && endPoint.getWriteFlusher().isPending();
        }

        @Override
        public long stateSinceNanos() {
            return sinceNanos;
        }

        @Override
        public long receivedBytes() {
            return getBytesIn() - bytesBefore;
        }

        @Override
        public SocketAddress remote() {
            return getEndPoint().getRemoteSocketAddress();
        }

        @Override
        public void close(Throwable why) {
            getEndPoint().close(why);
        }
    }
}
