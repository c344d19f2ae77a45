package dev.weir.policy;

import dev.weir.event.Request;
import dev.weir.event.RequestKind;

/**
 * What a request has in common with its repeats. A {@link RequestKind#SETTLE} may have the id of what it settles and is
 * no repeat of it.
 */
public record RequestKey(String client, RequestKind kind, String requestId) {

    public static RequestKey of(Request request) {
        return new RequestKey(request.client(), request.kind(), request.requestId());
    }
}
