package dev.weir.gateway.envoy;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.protobuf.Descriptors.Descriptor;
import com.google.protobuf.Descriptors.EnumDescriptor;
import com.google.protobuf.Descriptors.EnumValueDescriptor;
import com.google.protobuf.Descriptors.FieldDescriptor;
import com.google.protobuf.UInt64Value;
import dev.weir.gateway.envoy.proto.HeaderValue;
import dev.weir.gateway.envoy.proto.RateLimitDescriptor;
import dev.weir.gateway.envoy.proto.RateLimitRequest;
import dev.weir.gateway.envoy.proto.RateLimitResponse;
import dev.weir.gateway.envoy.proto.RateLimitServiceGrpc;
import dev.weir.gateway.envoy.proto.RateLimitUnit;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Compares the protos with the classes that Envoy's API publishes for Java. */
class PublicApiTest {

    /** What is newer than the published classes. */
    private static final Set<String> NEWER = Set.of(
            "envoy.extensions.common.ratelimit.v3.RateLimitDescriptor.is_negative_hits",
            "envoy.service.ratelimit.v3.RateLimitResponse.RateLimit.WEEK");

    static Stream<List<Descriptor>> messages() {
        return Stream.of(
                List.of(
                        RateLimitRequest.getDescriptor(),
                        io.envoyproxy.envoy.service.ratelimit.v3.RateLimitRequest.getDescriptor()),
                List.of(
                        RateLimitDescriptor.getDescriptor(),
                        io.envoyproxy.envoy.extensions.common.ratelimit.v3.RateLimitDescriptor.getDescriptor()),
                List.of(
                        RateLimitResponse.getDescriptor(),
                        io.envoyproxy.envoy.service.ratelimit.v3.RateLimitResponse.getDescriptor()),
                List.of(HeaderValue.getDescriptor(), io.envoyproxy.envoy.config.core.v3.HeaderValue.getDescriptor()));
    }

    @ParameterizedTest
    @MethodSource("messages")
    void names_numbers_and_types_are_those_of_the_public_api(List<Descriptor> messages) {
        assertSame(messages.get(0), messages.get(1));
    }

    private static void assertSame(Descriptor own, Descriptor published) {
        assertThat(own.getFullName()).isEqualTo(published.getFullName());
        for (FieldDescriptor field : own.getFields()) {
            FieldDescriptor other = published.findFieldByName(field.getName());
            if (NEWER.contains(field.getFullName())) {
                continue;
            }
            assertThat(other).as(field.getFullName()).isNotNull();
            assertThat(other.getNumber()).isEqualTo(field.getNumber());
            assertThat(other.getType()).isEqualTo(field.getType());
            assertThat(other.isRepeated()).isEqualTo(field.isRepeated());
            if (field.getType() == FieldDescriptor.Type.MESSAGE) {
                assertThat(other.getMessageType().getFullName())
                        .isEqualTo(field.getMessageType().getFullName());
            }
            if (field.getType() == FieldDescriptor.Type.ENUM) {
                assertSame(field.getEnumType(), other.getEnumType());
            }
        }
        for (Descriptor nested : own.getNestedTypes()) {
            assertSame(nested, published.findNestedTypeByName(nested.getName()));
        }
    }

    private static void assertSame(EnumDescriptor own, EnumDescriptor published) {
        assertThat(own.getFullName()).isEqualTo(published.getFullName());
        for (EnumValueDescriptor value : own.getValues()) {
            if (!NEWER.contains(value.getFullName())) {
                assertThat(published.findValueByName(value.getName()).getNumber())
                        .isEqualTo(value.getNumber());
            }
        }
    }

    @Test
    void the_name_of_the_method_is_that_of_the_public_api() {
        assertThat(RateLimitServiceGrpc.getShouldRateLimitMethod().getFullMethodName())
                .isEqualTo(io.envoyproxy.envoy.service.ratelimit.v3.RateLimitServiceGrpc.getShouldRateLimitMethod()
                        .getFullMethodName());
    }

    @Test
    void a_request_of_the_public_api_is_read_and_a_response_can_be_read_there() throws Exception {
        var descriptor = io.envoyproxy.envoy.extensions.common.ratelimit.v3.RateLimitDescriptor.newBuilder()
                .addEntries(io.envoyproxy.envoy.extensions.common.ratelimit.v3.RateLimitDescriptor.Entry.newBuilder()
                        .setKey("path")
                        .setValue("/a"))
                .setLimit(
                        io.envoyproxy.envoy.extensions.common.ratelimit.v3.RateLimitDescriptor.RateLimitOverride
                                .newBuilder()
                                .setRequestsPerUnit(7)
                                .setUnit(io.envoyproxy.envoy.type.v3.RateLimitUnit.HOUR))
                .setHitsAddend(UInt64Value.of(0));
        var published = io.envoyproxy.envoy.service.ratelimit.v3.RateLimitRequest.newBuilder()
                .setDomain("edge")
                .addDescriptors(descriptor)
                .setHitsAddend(3)
                .build();
        RateLimitRequest read = RateLimitRequest.parseFrom(published.toByteArray());
        assertThat(read.toString()).isEqualTo(published.toString());
        assertThat(read.getDescriptors(0).getLimit().getUnit()).isEqualTo(RateLimitUnit.HOUR);
        RateLimitResponse response = RateLimitResponse.newBuilder()
                .setOverallCode(RateLimitResponse.Code.OVER_LIMIT)
                .addStatuses(RateLimitResponse.DescriptorStatus.newBuilder()
                        .setCode(RateLimitResponse.Code.OVER_LIMIT)
                        .setLimitRemaining(5))
                .addResponseHeadersToAdd(
                        HeaderValue.newBuilder().setKey("retry-after").setValue("1"))
                .build();
        assertThat(io.envoyproxy.envoy.service.ratelimit.v3.RateLimitResponse.parseFrom(response.toByteArray())
                        .toString())
                .isEqualTo(response.toString());
    }
}
