package dev.weir.wire;

import dev.weir.avro.Header;
import dev.weir.avro.RequestEvent;
import dev.weir.event.Acknowledgement;
import dev.weir.event.Admission;
import dev.weir.event.Decision;
import dev.weir.event.DecisionContext;
import dev.weir.event.DecisionOrder;
import dev.weir.event.EnforcedLimit;
import dev.weir.event.LeaseUsage;
import dev.weir.event.LimitOverride;
import dev.weir.event.Release;
import dev.weir.event.Request;
import dev.weir.fault.UnreadableException;
import java.nio.ByteBuffer;
import java.time.Instant;
import java.util.Arrays;

/** Reads and writes records with Avro's own readers and writers, to compare the hand-written codecs with them. */
public final class ByAvro {

    private static final long NANOS_PER_SECOND = 1_000_000_000;

    private static final AvroBytes<RequestEvent> REQUESTS = new AvroBytes<>(new RequestEvent());
    private static final AvroBytes<dev.weir.avro.Decision> DECISIONS = new AvroBytes<>(new dev.weir.avro.Decision());
    private static final AvroBytes<dev.weir.avro.LeaseUsage> LEASE_USAGE =
            new AvroBytes<>(new dev.weir.avro.LeaseUsage());
    private static final AvroBytes<dev.weir.avro.Admission> ADMISSIONS = new AvroBytes<>(new dev.weir.avro.Admission());
    private static final AvroBytes<dev.weir.avro.Release> RELEASES = new AvroBytes<>(new dev.weir.avro.Release());

    private ByAvro() {}

    public static Request decodeRequest(byte[] value, long timestampMs, Request.Source source)
            throws UnreadableException {
        return RequestCodec.request(REQUESTS.decode(value), timestampMs, source);
    }

    /** Returns whether two requests are equal, including their payloads. */
    public static boolean same(Request one, Request other) {
        return Arrays.equals(one.payload(), other.payload())
                && one.withoutPayload().equals(other.withoutPayload());
    }

    public static byte[] encode(Request request) {
        return REQUESTS.encode(RequestEvent.newBuilder()
                .setRequestId(request.requestId())
                .setClient(request.client())
                .setKind(dev.weir.avro.Kind.valueOf(request.kind().name()))
                .setTier(request.tier())
                .setCost(request.cost())
                .setSizeBytes(request.sizeBytes())
                .setAttributes(request.attributes())
                .setDeadline(AvroBytes.toInstant(request.deadlineMs()))
                .setNotBefore(AvroBytes.toInstant(request.notBeforeMs()))
                .setPayload(AvroBytes.toBuffer(request.payload()))
                .setQueue(request.queue())
                .setLimitOverride(override(request.limitOverride()))
                .setPolicyId(request.policyId())
                .setReserveMs(request.reserveMs())
                .setSettles(request.settles())
                .setAcknowledgement(acknowledgement(request.acknowledgement()))
                .build());
    }

    private static dev.weir.avro.Acknowledgement acknowledgement(Acknowledgement of) {
        return of == null
                ? null
                : new dev.weir.avro.Acknowledgement(
                        of.receipt(),
                        of.result() == null
                                ? null
                                : dev.weir.avro.AttemptResult.valueOf(
                                        of.result().name()),
                        of.retryAfterMs(),
                        of.error());
    }

    private static dev.weir.avro.LimitOverride override(LimitOverride override) {
        return override == null ? null : new dev.weir.avro.LimitOverride(override.limit(), override.windowMs());
    }

    public static byte[] encode(Decision decision) {
        dev.weir.avro.Decision.Builder event = dev.weir.avro.Decision.newBuilder()
                .setTier(decision.tier())
                .setRequestId(decision.requestId())
                .setClient(decision.client())
                .setOutcome(dev.weir.avro.Outcome.valueOf(decision.outcome().name()))
                .setReason(decision.reason().name())
                .setPolicyId(decision.policyId())
                .setPolicyVersion(decision.policyVersion())
                .setLimitedBy(decision.limitedBy())
                .setLimit(decision.limit())
                .setWindowMs(decision.windowMs())
                .setRemaining(decision.remaining())
                .setResetAfterMs(decision.resetAfterMs())
                .setRetryAfterMs(decision.retryAfterMs())
                .setDelayMs(decision.delayMs())
                .setReservedUntil(AvroBytes.toInstant(decision.reservedUntilMs()))
                .setObserved(decision.observed())
                .setObservedBy(decision.observedBy())
                .setLimits(decision.limits().stream().map(ByAvro::limit).toList())
                .setShadowBanned(decision.shadowBanned())
                .setRepeated(decision.repeated())
                .setHttpStatus(decision.httpStatus())
                .setDecidedAt(Instant.ofEpochMilli(decision.decidedAtMs()))
                .setSourcePartition(decision.source().partition())
                .setSourceOffset(decision.source().offset());
        if (decision.queueing() != null) {
            event.setQueue(decision.queueing().queue())
                    .setPosition(decision.queueing().position())
                    .setExpectedWaitMs(decision.queueing().expectedWaitMs())
                    .setQueueKey(decision.queueing().key());
        }
        return DECISIONS.encode(event.setOrder(order(decision.context()))
                .setPoliciesChecksum(decision.context().policiesChecksum())
                .build());
    }

