package dev.weir.registry;

import dev.weir.wire.RegistryException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Function;

/** Waits for the responses of a registry and describes failed requests. */
final class RegistryRequest {

    /** How long a request may take. */
    private static final long TIMEOUT_SECONDS = 10;

    private RegistryRequest() {}

    /**
     * Returns the response to a request.
     *
     * @param url the URL of the registry
     * @param reason describes the cause of a failure
     * @throws RegistryException if the request fails, or takes more than {@value #TIMEOUT_SECONDS} s
     */
    static <T> T await(Future<T> response, String url, Function<Throwable, String> reason) {
        try {
            return response.get(TIMEOUT_SECONDS, TimeUnit.SECONDS);
        } catch (ExecutionException e) {
            throw failed(url, reason.apply(e.getCause()), e.getCause());
        } catch (TimeoutException e) {
            response.cancel(true);
            throw new RegistryException(
                    "the registry at " + url + " did not respond within " + TIMEOUT_SECONDS + "s", e);
        } catch (InterruptedException e) {
            response.cancel(true);
            Thread.currentThread().interrupt();
            throw new RegistryException("interrupted while waiting for the registry at " + url, e);
        }
    }

    static RegistryException failed(String url, String reason, Throwable cause) {
        return new RegistryException("the request to the registry at " + url + " failed: " + reason, cause);
    }
}
