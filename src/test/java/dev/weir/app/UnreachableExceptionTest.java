package dev.weir.app;

import static org.assertj.core.api.Assertions.assertThat;

import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.errors.DisconnectException;
import org.apache.kafka.common.errors.TimeoutException;
import org.junit.jupiter.api.Test;

class UnreachableExceptionTest {

    @Test
    void a_failure_without_a_message_is_told_by_its_name() {
        assertThat(UnreachableException.why(new DisconnectException())).isEqualTo("DisconnectException");
        assertThat(UnreachableException.why(new KafkaException("no metadata", new TimeoutException((String) null))))
                .isEqualTo("no metadata: TimeoutException (" + UnreachableException.LOOK_AT + ")");
    }
}
