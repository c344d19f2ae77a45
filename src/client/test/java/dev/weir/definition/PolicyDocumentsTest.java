package dev.weir.definition;

import static dev.weir.definition.LimitReaderTest.faultyLimits;
import static dev.weir.definition.LimitReaderTest.limits;
import static dev.weir.definition.LimitReaderTest.withLimit;
import static dev.weir.definition.PolicyFileTest.DESIGN;
import static dev.weir.definition.PolicyFileTest.DESIGN_IN_FULL;
import static dev.weir.definition.PolicyFileTest.faultyPolicies;
import static dev.weir.definition.PolicyFileTest.withSms;
import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.definition.PolicyFile.Contents;
import dev.weir.definition.PolicyFile.Definition;
import dev.weir.fault.FaultsException;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Tests many documents, valid and invalid ones, and random mixtures of them. */
class PolicyDocumentsTest {

    static Stream<String> goodDocuments() {
        Stream<String> whole = Stream.of(
                DESIGN,
                QueueFileTest.SHAPING,
                "policies:\nqueues:",
                "queues: []",
                withSms("id: sms, queue: sms"),
                withSms("id: a, queue: sms, on-exceed: shape, max-size: 1"),
                withSms("id: a, queue: sms, on-exceed: shape, limits: [{unlimited: true}]"),
                withSms("id: a, limits: [{unlimited: true}]"),
                withSms("id: a, limits: [{unlimited: true}], deny-status: 503, idempotency: 30d"),
                withSms("id: a, allow-override: false, key: [], limits: [{unlimited: true}]"),
                withSms("id: a, allow-override: true, max-debt: 0, key: [client, x],"
                        + " limits: [{algorithm: fixed-window, limit: 1, per: 30d, count-denied: true},"
                        + " {algorithm: sliding-window-counter, limit: 5, per: 1s, strict: true}]"),
                withSms("id: a, limits: [{unlimited: true}], effective-from: '2026-12-01T00:00:00+01:00'"),
                withSms("id: a, limits: [{unlimited: true}], on-exceed: throttle, max-delay: 1d"),
                "",
                "policies:",
                "policies: []",
                "policies: [{id: 5, limits: [{unlimited: true}], priority: -5, max-size: 10 MB}]",
                "policies: [{id: a, limits: [{unlimited: true}], key: client, match: {}}]",
                "policies: [{id: a, limits: [{unlimited: true}], key: [a, client], layer: x.y_z-1}]",
                "policies: [{id: a, limits: [{unlimited: true}], match: {a: '', b: [1, true, x], c: 'x\\\\'}}]",
                "policies: [{id: a, limits: [{unlimited: true}], max-size: 1, on-exceed: observe}]",
                "policies: [{id: a, limits: [{unlimited: true}], on-exceed: shadow-ban, priority: '1_000'}]",
                "policies: [{id: a, limits: [{unlimited: true}]}, {id: b, limits: [{unlimited: true}]}]");
        return Stream.of(
                        whole,
                        limits().map(row -> withLimit((String) row.get()[0])),
                        Stream.concat(QueueFileTest.queues(), QueueFileTest.queuesWithSlots())
                                .map(row -> QueueFileTest.withQueue((String) row.get()[0])))
                .flatMap(documents -> documents);
    }

    static Stream<String> badDocuments() {
        return Stream.of(
                        // without faults that a schema cannot express: sums, products, and conflicts of two policies
                        faultyLimits()
                                .map(row -> (String) row.get()[0])
                                .filter(yaml -> !yaml.contains("000000d") && !yaml.contains("999999d"))
                                .filter(yaml -> !yaml.startsWith("unlimited: yes")) // a boolean of YAML 1.1
                                .map(LimitReaderTest::withLimit),
                        faultyPolicies()
                                .map(row -> (String) row.get()[0])
                                .filter(yaml -> !yaml.startsWith("id: a, id:"))
                                .map(PolicyFileTest::withSms),
                        QueueFileTest.faultyQueues().map(row -> QueueFileTest.withQueue((String) row.get()[0])),
                        Stream.of(
                                "5",
                                "[]",
                                "policy: []",
                                "policies: {}",
                                "policies: [a]",
                                "policies: [~]",
                                "queue: []",
                                "queues: {}",
                                "queues: [a]",
                                "queues: [~]",
                                "queues: [{limit: 1, per: 1s}]",
                                "queues: [{id: a b, limit: 1, per: 1s}]"))
                .flatMap(documents -> documents);
    }

