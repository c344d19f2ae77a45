package dev.weir.server.http;

import org.eclipse.jetty.http.HttpStatus;
import org.eclipse.jetty.server.Handler;
import org.eclipse.jetty.server.Request;
import org.eclipse.jetty.server.Response;
import org.eclipse.jetty.util.Callback;

/**
 * Passes requests on in threads of the server's pool. The handlers before it run in the threads that read from
 * connections, which saves a change of threads for the requests that they handle. They must not block.
 */
public final class ThreadPoolHandler extends Handler.Wrapper {

    @Override
    public InvocationType getInvocationType() {
        return InvocationType.NON_BLOCKING;
    }

    @Override
    public boolean handle(Request request, Response response, Callback callback) {
        request.getContext().execute(() -> passOn(request, response, callback));
        return true;
    }

    private void passOn(Request request, Response response, Callback callback) {
        try {
            if (!super.handle(request, response, callback)) {
                Response.writeError(request, response, callback, HttpStatus.NOT_FOUND_404);
            }
        } catch (Exception | Error e) {
            Response.writeError(request, response, callback, e);
        }
    }
}
