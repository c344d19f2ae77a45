package dev.weir.bench.redis;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;

/** GCRA as a script that Redis runs. */
final class GcraScript {

    private static final String RESOURCE = "/bench/gcra.lua";

    private GcraScript() {}

    /** Gives Redis the script; the name that it calls it by. */
    static String load(RedisConnection connection) throws IOException {
        try (InputStream script = GcraScript.class.getResourceAsStream(RESOURCE)) {
            String text = new String(script.readAllBytes(), StandardCharsets.UTF_8);
            return (String) connection.ask("SCRIPT", "LOAD", text);
        }
    }
}
