package dev.weir.simulation;

import dev.weir.processor.policy.UpdatePolicies;
import dev.weir.simulation.schedule.InjectedFlaw;
import dev.weir.simulation.schedule.ScheduleTrace;
import dev.weir.simulation.schedule.Violation;
import java.lang.management.ManagementFactory;
import java.util.Map;
import java.util.TreeMap;
import org.apache.logging.log4j.Level;
import org.apache.logging.log4j.core.config.Configurator;

/**
 * A runner of schedules. A failure reports its seed, with which it can be repeated:
 *
 * <pre>
 *   mvn -q -Ptrials compile exec:java -Dmain.class=dev.weir.simulation.Schedules \
 *       -Dexec.args="SEED [SCHEDULES]"
 * </pre>
 */
public final class Schedules {

    private static final double NANOS_PER_MINUTE = 60e9;

    private Schedules() {}

    /** The number of events, and of each kind of event and outcome, in all schedules. */
    record Report(long events, Map<String, Integer> counts) {}

    public static void main(String[] args) {
        long seed = Long.parseLong(args[0]);
        int schedules = args.length > 1 ? Integer.parseInt(args[1]) : 1;
        long startNanos = System.nanoTime();
        Report report = run(seed, schedules, InjectedFlaw.NONE);
        double minutes = (System.nanoTime() - startNanos) / NANOS_PER_MINUTE;
        double cpuMinutes = ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime() / NANOS_PER_MINUTE;
        System.out.printf(
                "%d schedules, %.0f a minute, %.0f a minute of CPU time%n",
                schedules, schedules / minutes, schedules / cpuMinutes);
        System.out.printf("%d events, %.0f a schedule%n", report.events, (double) report.events / schedules);
        report.counts.forEach((what, count) -> System.out.printf("%9d  %s%n", count, what));
        System.exit(0);
    }

    /** Runs schedules of consecutive seeds. */
    static Report run(long firstSeed, int schedules, InjectedFlaw flaw) {
        Map<String, Integer> counts = new TreeMap<>();
        long events = 0;
        for (long seed = firstSeed; seed < firstSeed + schedules; seed++) {
            ScheduleTrace trace = run(seed, flaw);
            trace.counts().forEach((what, count) -> counts.merge(what, count, Integer::sum));
            events += trace.events();
        }
        return new Report(events, counts);
    }

    /** Runs one schedule. */
    static ScheduleTrace run(long seed, InjectedFlaw flaw) {
        Configurator.setLevel(UpdatePolicies.class, Level.ERROR); // schedules contain bad policies
        Simulation simulation = new Simulation(seed, flaw);
        try {
            simulation.run();
        } catch (RuntimeException | Violation e) {
            throw new ScheduleFailure(seed, simulation.trace(), e);
        }
        return simulation.trace();
    }

    /** A schedule that failed. */
    static final class ScheduleFailure extends AssertionError {
        private static final long serialVersionUID = 1;

        final long seed;

        ScheduleFailure(long seed, ScheduleTrace trace, Throwable cause) {
            super(reported(seed, trace, cause), cause);
            this.seed = seed;
        }

        private static String reported(long seed, ScheduleTrace trace, Throwable cause) {
            return """
                    schedule %d: %s
                    the last events:
                    %s
                    to repeat it: mvn -q test -Dtest=SimulationTest -Dweir.simulation.seed=%d
                    """.formatted(seed, cause, trace, seed);
        }
    }
}
