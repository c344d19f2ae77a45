package dev.weir.event;

import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.policy.ContentHash;
import dev.weir.policy.RequestRules;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class ReservationRequestTest {

    private static final RequestRules RULES = new RequestRules(1_000, 8, 100, 1_000_000);

    @ParameterizedTest
    @CsvSource({
        "CONSUME,   ,      ,  false, r",
        "PEEK,      ,      ,  false, r",
        "RESET,     ,      ,  false, r",
        "SETTLE,    ,      ,  false, r",
        "SETTLE,    ,   r1,   true,  r1",
        "RELEASE,   ,      ,  true,  r",
        "RENEW,     ,      ,  true,  r",
        "CANCEL,    ,      ,  true,  r",
        "CANCEL,    q,     ,  false, r",
    })
    void kinds_name_a_reservation(RequestKind kind, String queue, String settles, boolean isFor, String id) {
        Request request = Request.builder("r", "c")
                .kind(kind)
                .queue(queue)
                .settles(settles)
                .build();
        assertThat(request.isForReservation()).isEqualTo(isFor);
        assertThat(request.reservationId()).isEqualTo(id);
        assertThat(request.toBuilder().build()).isEqualTo(request);
    }

    @Test
    void the_time_and_the_settled_reservation_are_content() {
        List<ContentHash> hashes = new ArrayList<>();
        for (Long reserveMs : new Long[] {null, 1L, 2L}) {
            for (String settles : new String[] {null, "", "r", "rr"}) {
                hashes.add(ContentHash.of(Request.builder("r", "c")
                        .reserveMs(reserveMs)
                        .settles(settles)
                        .build()));
            }
        }
        assertThat(hashes).doesNotHaveDuplicates();
    }

    @Test
    void the_real_cost_of_a_reservation_is_not_negative() {
        Request settle =
                Request.builder("s", "c").kind(RequestKind.SETTLE).cost(-1).build();
        assertThat(RULES.check(settle)).isEmpty();
        assertThat(RULES.check(settle.toBuilder().settles("r").build()))
                .map(RequestRules.Violation::detail)
                .contains("cost must be 0 or more if settles names a reservation, is -1: it is what the request really"
                        + " cost");
    }
}