    private static dev.weir.avro.EnforcedLimit limit(EnforcedLimit limit) {
        return new dev.weir.avro.EnforcedLimit(
                limit.policyId(),
                limit.number(),
                limit.quota(),
                limit.windowMs(),
                limit.remaining(),
                limit.resetAfterMs(),
                limit.retryAfterMs());
    }

    public static byte[] encode(LeaseUsage usage) {
        return LEASE_USAGE.encode(dev.weir.avro.LeaseUsage.newBuilder()
                .setHolder(usage.origin().holder())
                .setLease(usage.origin().leaseId())
                .setNumber(usage.origin().number())
                .setPolicyId(usage.policy().id())
                .setPolicyVersion(usage.policy().version())
                .setKey(usage.key())
                .setCost(usage.amount().cost())
                .setRequests(usage.amount().requests())
                .setDenied(usage.amount().denied())
                .setSince(Instant.ofEpochMilli(usage.sinceMs()))
                .setUntil(Instant.ofEpochMilli(usage.untilMs()))
                .build());
    }

    private static dev.weir.avro.DecisionOrder order(DecisionContext context) {
        DecisionOrder order = context.order();
        return order == null ? null : new dev.weir.avro.DecisionOrder(order.afterOffset(), order.step());
    }

    public static byte[] encode(Admission admission) {
        Request request = admission.request();
        return ADMISSIONS.encode(dev.weir.avro.Admission.newBuilder()
                .setRequest(ByteBuffer.wrap(encode(request)))
                .setTimestamp(Instant.ofEpochMilli(request.timestampMs()))
                .setSourcePartition(request.source().partition())
                .setSourceOffset(request.source().offset())
                .setQueue(admission.queue())
                .setQueueKey(admission.key())
                .setObservedBy(admission.sent().observedBy())
                .setPolicyId(
                        admission.policy() == null ? null : admission.policy().id())
                .setPolicyVersion(
                        admission.policy() == null
                                ? null
                                : (Long) admission.policy().version())
                .setLimitedBy(
                        admission.exceeded() == null
                                ? null
                                : admission.exceeded().label())
                .setLimit(
                        admission.exceeded() == null
                                ? null
                                : admission.exceeded().limit())
                .setRepeated(admission.repeated())
                .setRememberUntil(Instant.ofEpochMilli(admission.idempotentUntilMs()))
                .setHeaders(admission.headers().stream()
                        .map(header -> new Header(header.key(), AvroBytes.toBuffer(header.value())))
                        .toList())
                .setOrder(order(admission.context()))
                .setPoliciesChecksum(admission.context().policiesChecksum())
                .setReservation(admission.identity().reservation())
                .setReservedUntil(AvroBytes.toInstant(admission.reservedUntilMs()))
                .build());
    }

    /** Encodes a release after 1970. For earlier times, Avro's conversion is not symmetric. */
    public static byte[] encode(Release release) {
        return RELEASES.encode(dev.weir.avro.Release.newBuilder()
                .setRequestId(release.requestId())
                .setClient(release.client())
                .setTier(release.tier())
                .setQueue(release.queue())
                .setQueueKey(release.key())
                .setSequence(release.sequence())
                .setEnqueuedAt(Instant.ofEpochMilli(release.enqueuedAtMs()))
                .setReleaseAt(Instant.ofEpochSecond(
                        release.releaseAtNanos() / NANOS_PER_SECOND, release.releaseAtNanos() % NANOS_PER_SECOND))
                .setWaitMs(release.waitMs())
                .setCost(release.cost())
                .setAttributes(release.attributes())
                .setPayload(AvroBytes.toBuffer(release.payload()))
                .setAttempt(attempt(release.attempt()))
                .setPaceNanos(release.pace().nanos())
                .setTotalPaceNanos(release.pace().totalNanos())
                .build());
    }

    private static dev.weir.avro.Attempt attempt(Release.Attempt of) {
        return of == null ? null : new dev.weir.avro.Attempt(of.number(), of.receipt(), of.ackTimeoutMs());
    }
}
