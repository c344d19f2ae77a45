package dev.weir.server.http;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.channels.SocketChannel;
import org.junit.jupiter.api.Test;

class AcceptPaceTest {

    @Test
    void a_connection_that_fails_after_it_was_accepted_returns_one_place() throws IOException {
        AcceptPace pace = new AcceptPace();
        int places = pace.available();
        try (SocketChannel accepted = SocketChannel.open();
                SocketChannel failed = SocketChannel.open()) {
            pace.onAccepting(accepted);
            pace.onAccepting(failed);
            assertThat(pace.available()).isEqualTo(places - 2);
            pace.onAccepted(accepted);
            pace.onAcceptFailed(accepted, new IOException());
            assertThat(pace.available()).isEqualTo(places - 1);
            pace.onAcceptFailed(failed, new IOException());
            assertThat(pace.available()).isEqualTo(places);
        }
    }
}
