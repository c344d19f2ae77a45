package dev.weir.spring.http;

import dev.weir.spring.ThrottleSleeper;
import jakarta.servlet.FilterChain;
import jakarta.servlet.ServletException;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import org.springframework.http.HttpHeaders;
import org.springframework.web.context.request.async.StandardServletAsyncWebRequest;
import org.springframework.web.context.request.async.WebAsyncUtils;
import org.springframework.web.filter.OncePerRequestFilter;

/**
 * Delays the requests that policies throttle. While a request is delayed, it is asynchronous and occupies no thread.
 * Then it is dispatched to its servlet. If asynchronous requests are not supported or disabled, its thread is blocked;
 * if too many threads are blocked, the response is 429 with {@code Retry-After}.
 *
 * <p>This is the last filter: by default, filters do not run again when an asynchronous request is dispatched.
 */
final class ServletDelayFilter extends OncePerRequestFilter {

    static final int TOO_MANY_REQUESTS = 429;

    private static final String DELAY_MS = ServletDelayFilter.class.getName() + ".DELAY_MS";

    /** How long after its delay a request ends if it could not be dispatched. */
    private static final long MARGIN_MS = 30_000;

    private final ThrottleSleeper sleeper;
    private final boolean isAsync;
    private final ScheduledThreadPoolExecutor scheduler;

    /** @param isAsync whether requests become asynchronous */
    ServletDelayFilter(ThrottleSleeper sleeper, boolean isAsync) {
        this.sleeper = sleeper;
        this.isAsync = isAsync;
        scheduler = new ScheduledThreadPoolExecutor(1, task -> {
            Thread thread = new Thread(task, "weir-delays");
            thread.setDaemon(true);
            return thread;
        });
    }

    /** Sets the delay of a request, before this filter is called. */
    static void setDelay(HttpServletRequest http, long delayMs) {
        http.setAttribute(DELAY_MS, delayMs);
    }

    @Override
    protected void doFilterInternal(HttpServletRequest http, HttpServletResponse response, FilterChain chain)
            throws ServletException, IOException {
        Long delayMs = (Long) http.getAttribute(DELAY_MS);
        if (delayMs == null || delayMs == 0) {
            chain.doFilter(http, response);
        } else if (isAsync && http.isAsyncSupported()) {
            dispatchLater(http, response, delayMs);
        } else {
            block(http, response, chain, delayMs);
        }
    }

    private void dispatchLater(HttpServletRequest http, HttpServletResponse response, long delayMs) {
        StandardServletAsyncWebRequest request = new StandardServletAsyncWebRequest(http, response);
        request.setTimeout(delayMs + MARGIN_MS);
        WebAsyncUtils.getAsyncManager(http).setAsyncWebRequest(request); // other filters see that it is asynchronous
        request.startAsync();
        scheduler.schedule(request::dispatch, delayMs, TimeUnit.MILLISECONDS);
    }

    private void block(HttpServletRequest http, HttpServletResponse response, FilterChain chain, long delayMs)
            throws ServletException, IOException {
        boolean isOver;
        try {
            isOver = sleeper.sleep(delayMs);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            response.setStatus(HttpVerdict.UNAVAILABLE);
            return;
        }
        if (isOver) {
            chain.doFilter(http, response);
        } else {
            response.setHeader(HttpHeaders.RETRY_AFTER, String.valueOf((delayMs + 999) / 1_000));
            response.setStatus(TOO_MANY_REQUESTS);
        }
    }

    @Override
    public void destroy() {
        scheduler.shutdownNow();
    }
}
