package dev.weir.gateway.envoy;

import dev.weir.gateway.envoy.mapping.RequestAnswer;
import io.grpc.Status;
import java.util.List;

/** How a call ends. */
sealed interface CallResult {

    /** All requests have an answer, in the order of their descriptors. */
    record Answered(List<RequestAnswer> answers) implements CallResult {}

    /** The call ends with an error. */
    record Failed(Status status) implements CallResult {}
}
