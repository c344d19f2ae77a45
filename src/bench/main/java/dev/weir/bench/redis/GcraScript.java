package dev.weir.bench.redis;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;

/** GCRA as a Lua script for Redis. */
final class GcraScript {

    private static final String RESOURCE = "/bench/gcra.lua";

    private GcraScript() {}

    /** Loads the script into Redis. Returns the hash by which {@code EVALSHA} runs it. */
    static String load(RedisConnection connection) throws IOException {
        try (InputStream script = GcraScript.class.getResourceAsStream(RESOURCE)) {
            String text = new String(script.readAllBytes(), StandardCharsets.UTF_8);
            return (String) connection.ask("SCRIPT", "LOAD", text);
        }
    }
}
