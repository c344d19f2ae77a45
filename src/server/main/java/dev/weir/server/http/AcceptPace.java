package dev.weir.server.http;

import java.nio.channels.SelectableChannel;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Semaphore;
import org.eclipse.jetty.io.SelectorManager;

/**
 * Lets a connector accept connections no faster than its {@link ConnectionGuard} can bound them. Further ones wait in
 * the backlog of the operating system, where they need no descriptor of the process.
 */
final class AcceptPace implements SelectorManager.AcceptListener {

    private static final int MAX_UNREGISTERED = 64;

    private final Semaphore places = new Semaphore(MAX_UNREGISTERED);

    /** The connections with a place. Jetty can report that one is accepted and afterwards that it has failed. */
    private final Set<SelectableChannel> unregistered = ConcurrentHashMap.newKeySet();

    /** Runs in the thread that accepts connections. */
    @Override
    public void onAccepting(SelectableChannel channel) {
        try {
            places.acquire();
            unregistered.add(channel);
        } catch (InterruptedException e) { // the server stops
            Thread.currentThread().interrupt();
        }
    }

    @Override
    public void onAccepted(SelectableChannel channel) {
        release(channel);
    }

    @Override
    public void onAcceptFailed(SelectableChannel channel, Throwable cause) {
        release(channel);
    }

    private void release(SelectableChannel channel) {
        if (unregistered.remove(channel)) {
            places.release();
        }
    }

    /** Returns how many further connections can be accepted now. */
    int available() {
        return places.availablePermits();
    }
}
