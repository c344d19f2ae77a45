package dev.weir.server.http;

import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicLong;
import org.eclipse.jetty.http.HttpHeader;
import org.eclipse.jetty.io.Content;
import org.eclipse.jetty.server.Handler;
import org.eclipse.jetty.server.Request;
import org.eclipse.jetty.server.Response;
import org.eclipse.jetty.util.Callback;

/**
 * Receives request bodies asynchronously and passes a request on when its body is complete, so that a slow body
 * occupies no thread. The bodies that are being received have a common bound. Beyond it, the connection with the
 * longest body is closed, so that callers with short bodies are not affected.
 */
public final class BodyLoader extends Handler.Wrapper {

    /** The bound is the heap divided by this. */
    private static final int HEAP_PARTS = 16;

    private static final long MIN_BUFFER_BYTES = 4L * RequestBody.MAX_BYTES;

    private final long maxBytes;
    private final AtomicLong bufferedBytes = new AtomicLong();
    private final Set<PendingBody> pendingBodies = ConcurrentHashMap.newKeySet(); // not yet complete

    public BodyLoader() {
        this(Math.max(MIN_BUFFER_BYTES, Runtime.getRuntime().maxMemory() / HEAP_PARTS));
    }

    /** @param mostBytes how many bytes all bodies together may use */
    public BodyLoader(long mostBytes) {
        this.maxBytes = mostBytes;
    }

    @Override
    public boolean handle(Request request, Response response, Callback callback) throws Exception {
        boolean hasBody = request.getHeaders().contains(HttpHeader.TRANSFER_ENCODING) || request.getLength() > 0;
        if (!hasBody) {
            GuardedConnectionFactory.arrived(request);
            return super.handle(request, response, callback);
        }
        if (request.getLength() > RequestBody.MAX_BYTES) {
            Response.writeError(request, response, callback, 413, RequestBody.TOO_LONG);
        } else {
            PendingBody load = new PendingBody(request, response, callback);
            pendingBodies.add(load);
            load.run();
        }
        return true;
    }

    /** A body that is being received. */
    private final class PendingBody implements Runnable {
        private final Request request;
        private final Response response;
        private final Callback callback;
        private final ByteArrayOutputStream body = new ByteArrayOutputStream();

        PendingBody(Request request, Response response, Callback callback) {
            this.request = request;
            this.response = response;
            this.callback = callback;
        }

        @Override
        public void run() {
            while (true) {
                Content.Chunk chunk = request.read();
                if (chunk == null) {
                    request.demand(this);
                    return;
                }
                if (Content.Chunk.isFailure(chunk)) {
                    pendingBodies.remove(this);
                    release();
                    callback.failed(chunk.getFailure());
                    return;
                }
                int more = chunk.remaining();
                byte[] part = new byte[more];
                chunk.getByteBuffer().get(part);
                body.writeBytes(part);
                boolean isLast = chunk.isLast();
                chunk.release();
                if (bufferedBytes.addAndGet(more) > maxBytes && !makeRoom()) {
                    refuse(503, "too many request bodies are being received");
                    return;
                }
                if (body.size() > RequestBody.MAX_BYTES) {
                    refuse(413, RequestBody.TOO_LONG);
                    return;
                }
                if (isLast) {
                    pendingBodies.remove(this);
                    GuardedConnectionFactory.arrived(request);
                    work();
                    return;
                }
            }
        }

        /** Closes the connection with the longest body. Returns false if this body is the longest. */
        private boolean makeRoom() {
            PendingBody longest = this;
            for (PendingBody load : pendingBodies) {
                longest = load.body.size() > longest.body.size() ? load : longest;
            }
            if (longest == this) {
                return false;
            }
            pendingBodies.remove(longest);
            longest.request
                    .getConnectionMetaData()
                    .getConnection()
                    .getEndPoint()
                    .close(new TimeoutException("too many request bodies are being received"));
            return true;
        }

        private void work() {
            Callback done = Callback.from(callback, this::release);
            try {
                if (!BodyLoader.super.handle(new LoadedRequest(request, body.toByteArray()), response, done)) {
                    Response.writeError(request, response, done, 404);
                }
            } catch (Exception e) {
                Response.writeError(request, response, done, e);
            }
        }

        private void refuse(int status, String why) {
            pendingBodies.remove(this);
            response.getHeaders().put(HttpHeader.CONNECTION, "close");
            Response.writeError(request, response, Callback.from(callback, this::release), status, why);
        }

        private void release() {
            bufferedBytes.addAndGet(-body.size());
        }
    }

    /** A request whose body is complete. */
    private static final class LoadedRequest extends Request.Wrapper {
        private final byte[] body;
        private boolean isRead;

        LoadedRequest(Request request, byte[] body) {
            super(request);
            this.body = body;
        }

        @Override
        public Content.Chunk read() {
            if (isRead || body.length == 0) {
                return Content.Chunk.EOF;
            }
            isRead = true;
            return Content.Chunk.from(ByteBuffer.wrap(body), true);
        }

        @Override
        public void demand(Runnable whenThereIs) {
            getContext().execute(whenThereIs);
        }

        @Override
        public void fail(Throwable why) {
            isRead = true;
        }
    }
}
