package dev.weir.query;

import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.event.Request;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

class RequestSampleTest {

    @Test
    void requests_are_read_again_only_when_they_are_old() {
        AtomicInteger reads = new AtomicInteger();
        AtomicLong nanos = new AtomicLong(-5);
        RequestSample sample = new RequestSample(
                () -> {
                    reads.incrementAndGet();
                    return List.<Request>of();
                },
                nanos::get);
        for (int i = 0; i < 100; i++) {
            sample.get();
        }
        assertThat(reads).hasValue(1);
        nanos.addAndGet(RequestSample.MAX_AGE_MS * 1_000_000);
        sample.get();
        assertThat(reads).hasValue(1);
        nanos.incrementAndGet();
        sample.get();
        assertThat(reads).hasValue(2);
    }
}
