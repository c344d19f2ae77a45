package dev.weir.policy;

import dev.weir.event.Request;
import dev.weir.event.RequestKind;

/**
 * The identity that a request shares with its repeats. It includes the kind, because a {@link RequestKind#SETTLE} can
 * have the requestId of the request that it settles and is not a repeat of it.
 */
public record RequestKey(String client, RequestKind kind, String requestId) {

    public static RequestKey of(Request request) {
        return new RequestKey(request.client(), request.kind(), request.requestId());
    }
}
