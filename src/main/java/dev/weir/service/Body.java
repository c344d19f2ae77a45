package dev.weir.service;

import io.javalin.http.Context;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;

/** Bodies of requests, up to a length. */
final class Body {

    /** Room for any policy and any payload; files that are larger are for the command line. */
    static final int MAX_BYTES = 2 << 20;

    static final String TOO_LONG = "the body has more than " + MAX_BYTES + " bytes";

    private Body() {}

    /**
     * The body as text, whether its length was announced or not.
     *
     * @throws Problem.Found if it is too long, 413, or no UTF-8 or not all there, 400
     */
    static String text(Context request) {
        if (request.req().getContentLengthLong() > MAX_BYTES) {
            throw tooLong();
        }
        byte[] bytes;
        try (InputStream in = request.bodyInputStream()) {
            bytes = in.readNBytes(MAX_BYTES + 1);
        } catch (IOException e) {
            throw Problem.of(400, "the body ended early").found();
        }
        if (bytes.length > MAX_BYTES) {
            throw tooLong();
        }
        try {
            return StandardCharsets.UTF_8
                    .newDecoder()
                    .decode(ByteBuffer.wrap(bytes))
                    .toString();
        } catch (CharacterCodingException e) {
            throw Problem.of(400, "the body is not UTF-8").found();
        }
    }

    private static Problem.Found tooLong() {
        return Problem.of(413, TOO_LONG).found();
    }
}
