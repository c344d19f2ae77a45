package dev.weir.server.http;

import java.io.IOException;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.ServerSocketChannel;
import java.util.concurrent.TimeUnit;
import org.eclipse.jetty.server.ConnectionFactory;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.ServerConnector;

/** Accepts the connections of a {@link ServiceListener}, at the pace at which a {@link ConnectionGuard} bounds them. */
final class GuardedConnector extends ServerConnector {

    private static final long PAUSE_MS = 1_000;

    private final ServiceListener listener;
    private final ConnectionGuard guard;

    /** @param selectors the number of threads that read from connections */
    GuardedConnector(
            Server server, int selectors, ServiceListener listener, ConnectionGuard guard, ConnectionFactory... types) {
        super(server, 1, selectors, types);
        this.listener = listener;
        this.guard = guard;
        getSelectorManager().addEventListener(new AcceptPace());
    }

    @Override
    protected ServerSocketChannel openAcceptChannel() throws IOException {
        return listener.listen();
    }

    /** Waits after a failure such as that of too few descriptors. */
    @Override
    protected boolean handleAcceptFailure(Throwable failure) {
        if (!isRunning() || !(failure instanceof IOException) || failure instanceof ClosedChannelException) {
            return super.handleAcceptFailure(failure);
        }
        guard.acceptFailed(listener.setting(), failure);
        try {
            TimeUnit.MILLISECONDS.sleep(PAUSE_MS);
            return true;
        } catch (InterruptedException e) {
            return false;
        }
    }
}
