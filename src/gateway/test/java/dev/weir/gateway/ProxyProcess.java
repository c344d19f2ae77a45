package dev.weir.gateway;

import dev.weir.testing.ChildProcess;
import java.io.File;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;

/** A proxy of the operating system that runs with a file of {@code src/deploy/proxies}, on other ports. */
final class ProxyProcess extends ChildProcess {

    private static final Path RECIPES = Path.of("src", "deploy", "proxies");

    private final List<String> command;

    private ProxyProcess(String name, Path directory, List<String> command) {
        super(name, directory.resolve(name + ".log"));
        this.command = command;
    }

    /** Finds a program on the {@code PATH}, or where Debian installs servers. */
    static Optional<Path> find(String program) {
        return Stream.of((System.getenv("PATH") + File.pathSeparator + "/usr/sbin").split(File.pathSeparator))
                .map(directory -> Path.of(directory, program))
                .filter(Files::isExecutable)
                .findFirst();
    }

    /** Returns a port that is free now. */
    static int freePort() throws IOException {
        try (ServerSocket socket = new ServerSocket()) {
            socket.bind(new InetSocketAddress("127.0.0.1", 0));
            return socket.getLocalPort();
        }
    }

    /**
     * Returns nginx with its recipe, and its files in a directory.
     *
     * @param changes the texts of the recipe to replace
     */
    static ProxyProcess nginx(Path directory, Map<String, String> changes) throws IOException {
        String temporary = Stream.of("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
                .map(kind -> kind + "_temp_path " + directory.resolve(kind) + "; ")
                .reduce("access_log off; ", String::concat);
        String recipe = changed("nginx.conf", changes).replace("http {", "http { " + temporary);
        Path file = Files.writeString(directory.resolve("nginx.conf"), recipe);
        return new ProxyProcess(
                "nginx",
                directory,
                List.of(
                        find("nginx").orElseThrow().toString(),
                        "-p",
                        directory.toString(),
                        "-c",
                        file.toString(),
                        "-g",
                        "daemon off; error_log stderr; pid " + directory.resolve("nginx.pid") + ";"));
    }

    /** Returns Caddy with its recipe. */
    static ProxyProcess caddy(Path directory, Map<String, String> changes) throws IOException {
        String recipe = "{\n\tadmin off\n}\n" + changed("Caddyfile", changes);
        Path file = Files.writeString(directory.resolve("Caddyfile"), recipe);
        return new ProxyProcess(
                "caddy",
                directory,
                List.of(
                        find("caddy").orElseThrow().toString(),
                        "run",
                        "--adapter",
                        "caddyfile",
                        "--config",
                        file.toString()));
    }

    private static String changed(String recipe, Map<String, String> changes) throws IOException {
        String text = Files.readString(RECIPES.resolve(recipe));
        for (Map.Entry<String, String> change : changes.entrySet()) {
            if (!text.contains(change.getKey())) {
                throw new IllegalArgumentException(recipe + " does not contain " + change.getKey());
            }
            text = text.replace(change.getKey(), change.getValue());
        }
        return text;
    }

    @Override
    protected ProcessBuilder command() {
        ProcessBuilder builder = new ProcessBuilder(command);
        builder.environment().put("HOME", log().getParent().toString()); // where Caddy keeps its data
        builder.environment().put("XDG_DATA_HOME", log().getParent().toString());
        builder.environment().put("XDG_CONFIG_HOME", log().getParent().toString());
        return builder;
    }
}
