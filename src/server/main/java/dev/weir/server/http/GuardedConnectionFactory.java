package dev.weir.server.http;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.concurrent.TimeoutException;
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

    private static final InetAddress NO_ADDRESS = new InetSocketAddress(0).getAddress();

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
        private final InetAddress caller;
        private volatile boolean isIncomplete = true; // until its first request has arrived
        private volatile long sinceNanos = System.nanoTime();
        private volatile long bytesBefore;

        GuardedHttpConnection(HttpConfiguration http, Connector connector, EndPoint endPoint) {
            super(http, connector, endPoint);
            caller = endPoint.getRemoteSocketAddress() instanceof InetSocketAddress remote
                    ? remote.getAddress()
                    : NO_ADDRESS; // the caller has closed the connection already
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
            if (!guard.opened(this)) {
                close(ConnectionGuard.Refusal.TOO_MANY);
            }
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
        public InetAddress caller() {
            return caller;
        }

        @Override
        public void close(ConnectionGuard.Refusal reason) {
            getEndPoint().close(new TimeoutException(reason.text()));
        }
    }
}
