package dev.weir.backtest;

import dev.weir.config.WeirConfig;
import dev.weir.event.Request;
import dev.weir.fault.BadInput;
import dev.weir.policy.RequestRules;
import dev.weir.wire.json.NdjsonLines;
import dev.weir.wire.json.RequestJson;
import java.util.Optional;

/** A line is not a valid request. The message names the place. */
public final class BadRequestException extends RuntimeException implements BadInput {

    private static final long serialVersionUID = 1L;

    private BadRequestException(String message, Throwable cause) {
        super(message, cause);
    }

    /**
     * Parses and validates the line that was read last.
     *
     * @param nowMs the time of a request without a timestamp
     * @param offset the offset of a request without one
     * @throws BadRequestException if the line is not a valid request
     */
    public static Request read(String line, NdjsonLines lines, WeirConfig config, long nowMs, long offset) {
        Request request;
        try {
            request = RequestJson.read(line, nowMs, new Request.Source(0, offset));
        } catch (IllegalArgumentException e) {
            throw new BadRequestException(lines.place() + ": " + e.getMessage(), e);
        }
        Optional<RequestRules.Violation> violation = config.requests().rules().check(request);
        if (violation.isPresent()) {
            throw new BadRequestException(lines.place() + ": " + violation.get().detail(), null);
        }
        return request;
    }
}
