package dev.weir.cli.output;

import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.definition.PolicyFile;
import dev.weir.fault.FaultsException;
import dev.weir.rules.PolicyTopic.Change;
import dev.weir.rules.PolicyTopic.Effect;
import dev.weir.wire.PolicyAvro;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class PolicyChangePrinterTest {

    private static final PolicyAvro.Kind POLICY = PolicyAvro.Kind.POLICY;
    private static final PolicyAvro.Kind QUEUE = PolicyAvro.Kind.QUEUE;

    private static final String GCRA = "{algorithm: gcra, limit: 5, per: 1m}";
    private static final String LOG = "{algorithm: sliding-window-log, limit: 5, per: 1m}";

    @Test
    void each_change_has_a_line() {
        assertThat(printed(List.of(
                        new Change(QUEUE, "sms", Effect.ADDED, 1, null, "{}"),
                        new Change(POLICY, "a", Effect.UNCHANGED, 3, "{}", "{}"),
                        new Change(POLICY, "b", Effect.DELETED, 2, "{}", null),
                        new Change(QUEUE, "mail", Effect.DELETED, 1, "{}", null))))
                .isEqualTo("""
                        added      queue sms (version 1)
                        unchanged  a (version 3)
                        deleted    b (version 2)
                        deleted    queue mail (version 1): denies new requests; waiting requests drain
                        """);
    }

    @Test
    void many_unchanged_definitions_are_counted() {
        List<Change> changes = new ArrayList<>();
        for (int i = 0; i < 20; i++) {
            changes.add(new Change(POLICY, "p" + i, Effect.UNCHANGED, 1, "{}", "{}"));
        }
        assertThat(printed(changes)).hasLineCount(20).startsWith("unchanged  p0 (version 1)\n");
        changes.add(new Change(QUEUE, "q", Effect.UNCHANGED, 1, "{}", "{}"));
        changes.add(new Change(POLICY, "new", Effect.ADDED, 1, null, "{}"));
        assertThat(printed(changes)).isEqualTo("""
                        added      new (version 1)
                        unchanged  21 policies and queues
                        """);
    }

    @Test
    void kept_definitions_are_listed_up_to_a_bound_with_the_option_that_replaces_them() {
        String hint = "The file differs from what was kept, which is newer. To apply the file, add --overwrite.\n";
        List<Change> changes = new ArrayList<>(List.of(
                new Change(POLICY, "a", Effect.KEPT, 3, "{}", "{}"),
                new Change(QUEUE, "sms", Effect.KEPT, 2, null, null),
                new Change(POLICY, "b", Effect.ADDED, 1, null, "{}")));
        assertThat(printed(changes)).isEqualTo("""
                        kept       a (version 3)
                        kept       queue sms (version 2): stays deleted
                        added      b (version 1)
                        """ + hint);
        for (int i = 0; i < 120; i++) {
            changes.add(new Change(POLICY, "p" + i, Effect.KEPT, 1, "{}", "{}"));
        }
        assertThat(printed(changes))
                .hasLineCount(100 + 1 + 2)
                .endsWith("kept       22 more policies and queues\n" + hint);
    }

    /** {@code G} and {@code L} are replaced by a GCRA and a sliding-window-log limit. */
    @ParameterizedTest
    @CsvSource(delimiter = '|', quoteCharacter = '`', textBlock = """
            # before                    | after                          | under the changed policy
            limits: [G]                 | limits: [G], priority: 3       | priority: added 3; all counts are kept
            limits: [G], max-size: 1KiB | limits: [G]                    | max-size: removed 1KiB; all counts are kept
            limits: [G, L]              | limits: [L, G]                 | only the order of entries changed; all counts are kept
            limits: [G]                 | limits: [G], key: [client, ip] | key: added [client, ip]; all counts restart, because the key changed
            limits: [G]                 | limits: [L, G]                 | limits[0]: added L; sliding-window-log 5/1m: starts without usage; gcra 5/1m: keeps its count
            limits: [G, L]              | limits: [L]                    | limits[0]: removed G; sliding-window-log 5/1m: keeps its count; gcra 5/1m: its count is dropped
            limits: [G]                 | limits: [L]                    | limits[0].algorithm: gcra -> sliding-window-log; sliding-window-log 5/1m: counts the current usage of gcra 5/1m, rounded up, as used at the change, and a client that has used up the limit waits up to 1m
            limits: [L]                 | limits: [{algorithm: sliding-window-log, limit: 9, per: 1m}] | limits[0].limit: 5 -> 9; sliding-window-log 9/1m: keeps what was used of sliding-window-log 5/1m
            limits: [L]                 | limits: [{algorithm: sliding-window-log, limit: 5, per: 1m, count-denied: true}] | limits[0].count-denied: added true; sliding-window-log 5/1m: keeps what was used
            limits: [{algorithm: gcra, limit: 1000, per: 1h}] | limits: [{algorithm: gcra, limit: 10, per: 1h}] | limits[0].limit: 1000 -> 10; gcra 10/1h: counts the current usage of gcra 1000/1h, rounded up, as used at the change, and a client that has used up the limit waits up to 6m
            limits: [L, {unlimited: true}] | limits: [{unlimited: true}] | limits[0]: removed L; unlimited: counts nothing; sliding-window-log 5/1m: its count is kept, and continues when the policy counts again
            limits: [{unlimited: true}] | limits: [{unlimited: true}], priority: 1 | priority: added 1
            limits: [G]                 | queue: sms                     | queue: added sms; limits: removed [G]; gcra 5/1m: its count is dropped
            queue: sms                  | queue: sms, layer: sms         | layer: added sms
            """)
    void a_changed_policy_is_printed_with_differences_and_carried_over_usage(
            String before, String after, String details) throws FaultsException {
        String expected = written(details).replace("; ", "\n    ");
        assertThat(printed(List.of(
                        new Change(POLICY, "a", Effect.CHANGED, 2, policy(written(before)), policy(written(after))))))
                .isEqualTo("changed    a (version 2)\n    " + expected + "\n");
    }

    @Test
    void a_changed_queue_is_printed_with_differences() {
        assertThat(printed(List.of(new Change(
                        QUEUE,
                        "sms",
                        Effect.CHANGED,
                        2,
                        "{\"id\":\"sms\",\"limit\":5,\"per\":\"1s\"}",
                        "{\"id\":\"sms\",\"limit\":9,\"per\":\"1s\"}"))))
                .isEqualTo("changed    queue sms (version 2)\n    limit: 5 -> 9\n");
    }

    @Test
    void a_policy_unreadable_by_this_version_is_printed_with_differences_only() {
        assertThat(printed(List.of(
                        new Change(POLICY, "a", Effect.CHANGED, 2, "{\"id\":\"a\",\"x\":1}", "{\"id\":\"a\"}"))))
                .isEqualTo("changed    a (version 2)\n    x: removed 1\n");
    }

    private static String printed(List<Change> changes) {
        StringWriter out = new StringWriter();
        PolicyChangePrinter.print(new PrintWriter(out), changes);
        return out.toString();
    }

    private static String written(String text) {
        return text.replaceAll("\\bG\\b", GCRA).replaceAll("\\bL\\b", LOG);
    }

    private static String policy(String body) throws FaultsException {
        return PolicyFile.read("f", "policies: [{id: a, " + body + "}]\nqueues: [{id: sms, limit: 1, per: 1s}]")
                .policies()
                .get(0)
                .json();
    }
}
