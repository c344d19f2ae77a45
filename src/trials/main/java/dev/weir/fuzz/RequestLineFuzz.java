package dev.weir.fuzz;

import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.event.Request;
import dev.weir.wire.RequestCodec;
import dev.weir.wire.json.RequestJson;
import java.util.List;

/**
 * A fuzz case with a request as a line of JSON, which is decoded and then round-trips through Avro, or is rejected
 * with a message of one line.
 */
final class RequestLineFuzz implements FuzzRunner.Case {

    private static final Request.Source SOURCE = new Request.Source(0, 7);
    private static final RequestCodec AVRO = new RequestCodec();

    private final List<String> valid = RecordSamples.requestLines();

    @Override
    public void run(FuzzCase fuzzCase) throws Exception {
        String line = TextMutation.of(valid, fuzzCase.random());
        Request request;
        try {
            request = fuzzCase.within(AllocationLimit.text(line), () -> RequestJson.read(line, 5, SOURCE));
        } catch (IllegalArgumentException e) {
            assertThat(e.getMessage()).isNotBlank().hasSizeLessThan(600);
            assertThat(e.getMessage().chars()).noneMatch(Character::isISOControl);
            fuzzCase.came("refused");
            return;
        }
        assertThat(AVRO.decode(AVRO.encode(request), request.timestampMs(), request.source()))
                .usingRecursiveComparison()
                .isEqualTo(request);
        fuzzCase.came("accepted");
    }
}
