package dev.weir.server.http;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.weir.config.WeirConfig;
import dev.weir.kafka.UnreachableException;
import java.io.IOException;
import java.net.ConnectException;
import java.net.Socket;
import java.nio.channels.ClosedChannelException;
import org.junit.jupiter.api.Test;

class ServiceListenerTest {

    private static final WeirConfig.Service SERVICE =
            WeirConfig.builder().build().service();

    private static ServiceListener open(int port) {
        return ServiceListener.open(SERVICE, port, "gateway.http-port", "--http-port");
    }

    private static Socket connect(ServiceListener listener) throws IOException {
        return new Socket(listener.bound().getAddress(), listener.bound().getPort());
    }

    @Test
    void callers_are_refused_until_it_listens() throws Exception {
        try (ServiceListener listener = open(0)) {
            assertThat(listener.address())
                    .isEqualTo("127.0.0.1:" + listener.bound().getPort());
            assertThatExceptionOfType(ConnectException.class).isThrownBy(() -> connect(listener));
            listener.listen();
            try (Socket caller = connect(listener)) {
                assertThat(caller.isConnected()).isTrue();
            }
        }
    }

    @Test
    void a_port_in_use_is_found_when_it_is_opened() throws Exception {
        try (ServiceListener first = open(0)) {
            first.listen();
            assertThatThrownBy(() -> open(first.bound().getPort()))
                    .isInstanceOf(UnreachableException.class)
                    .hasMessageStartingWith("gateway.http-port: cannot listen at 127.0.0.1:"
                            + first.bound().getPort());
        }
    }

    @Test
    void of_two_processes_that_start_at_once_one_listens() throws Exception {
        try (ServiceListener first = open(0);
                ServiceListener second = open(first.bound().getPort())) {
            first.listen();
            assertThatThrownBy(second::listen)
                    .isInstanceOf(UnreachableException.class)
                    .hasMessageContaining("--http-port");
        }
    }

    @Test
    void a_closed_one_does_not_listen() throws Exception {
        ServiceListener listener = open(0);
        listener.close();
        assertThatExceptionOfType(ClosedChannelException.class).isThrownBy(listener::listen);
        try (ServiceListener other = open(listener.bound().getPort())) {
            other.listen();
        }
    }
}
