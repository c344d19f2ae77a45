package dev.weir.failure;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.weir.failure.Evidence.Dead;
import dev.weir.failure.Evidence.Entry;
import dev.weir.policy.Decision;
import dev.weir.policy.Request;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** Each record of the request topic has one committed decision or one dead letter, and nothing else has. */
final class DecidedOnce {

    private DecidedOnce() {}

    static Finding check(Evidence evidence, Answers answers) {
        Finding.Notes notes = new Finding.Notes("1 decided-once", "requests", "decisions", "dead letters");
        Map<Request.Source, List<String>> dead = new HashMap<>();
        for (Dead letter : evidence.deadLetters()) {
            dead.computeIfAbsent(letter.source(), source -> new ArrayList<>(1)).add(letter.reason());
        }
        Set<Request.Source> strange = new HashSet<>(answers.answered());
        strange.addAll(dead.keySet());
        strange.addAll(answers.ended());
        for (Entry entry : evidence.requests()) {
            Request.Source source = entry.place();
            List<Entry> told = answers.to(source);
            List<String> letters = dead.getOrDefault(source, List.of());
            strange.remove(source);
            notes.count("requests");
            notes.count("decisions", told.size());
            notes.count("dead letters", letters.size());
            if (told.size() + letters.size() != 1) {
                notes.fault(Oracle.at(source) + ", client " + new String(key(entry), UTF_8) + ": " + told.size()
                        + " decisions, dead letters " + letters);
            }
            told.stream().map(Entry::decision).forEach(decision -> checkName(evidence.request(entry), decision, notes));
            checkReason(evidence.request(entry), letters, source, notes);
        }
        strange.forEach(source -> notes.fault(Oracle.at(source) + ": nothing was asked there, but decided"));
        return notes.done();
    }

    private static void checkName(Evidence.Read read, Decision decision, Finding.Notes notes) {
        if (read.request() != null
                && !(read.request().client().equals(decision.client())
                        && read.request().requestId().equals(decision.requestId()))) {
            notes.fault(Oracle.at(read.request()) + ": its decision is of client " + decision.client() + ", "
                    + decision.requestId());
        }
    }

    private static void checkReason(
            Evidence.Read read, List<String> letters, Request.Source source, Finding.Notes notes) {
        String expected = read.rejection() == null ? null : read.rejection().name();
        for (String reason : letters) {
            if (!reason.equals(expected)) {
                notes.fault(Oracle.at(source) + ": it is a dead letter for " + reason + ", should be for " + expected);
            }
        }
    }

    private static byte[] key(Entry entry) {
        return entry.key() == null ? new byte[0] : entry.key();
    }
}
