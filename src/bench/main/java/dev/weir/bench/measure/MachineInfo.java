package dev.weir.bench.measure;

import java.time.LocalDate;
import java.time.ZoneOffset;
import java.util.Locale;
import org.apache.kafka.common.utils.internals.AppInfoParser;

/** A description of the machine and the software versions of a measurement. */
public final class MachineInfo {

    private MachineInfo() {}

    /** Returns the description in one line. */
    public static String describe() {
        return String.format(
                Locale.ROOT,
                "%s, %d processors, %s %s, Java %s, Kafka %s",
                LocalDate.now(ZoneOffset.UTC),
                Runtime.getRuntime().availableProcessors(),
                System.getProperty("os.name"),
                System.getProperty("os.arch"),
                Runtime.version(),
                AppInfoParser.getVersion());
    }
}