    @ParameterizedTest
    @MethodSource("goodDocuments")
    void a_definition_reads_back_as_the_same(String document) throws FaultsException {
        Contents contents = PolicyFile.read("policies.yaml", document);
        for (Definition.PolicyDefinition definition : contents.policies()) {
            assertThat(definition.id()).isEqualTo(definition.policy().id());
            assertThat(PolicyFile.parse("weir.policies", definition.json(), 1)).isEqualTo(definition.policy());
        }
        for (Definition.QueueDefinition definition : contents.queues()) {
            assertThat(definition.id()).isEqualTo(definition.queue().id());
            assertThat(PolicyFile.parseQueue("weir.policies", definition.json(), 1))
                    .isEqualTo(definition.queue());
        }
        String again = "{\"policies\":"
                + contents.policies().stream().map(Definition::json).toList() + ",\"queues\":"
                + contents.queues().stream().map(Definition::json).toList() + "}";
        assertThat(PolicyFile.read("p.json", again)).isEqualTo(contents);
    }

    @Test
    void arbitrary_text_is_read_or_rejected() {
        Random random = new Random(20_261_121);
        List<String> good = goodDocuments().toList();
        List<String> seeds = new ArrayList<>();
        seeds.add(DESIGN_IN_FULL);
        badDocuments().filter(document -> document.length() < 1000).forEach(seeds::add);
        int read = 0;
        for (int i = 0; i < 20_000; i++) {
            List<String> from = random.nextBoolean() ? good : seeds;
            String document = from.get(random.nextInt(from.size()));
            for (int edits = 1 + random.nextInt(8) / 5; edits > 0; edits--) {
                document = edited(document, seeds.get(random.nextInt(seeds.size())), random);
            }
            read += readsOrRefuses(document) ? 1 : 0;
        }
        assertThat(read).isBetween(500, 19_000);
    }

    private static String edited(String document, String other, Random random) {
        String odd = "{}[]:,-?&*!|>'\"%@`#~\\ \t\n\r\u0000\u0085\u2028\uFEFF\uD800\uDC00_0123456789azAZ<=/.";
        int from = random.nextInt(document.length() + 1);
        int to = Math.min(document.length(), from + random.nextInt(12));
        String start = document.substring(0, from);
        return switch (random.nextInt(5)) {
            case 0 -> start + document.substring(to);
            case 1 -> start + odd.charAt(random.nextInt(odd.length())) + document.substring(from);
            case 2 -> start + document.substring(from, to).repeat(1 + random.nextInt(5)) + document.substring(from);
            case 3 -> {
                int at = random.nextInt(other.length() + 1);
                yield start
                        + other.substring(at, Math.min(other.length(), at + random.nextInt(40)))
                        + document.substring(to);
            }
            default -> start;
        };
    }

    /**
     * Returns whether the document is read. If it is, its JSON must have the same meaning; otherwise its faults must
     * have places.
     */
    private static boolean readsOrRefuses(String document) {
        try {
            Contents contents = PolicyFile.read("f.yaml", document);
            for (Definition.PolicyDefinition definition : contents.policies()) {
                assertThat(PolicyFile.parse("json", definition.json(), 1))
                        .as(document)
                        .isEqualTo(definition.policy());
            }
            for (Definition.QueueDefinition definition : contents.queues()) {
                assertThat(PolicyFile.parseQueue("json", definition.json(), 1))
                        .as(document)
                        .isEqualTo(definition.queue());
            }
            return true;
        } catch (FaultsException e) {
            assertThat(e.faults()).as(document).isNotEmpty().allSatisfy(fault -> assertThat(fault.toString())
                    .matches("f\\.yaml:[1-9][0-9]*: [^\\p{Cntrl}\\u2028]+"));
            return false;
        }
    }
}
