package dev.weir.policy;

/**
 * What a request has in common with its repeats. A {@link Kind#SETTLE} may have the id of what it settles and is no repeat
 * of it.
 */
public record RequestKey(String client, Kind kind, String requestId) {

    public static RequestKey of(Request request) {
        return new RequestKey(request.client(), request.kind(), request.requestId());
    }
}
