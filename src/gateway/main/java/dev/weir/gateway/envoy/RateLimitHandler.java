package dev.weir.gateway.envoy;

import dev.weir.gateway.envoy.mapping.BadCallException;
import dev.weir.gateway.envoy.mapping.MappedRequest;
import dev.weir.gateway.envoy.mapping.RateLimitCall;
import dev.weir.gateway.envoy.mapping.RequestAnswer;
import dev.weir.gateway.envoy.message.CallReader;
import dev.weir.gateway.envoy.message.EncodedResponse;
import dev.weir.gateway.envoy.message.ReceivedMessage;
import dev.weir.gateway.envoy.message.ResponseBuilder;
import dev.weir.server.decide.RequestDecider;
import dev.weir.server.decide.RequestIds;
import io.grpc.Context;
import io.grpc.Metadata;
import io.grpc.ServerCall;
import io.grpc.ServerCallHandler;
import io.grpc.Status;
import java.util.List;
import java.util.concurrent.ScheduledExecutorService;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Handles calls of {@code ShouldRateLimit} that a {@link CallGate} has admitted. */
final class RateLimitHandler implements ServerCallHandler<ReceivedMessage, EncodedResponse> {

    private static final Logger LOG = LoggerFactory.getLogger(RateLimitHandler.class);

    private final EnvoyConfig config;
    private final CallReader reader;
    private final ResponseBuilder responses;
    private final RequestDecider decider;
    private final ScheduledExecutorService timer;
    private final EnvoyCounters counters;
    private final RequestIds ids = new RequestIds("envoy");

    RateLimitHandler(
            EnvoyConfig config, RequestDecider decider, ScheduledExecutorService timer, EnvoyCounters counters) {
        this.config = config;
        reader = new CallReader(config.bounds(), config.mapping().isMerged());
        responses = new ResponseBuilder(config.contents());
        this.decider = decider;
        this.timer = timer;
        this.counters = counters;
    }

    @Override
    public ServerCall.Listener<ReceivedMessage> startCall(
            ServerCall<ReceivedMessage, EncodedResponse> call, Metadata headers) {
        call.request(2); // a second message is a fault
        return new CallListener(call);
    }

    private void close(ServerCall<?, ?> call, Status status) {
        counters.failed(status);
        call.close(status, new Metadata());
    }

    /** Receives the events of one call, one after the other. */
    private final class CallListener extends ServerCall.Listener<ReceivedMessage> {

        private final ServerCall<ReceivedMessage, EncodedResponse> call;
        private ReceivedMessage message;
        private boolean hasMore;
        private volatile boolean isClosed;
        private PendingCall pending;

        CallListener(ServerCall<ReceivedMessage, EncodedResponse> call) {
            this.call = call;
        }

        @Override
        public void onMessage(ReceivedMessage received) {
            hasMore = message != null;
            message = received;
        }

        @Override
        public void onHalfClose() {
            if (call.isCancelled()) {
                return;
            }
            if (message == null || hasMore) {
                end(Status.INVALID_ARGUMENT.withDescription(
                        hasMore ? "the call has more than one message" : "the call has no message"));
                return;
            }
            try {
                decide();
            } catch (BadCallException e) {
                end(e.status());
            } catch (RuntimeException e) {
                fail(e);
            }
        }

        private void decide() throws BadCallException {
            if (message instanceof ReceivedMessage.Unreadable unreadable) {
                throw BadCallException.invalid(unreadable.fault());
            }
            ReceivedMessage.Readable readable = (ReceivedMessage.Readable) message;
            RateLimitCall rateLimit = reader.read(readable.request());
            List<MappedRequest> requests = config.mapping().map(rateLimit, ids::next);
            PendingCall.Timing timing = new PendingCall.Timing(
                    CallArrival.current().nanos(), Context.current().getDeadline(), timer);
            PendingCall begun = new PendingCall(rateLimit, requests, timing, this::respond);
            pending = begun;
            begun.start(decider);
        }

        private void respond(PendingCall ended, CallResult result) {
            if (result instanceof CallResult.Failed failed) {
                end(failed.status());
                return;
            }
            List<RequestAnswer> answers = ((CallResult.Answered) result).answers();
            EncodedResponse response;
            try {
                response = responses.build(ended.rateLimit(), answers);
            } catch (RuntimeException e) {
                fail(e);
                return;
            }
            counters.responded(response.response().getOverallCode(), answers, ended.nanos());
            call.sendHeaders(new Metadata());
            call.sendMessage(response);
            call.close(Status.OK, new Metadata());
        }

        private void fail(RuntimeException failure) {
            LOG.warn("A call of the rate limit service failed", failure);
            end(Status.INTERNAL.withDescription("the gateway failed; see its log"));
        }

        private void end(Status status) {
            isClosed = true;
            close(call, status);
        }

        @Override
        public void onCancel() {
            if (pending == null ? !isClosed : pending.cancel()) {
                counters.cancelled();
            }
        }
    }
}
