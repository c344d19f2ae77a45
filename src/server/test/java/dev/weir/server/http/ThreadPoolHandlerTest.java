package dev.weir.server.http;

import static org.assertj.core.api.Assertions.assertThat;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.eclipse.jetty.server.Handler;
import org.eclipse.jetty.server.Request;
import org.eclipse.jetty.server.Response;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.ServerConnector;
import org.eclipse.jetty.util.Callback;
import org.eclipse.jetty.util.thread.Invocable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class ThreadPoolHandlerTest {

    private final Server server = new Server(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
    private final HttpClient client = HttpClient.newHttpClient();
    private final CountDownLatch isAnswered = new CountDownLatch(1);

    /** Answers {@code /first} itself, and passes other requests on. */
    private static final class First extends Handler.Wrapper {
        @Override
        public boolean handle(Request request, Response response, Callback callback) throws Exception {
            if (!request.getHttpURI().getPath().equals("/first")) {
                return super.handle(request, response, callback);
            }
            callback.succeeded();
            return true;
        }
    }

    /** Waits for the latch, or fails, or leaves the request to others. */
    private final class Blocking extends Handler.Abstract {
        @Override
        public boolean handle(Request request, Response response, Callback callback) throws Exception {
            switch (request.getHttpURI().getPath()) {
                case "/wait" -> {
                    response.setStatus(isAnswered.await(20, TimeUnit.SECONDS) ? 202 : 504);
                    callback.succeeded();
                    return true;
                }
                case "/fail" -> throw new IllegalStateException("failed");
                default -> {
                    return false;
                }
            }
        }
    }

    @BeforeEach
    void start() throws Exception {
        ThreadPoolHandler pool = new ThreadPoolHandler();
        pool.setHandler(new Blocking());
        First first = new First();
        first.setHandler(pool);
        server.setHandler(first);
        server.start();
    }

    @AfterEach
    void stop() throws Exception {
        server.stop();
    }

    private HttpRequest request(String path) {
        int port = ((ServerConnector) server.getConnectors()[0]).getLocalPort();
        return HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + port + path))
                .build();
    }

    private int status(String path) throws Exception {
        return client.send(request(path), HttpResponse.BodyHandlers.discarding())
                .statusCode();
    }

    @Test
    void requests_that_block_do_not_delay_those_that_the_first_handler_answers() throws Exception {
        assertThat(server.getInvocationType()).isEqualTo(Invocable.InvocationType.NON_BLOCKING);
        var waiting = client.sendAsync(request("/wait"), HttpResponse.BodyHandlers.discarding());
        assertThat(status("/first")).isEqualTo(200);
        assertThat(waiting).isNotDone();
        isAnswered.countDown();
        assertThat(waiting.get(20, TimeUnit.SECONDS).statusCode()).isEqualTo(202);
    }

    @Test
    void requests_that_nobody_handles_and_failures_have_a_response() throws Exception {
        assertThat(status("/other")).isEqualTo(404);
        assertThat(status("/fail")).isEqualTo(500);
    }
}
