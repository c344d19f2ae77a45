package dev.weir.server.http;

import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.Queue;
import java.util.concurrent.atomic.AtomicLong;
import org.eclipse.jetty.http.HttpHeader;
import org.eclipse.jetty.server.Handler;
import org.eclipse.jetty.server.Request;
import org.eclipse.jetty.server.Response;
import org.eclipse.jetty.util.Callback;

/**
 * Buffers responses and sends them asynchronously, so that callers who read slowly occupy no threads. All buffers
 * together have a bound; beyond it, the connection that has been sending for longest is closed. Event streams are not
 * buffered, because each has its own thread.
 */
public final class ResponseSender extends Handler.Wrapper {

    /** The bound is the heap divided by this. */
    private static final int HEAP_PARTS = 16;

    private static final long MIN_BUFFER_BYTES = 8 << 20;
    private static final String EVENTS = "text/event-stream";

    private final ConnectionGuard guard;
    private final long maxBytes =
            Math.max(MIN_BUFFER_BYTES, Runtime.getRuntime().maxMemory() / HEAP_PARTS);
    private final AtomicLong bufferedBytes = new AtomicLong();

    public ResponseSender(ConnectionGuard guard) {
        this.guard = guard;
    }

    @Override
    public boolean handle(Request request, Response response, Callback callback) throws Exception {
        BufferedResponse sending = new BufferedResponse(request, response, callback);
        return super.handle(request, sending, sending.done());
    }

    /** A part of a response. */
    private record Part(boolean isLast, ByteBuffer content) {}

    /** A response that is being sent. */
    private final class BufferedResponse extends Response.Wrapper {
        private final Callback callback;
        private final Queue<Part> parts = new ArrayDeque<>();
        private boolean isWriting;
        private boolean isDone;
        private Throwable failure;

        BufferedResponse(Request request, Response response, Callback callback) {
            super(request, response);
            this.callback = callback;
        }

        /** Returns the callback for the end of the response's creation. */
        Callback done() {
            return Callback.from(
                    () -> {
                        synchronized (this) {
                            isDone = true;
                            if (isWriting) {
                                return;
                            }
                        }
                        complete();
                    },
                    callback::failed);
        }

        private void complete() {
            if (failure == null) {
                callback.succeeded();
            } else {
                callback.failed(failure);
            }
        }

        @Override
        public void write(boolean last, ByteBuffer content, Callback written) {
            String type = getHeaders().get(HttpHeader.CONTENT_TYPE);
            if (type != null && type.startsWith(EVENTS)) {
                super.write(last, content, written);
                return;
            }
            int length = content == null ? 0 : content.remaining();
            if (bufferedBytes.addAndGet(length) > maxBytes) {
                guard.closeOldestSending();
            }
            ByteBuffer copy = ByteBuffer.allocate(length); // Jetty reuses its buffer
            if (content != null) {
                copy.put(content).flip();
            }
            boolean isFirst;
            synchronized (this) {
                parts.add(new Part(last, copy));
                isFirst = !isWriting;
                isWriting = true;
            }
            if (isFirst) {
                writeNext();
            }
            written.succeeded();
        }

        private void writeNext() {
            Part part;
            synchronized (this) {
                part = failure == null ? parts.poll() : null;
                if (part == null) {
                    parts.forEach(left -> bufferedBytes.addAndGet(-left.content.capacity()));
                    parts.clear();
                    isWriting = false;
                    if (!isDone) {
                        return;
                    }
                }
            }
            if (part == null) {
                complete();
                return;
            }
            super.write(part.isLast, part.content, Callback.from(() -> wrote(part, null), why -> wrote(part, why)));
        }

        private void wrote(Part part, Throwable why) {
            bufferedBytes.addAndGet(-part.content.capacity());
            synchronized (this) {
                failure = failure == null ? why : failure;
            }
            writeNext();
        }
    }
}
