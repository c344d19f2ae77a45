package dev.weir.kafka;

import static org.assertj.core.api.Assertions.assertThat;

import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.errors.DisconnectException;
import org.apache.kafka.common.errors.TimeoutException;
import org.apache.kafka.common.errors.TopicAuthorizationException;
import org.junit.jupiter.api.Test;

class UnreachableExceptionTest {

    @Test
    void a_failure_without_a_message_is_reported_by_its_name() {
        assertThat(UnreachableException.causeMessage(new DisconnectException())).isEqualTo("DisconnectException");
        assertThat(UnreachableException.causeMessage(
                        new KafkaException("no metadata", new TimeoutException((String) null))))
                .isEqualTo("no metadata: TimeoutException (" + UnreachableException.LOOK_AT + ")");
    }

    /** The message does not depend on whether the send fails before the commit starts, which is a race. */
    @Test
    void a_commit_after_a_failed_send_names_the_cause() {
        KafkaException commit = new KafkaException(
                "Cannot execute transactional method because we are in an error state",
                new TopicAuthorizationException("Not authorized to access topics: [weir.policies]"));
        assertThat(UnreachableException.causeMessage(commit))
                .isEqualTo("Not authorized to access topics: [weir.policies]");
    }
}
