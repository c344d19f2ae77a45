package dev.weir.audit;

import dev.weir.limit.Account;
import dev.weir.limit.LogSegment;
import dev.weir.limit.Segments;
import dev.weir.limit.SlidingWindowLog.Log;
import dev.weir.policy.FirstAnswers;
import dev.weir.policy.MemoryTable;
import dev.weir.policy.PolicyState;
import dev.weir.policy.RequestKey;
import dev.weir.policy.StateKey;
import dev.weir.policy.States;
import dev.weir.policy.Table;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** States as they are, for one decision that leaves them so: what it writes is forgotten. */
final class Trial implements States {

    private final States states;
    private boolean written;

    Trial(States states) {
        this.states = states;
    }

    /** Whether the decision would have changed a state. */
    boolean hasWritten() {
        return written;
    }

    @Override
    public PolicyState get(StateKey key) {
        PolicyState state = states.get(key);
        if (state == null) {
            return null;
        }
        List<Account<?>> accounts = new ArrayList<>();
        state.accounts().forEach(account -> accounts.add(apart(account)));
        List<Log> retired = state.retired().stream().map(Trial::apart).toList();
        return new PolicyState(state.lastMs(), state.putOffMs(), accounts, retired);
    }

    @SuppressWarnings("unchecked") // an account whose state is a Log is an account of a log
    private static Account<?> apart(Account<?> account) {
        return account.state() instanceof Log log
                ? new Account<>(((Account<Log>) account).limit(), apart(log))
                : account;
    }

    private static Log apart(Log log) {
        return log.on(log.shelf(), new Shelf(log.segments()));
    }

    /** Nothing reads a state again that it has written. */
    @Override
    public void put(StateKey key, PolicyState state) {
        written = true;
    }

    @Override
    public Segments segments(StateKey key, int shelf) {
        return states.segments(key, shelf);
    }

    /** Those that there are; what is remembered on top is forgotten with the trial. */
    @Override
    public FirstAnswers firstAnswers() {
        return new FirstAnswers(new FirstAnswers.Kept(new Answers(), new MemoryTable<>(), 0, 0), 1, 0);
    }

    private final class Answers implements Table<RequestKey, FirstAnswers.Entry> {

        @Override
        public FirstAnswers.Entry get(RequestKey key) {
            return states.firstAnswers().get(key);
        }

        @Override
        public void put(RequestKey key, FirstAnswers.Entry entry) {}

        @Override
        public void delete(RequestKey key) {}
    }

    /** The segments of a log, with those over them that the trial has written. */
    private static final class Shelf implements Segments {
        private final Segments segments;
        private final Map<Long, LogSegment> own = new HashMap<>();

        Shelf(Segments segments) {
            this.segments = segments;
        }

        @Override
        public LogSegment get(long number) {
            LogSegment written = own.get(number);
            return written == null ? segments.get(number) : written;
        }

        @Override
        public void put(long number, LogSegment segment) {
            own.put(number, segment);
        }

        /** Nothing reads a segment again that it has deleted. */
        @Override
        public void delete(long number) {}
    }
}
