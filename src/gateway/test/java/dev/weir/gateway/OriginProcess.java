package dev.weir.gateway;

import dev.weir.testing.ChildProcess;
import java.io.File;
import java.io.IOException;
import java.io.OutputStream;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * A web server with the routes {@code /login}, {@code /pay/ONE} and {@code /pay/...}, which respond with {@code served
 * login}, {@code served one} and {@code served any}. Servers whose patterns cannot separate them have no route
 * {@code /pay/ONE}.
 */
final class OriginProcess extends ChildProcess {

    private static final String FLASK = """
            import sys
            from flask import Flask
            app = Flask('origin')
            app.add_url_rule('/login', 'login', lambda: 'served login')
            app.add_url_rule('/pay/<one>', 'one', lambda one: 'served one')
            app.add_url_rule('/pay/<path:any>', 'any', lambda any: 'served any')
            app.run(port=int(sys.argv[1]))
            """;

    /** The path is that of the request line, or that of Node's URL. */
    private static final String NODE = """
            const http = require('http');
            http.createServer((request, response) => {
              let path;
              try { path = PATH; } catch (e) { path = ''; }
              const route = path === '/login' ? 'login' : path.startsWith('/pay/') ? 'any' : 'nothing';
              response.end('served ' + route);
            }).listen(+process.argv[2], '127.0.0.1');
            """;

    private static final String EXPRESS = """
            const app = require('express')();
            for (const [path, name] of [['/login', 'login'], ['/pay/:one', 'one'], [/^\\/pay\\/.*/i, 'any']]) {
              app.get(path, (request, response) => response.end('served ' + name));
            }
            app.listen(+process.argv[2], '127.0.0.1');
            """;

    private static final String GO = """
            package main
            import ("io"; "net/http"; "os")
            func serve(text string) func(http.ResponseWriter, *http.Request) {
              return func(response http.ResponseWriter, _ *http.Request) { io.WriteString(response, text) }
            }
            func main() {
              mux := http.NewServeMux()
              mux.HandleFunc("/login", serve("served login"))
              mux.HandleFunc("/pay/", serve("served any"))
              http.ListenAndServe("127.0.0.1:" + os.Args[1], mux)
            }
            """;

    private static final String NGINX = """
            events {}
            http {
              access_log off;
              server {
                listen 127.0.0.1:PORT;
                location = /login { return 200 "served login"; }
                location /pay/ { return 200 "served any"; }
              }
            }
            """;

    private static final String CADDY = """
            {
            	admin off
            	auto_https off
            }
            http://:PORT {
            	bind 127.0.0.1
            	handle /login {
            		respond "served login"
            	}
            	handle /pay/* {
            		respond "served any"
            	}
            }
            """;

    /** Where Node's modules are: those of Debian, and those of the environment. */
    private static final String NODE_PATH =
            "/usr/share/nodejs" + File.pathSeparator + System.getenv().getOrDefault("NODE_PATH", "/usr/lib/nodejs");

    private final Path directory;
    private final int port;
    private final List<String> command;

    private OriginProcess(String name, Path directory, int port, List<String> command) {
        super(name, directory.resolve(name + ".log"));
        this.directory = directory;
        this.port = port;
        this.command = command;
    }

    /**
     * Returns a server.
     *
     * @param name flask, node, node-url, express, go, nginx or caddy
     * @return empty if its program is not installed
     */
    static Optional<OriginProcess> of(String name, Path directory) throws IOException, InterruptedException {
        int port = ProxyProcess.freePort();
        Optional<List<String>> command =
                switch (name) {
                    case "flask" -> flask(directory, port);
                    case "node" -> node(directory, port, NODE.replace("PATH", "request.url.split('?')[0]"));
                    case "node-url" ->
                        node(
                                directory,
                                port,
                                NODE.replace("PATH", "new URL(request.url, 'http://localhost').pathname"));
                    case "express" ->
                        Stream.of(NODE_PATH.split(File.pathSeparator))
                                        .anyMatch(modules -> Files.isDirectory(Path.of(modules, "express")))
                                ? node(directory, port, EXPRESS)
                                : Optional.empty();
                    case "go" ->
                        program("go", "run", write(directory, "origin.go", GO).toString(), Integer.toString(port));
                    case "nginx" ->
                        program(
                                "nginx",
                                "-p",
                                directory.toString(),
                                "-c",
                                write(directory, "nginx.conf", NGINX.replace("PORT", Integer.toString(port)))
                                        .toString(),
                                "-g",
                                "daemon off; error_log stderr; pid " + directory.resolve("nginx.pid") + ";");
                    case "caddy" ->
                        program(
                                "caddy",
                                "run",
                                "--adapter",
                                "caddyfile",
                                "--config",
                                write(directory, "Caddyfile", CADDY.replace("PORT", Integer.toString(port)))
                                        .toString());
                    default -> throw new IllegalArgumentException(name);
                };
        return command.map(started -> new OriginProcess(name, directory, port, started));
    }

    private static Optional<List<String>> program(String program, String... arguments) {
        return ProxyProcess.find(program).map(path -> Stream.concat(Stream.of(path.toString()), Stream.of(arguments))
                .toList());
    }

    private static Optional<List<String>> node(Path directory, int port, String script) throws IOException {
        return program("node", write(directory, "origin.js", script).toString(), Integer.toString(port));
    }

    private static Optional<List<String>> flask(Path directory, int port) throws IOException, InterruptedException {
        Path script = write(directory, "origin.py", FLASK);
        for (String python : List.of("python3", "/usr/bin/python3")) {
            try {
                Process check = new ProcessBuilder(python, "-c", "import flask")
                        .redirectErrorStream(true)
                        .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                        .start();
                if (check.waitFor() == 0) {
                    return Optional.of(List.of(python, script.toString(), Integer.toString(port)));
                }
            } catch (IOException e) {
                // there is no such program
            }
        }
        return Optional.empty();
    }

    private static Path write(Path directory, String name, String text) throws IOException {
        return Files.writeString(directory.resolve(name), text);
    }

    @Override
    protected ProcessBuilder command() {
        ProcessBuilder builder = new ProcessBuilder(command);
        for (String variable : List.of("HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME", "GOCACHE")) {
            builder.environment().put(variable, directory.toString());
        }
        builder.environment().put("NODE_PATH", NODE_PATH);
        return builder;
    }

    /** Sends a request whose target is not checked, and returns the response as text. */
    String get(String target) throws IOException {
        try (Socket socket = new Socket("127.0.0.1", port)) {
            OutputStream out = socket.getOutputStream();
            out.write(("GET " + target + " HTTP/1.1\r\nHost: origin\r\nConnection: close\r\n\r\n")
                    .getBytes(StandardCharsets.UTF_8));
            return new String(socket.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        }
    }
}
