package dev.weir.doctor;

import dev.weir.doctor.Finding.Verdict;
import java.util.List;
import java.util.function.Consumer;

/** Collects the findings of one check. */
record FindingCollector(String group, String check, Consumer<Finding> findings) {

    void ok(String found) {
        add(Verdict.OK, found);
    }

    void warn(String found, String... advice) {
        add(Verdict.WARN, found, advice);
    }

    void fail(String found, String... advice) {
        add(Verdict.FAIL, found, advice);
    }

    void skip(String found, String... advice) {
        add(Verdict.SKIP, found, advice);
    }

    void add(Verdict verdict, String found, String... advice) {
        findings.accept(new Finding(group, check, verdict, found, List.of(advice)));
    }
}
