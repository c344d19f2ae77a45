package dev.weir.requests;

import dev.weir.event.Admission;
import java.util.ArrayList;
import java.util.List;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.Headers;
import org.apache.kafka.common.header.internals.RecordHeaders;

/** Converts the headers of a request's record, which are copied to its decisions and releases. */
public final class CarriedHeaders {

    private CarriedHeaders() {}

    /** Returns copies of Kafka's headers, in their order. */
    public static List<Admission.Header> from(Headers headers) {
        List<Admission.Header> carried = new ArrayList<>();
        for (Header header : headers) {
            carried.add(new Admission.Header(header.key(), header.value()));
        }
        return carried;
    }

    /** Returns mutable Kafka headers. */
    public static Headers to(List<Admission.Header> carried) {
        Headers headers = new RecordHeaders();
        carried.forEach(header -> headers.add(header.key(), header.value()));
        return headers;
    }
}
