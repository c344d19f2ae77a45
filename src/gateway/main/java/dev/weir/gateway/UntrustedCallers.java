package dev.weir.gateway;

import dev.weir.address.IpAddresses;
import java.net.InetAddress;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Logs calls from addresses that are not trusted proxies, at most one a minute. Thread-safe. */
final class UntrustedCallers {

    private static final long INTERVAL_NANOS = TimeUnit.MINUTES.toNanos(1);
    private static final Logger LOG = LoggerFactory.getLogger(UntrustedCallers.class);

    private final String called;
    private final AtomicLong loggedNanos = new AtomicLong(System.nanoTime() - INTERVAL_NANOS);

    /** @param called what they call, for the message */
    UntrustedCallers(String called) {
        this.called = called;
    }

    void log(InetAddress caller) {
        long nowNanos = System.nanoTime();
        long lastNanos = loggedNanos.get();
        if (nowNanos - lastNanos >= INTERVAL_NANOS && loggedNanos.compareAndSet(lastNanos, nowNanos)) {
            LOG.warn(
                    "{} called {}, but is not a trusted proxy; if it is a proxy, add it to gateway.trusted-proxies",
                    IpAddresses.text(caller),
                    called);
        }
    }
}
