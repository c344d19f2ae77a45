package dev.weir.failure.load;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import java.io.IOException;
import java.io.InputStream;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;

/** Attackers of the HTTP service of one instance, of all kinds at once, until they are closed. */
public final class HostileCallers implements AutoCloseable {

    private static final int CONNECT_MS = 2_000;
    private static final int READ_MS = 60_000;
    private static final long PAUSE_MS = 50;
    private static final long TRICKLE_MS = 1_000;
    private static final int REOPEN_EVERY = 5;
    private static final String HOST = "Host: localhost\r\n";

    private static final int SLOW_HEADERS = 300;
    private static final int SLOW_BODIES = 40;
    private static final int SLOW_HEALTH_CHECKS = 60;
    private static final int SILENT = 600; // more than either port accepts
    private static final int NOT_READING = 40;
    private static final int CROSS_SITE = 16;

    /** A policy file with a glob that can match in very many ways. */
    private static final String GLOBS = "{\"policies\":[{\"id\":\"globs\",\"match\":{\"any\":\""
            + "*a".repeat(120)
            + "*\"},\"limits\":[{\"algorithm\":\"gcra\",\"limit\":5,\"per\":\"1m\"}]}]}";

    private final int port;
    private final Collection<String> kinds;
    private final List<Thread> threads = new ArrayList<>();
    private final Map<String, AtomicLong> done = new TreeMap<>();
    private volatile boolean closed;

    private HostileCallers(int port, Collection<String> kinds) {
        this.port = port;
        this.kinds = kinds;
    }

    /** @param kinds the names of the attacks to start; all if empty */
    public static HostileCallers begin(int port, int healthPort, Collection<String> kinds) {
        HostileCallers callers = new HostileCallers(port, kinds);
        callers.trickle(
                "slow headers", SLOW_HEADERS, port, "GET /v1/openapi.json HTTP/1.1\r\n" + HOST + "X-Slow: ", "a");
        callers.trickle(
                "slow bodies",
                SLOW_BODIES,
                port,
                "POST /v1/validate HTTP/1.1\r\n" + HOST
                        + "Content-Type: application/json\r\nContent-Length: 1000000\r\n\r\n{",
                " ");
        callers.trickle(
                "slow health checks",
                SLOW_HEALTH_CHECKS,
                healthPort,
                "GET /health/ready HTTP/1.1\r\n" + HOST + "X-Slow: ",
                "a");
        callers.trickle("silent", SILENT, port, "", "");
        callers.trickle("silent health checks", SILENT, healthPort, "", "");
        callers.trickle(
                "not reading",
                NOT_READING,
                port,
                ("GET /v1/openapi.json HTTP/1.1\r\n" + HOST + "\r\n").repeat(500),
                "");
        callers.trickle(
                "cross-site",
                CROSS_SITE,
                port,
                "GET /v1/live HTTP/1.1\r\n" + HOST + "Sec-Fetch-Site: cross-site\r\n\r\n",
                "");
        callers.start("backtest", callers.backtest(), true);
        callers.start("backtest and leave", callers.backtest(), false);
        callers.start("a word of 2 MiB", post("/v1/validate", "application/yaml", "x".repeat(2_000_000)), true);
        callers.start(
                "wrong tokens",
                "GET /v1/policies HTTP/1.1\r\n" + HOST
                        + "Authorization: Bearer a-token-that-is-wrong\r\nConnection: close\r\n\r\n",
                true);
        callers.start("no path", "GET /%zz HTTP/1.1\r\n" + HOST + "\r\n", true);
        return callers;
    }

    private String backtest() {
        return post("/v1/backtest?minutes=60", "application/json", GLOBS);
    }

    private static String post(String path, String type, String body) {
        return "POST " + path + " HTTP/1.1\r\n" + HOST + "Content-Type: " + type + "\r\nContent-Length: "
                + body.length() + "\r\nConnection: close\r\n\r\n" + body;
    }

    /** Returns the number of calls or connections, by kind of attack. */
    public Map<String, AtomicLong> done() {
        return done;
    }

    /**
     * Keeps connections open that send {@code then} each second, and reopens those that are closed. If {@code then} is
     * empty, each connection is reopened every {@value #REOPEN_EVERY} seconds.
     */
    private void trickle(String name, int connections, int to, String first, String then) {
        if (!isAsked(name)) {
            return;
        }
        Socket[] sockets = new Socket[connections];
        AtomicLong opened = done.computeIfAbsent(name, unused -> new AtomicLong());
        thread(name, () -> {
            for (int round = 0; !closed; round++) {
                for (int i = 0; i < connections && !closed; i++) {
                    try {
                        if (sockets[i] == null) {
                            sockets[i] = connect(to);
                            sockets[i].getOutputStream().write(first.getBytes(ISO_8859_1));
                            opened.incrementAndGet();
                        } else if (!then.isEmpty()) {
                            sockets[i].getOutputStream().write(then.getBytes(ISO_8859_1));
                        } else if (round % REOPEN_EVERY == i % REOPEN_EVERY) {
                            close(sockets[i]);
                            sockets[i] = null;
                        }
                    } catch (IOException e) {
                        close(sockets[i]);
                        sockets[i] = null;
                    }
                }
                pause(TRICKLE_MS);
            }
            for (Socket socket : sockets) {
                close(socket);
            }
        });
    }

    private void start(String name, String request, boolean stays) {
        if (!isAsked(name)) {
            return;
        }
        AtomicLong times = done.computeIfAbsent(name, unused -> new AtomicLong());
        thread(name, () -> {
            while (!closed) {
                try {
                    ask(request, stays, times);
                } catch (IOException e) {
                    // refused: try again
                }
                pause(PAUSE_MS);
            }
        });
    }

    private boolean isAsked(String kind) {
        return kinds.isEmpty() || kinds.contains(kind);
    }

    private void thread(String name, Runnable what) {
        Thread thread = new Thread(what, name);
        thread.setDaemon(true);
        threads.add(thread);
        thread.start();
    }

    private void ask(String request, boolean stays, AtomicLong times) throws IOException {
        try (Socket socket = connect(port)) {
            socket.getOutputStream().write(request.getBytes(ISO_8859_1));
            times.incrementAndGet();
            if (stays) {
                InputStream in = socket.getInputStream();
                byte[] buffer = new byte[8_192];
                while (!closed && in.read(buffer) >= 0) {
                    // read to the end
                }
            } else {
                pause(TRICKLE_MS);
            }
        }
    }

    private static Socket connect(int to) throws IOException {
        Socket socket = new Socket();
        try {
            socket.connect(new InetSocketAddress("127.0.0.1", to), CONNECT_MS);
            socket.setSoTimeout(READ_MS);
            return socket;
        } catch (IOException e) {
            socket.close();
            throw e;
        }
    }

    private static void close(Socket socket) {
        try {
            if (socket != null) {
                socket.close();
            }
        } catch (IOException e) {
            // the connection is no longer needed
        }
    }

    private void pause(long ms) {
        try {
            TimeUnit.MILLISECONDS.sleep(ms);
        } catch (InterruptedException e) {
            closed = true;
        }
    }

    @Override
    public void close() {
        closed = true;
        threads.forEach(Thread::interrupt);
    }
}
