package dev.weir.api;

import dev.weir.config.WeirConfig;
import dev.weir.event.Decision;
import dev.weir.event.Request;
import dev.weir.fault.UnreadableException;
import dev.weir.query.InstanceQueries;
import dev.weir.query.InstanceQueries.Result;
import dev.weir.wire.DecisionCodec;
import dev.weir.wire.RequestCodec;
import dev.weir.wire.json.DecisionJson;
import dev.weir.wire.json.RequestJson;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Runs the code with which a request over HTTP is read, written, decided and answered, before an instance is ready. On a
 * busy machine, a JVM takes about a second to load that code, in which the first request would time out, and be charged.
 * The warm-up only reads: it sends nothing, stores nothing and counts nothing.
 */
final class DecideWarmUp {

    private static final Logger LOG = LoggerFactory.getLogger(DecideWarmUp.class);

    private static final String REQUEST =
            "{\"client\":\"weir\",\"tier\":\"free\",\"attributes\":{\"endpoint\":\"/\",\"method\":\"GET\"}}";

    private DecideWarmUp() {}

    /** Runs the code once. A failure has no effect but that the first request may take longer. */
    static void run(WeirConfig config, InstanceQueries queries) {
        try {
            Request request = RequestJson.readNew(REQUEST, () -> "warm-up", System.currentTimeMillis());
            var unusedViolation = config.requests().rules().check(request);
            RequestCodec requests = new RequestCodec();
            Request received = requests.decode(requests.encode(request), request.timestampMs(), Request.Source.NONE);
            if (queries.check(received) instanceof Result.Local<Decision> decided) {
                DecisionCodec decisions = new DecisionCodec();
                Decision answered = decisions.decode(decisions.encode(decided.value()));
                var unusedText = DecisionJson.text(answered);
            }
        } catch (UnreadableException | RuntimeException e) {
            LOG.debug("The first request over HTTP may take longer", e);
        }
    }
}
