package dev.weir.client;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.StringWriter;
import java.io.UncheckedIOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import javax.tools.JavaCompiler;
import javax.tools.JavaFileObject;
import javax.tools.SimpleJavaFileObject;
import javax.tools.ToolProvider;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Compiles the examples in the Javadoc and the documentation of the client. */
class ExamplesTest {

    private static final Pattern JAVADOC = Pattern.compile("<pre>\\{@code\n(.*?)\n \\* }</pre>", Pattern.DOTALL);
    private static final Pattern FENCED = Pattern.compile("```java\n(.*?)```", Pattern.DOTALL);

    /** The context of an example. */
    private static final String AROUND = """
            import com.sun.net.httpserver.HttpHandler;
            import com.sun.net.httpserver.HttpServer;
            import dev.weir.client.*;
            import dev.weir.client.decision.*;
            import dev.weir.client.release.*;
            import dev.weir.client.throttle.*;
            import dev.weir.event.*;
            import dev.weir.policy.*;
            import java.net.InetSocketAddress;
            import java.time.Duration;
            import java.util.*;
            import java.util.concurrent.*;
            import io.micrometer.core.instrument.MeterRegistry;
            import org.apache.kafka.common.serialization.StringDeserializer;

            class Example {
                interface Sms {
                    void send(Release release) throws Exception;
                }

                interface Model {
                    long complete(String prompt) throws Exception;
                }

                Sms sms;
                Model model;
                boolean running;
                CountDownLatch shutdown;
                WeirClient weir;
                ReleaseWorker worker;
                MeterRegistry registry;
                HttpHandler articles;

                void example() throws Exception {
                    %s
                }
            }
            """;

    @TempDir
    private Path classes;

    /** An example and the file that contains it. */
    record Example(String file, String code) {
        @Override
        public String toString() {
            return file + ": " + code.lines().findFirst().orElse("");
        }
    }

    static List<Example> examples() throws IOException {
        List<Example> examples = new ArrayList<>();
        try (Stream<Path> files = Files.walk(Path.of("src/client/main/java/dev/weir/client"))) {
            files.filter(Files::isRegularFile).sorted().forEach(file -> find(JAVADOC, file, examples));
        }
        find(FENCED, Path.of("topology-docs/how-to/java-client.md"), examples);
        find(FENCED, Path.of("topology-docs/how-to/kafka-consumer.md"), examples);
        return examples;
    }

    private static void find(Pattern pattern, Path file, List<Example> examples) {
        try {
            Matcher matcher = pattern.matcher(Files.readString(file));
            while (matcher.find()) {
                String code = matcher.group(1).replaceAll("(?m)^ \\* ?", "");
                examples.add(new Example(file.getFileName().toString(), code));
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Test
    void each_entry_point_class_has_an_example() throws IOException {
        assertThat(examples())
                .extracting(Example::file)
                .contains(
                        "ClientMetricsBinder.java",
                        "ReleaseConsumer.java",
                        "ReleaseWorker.java",
                        "RequestBuilder.java",
                        "Reservation.java",
                        "ThrottledConsumer.java",
                        "WeirClient.java",
                        "WeirFilter.java",
                        "java-client.md",
                        "kafka-consumer.md");
    }

    @ParameterizedTest
    @MethodSource("examples")
    void each_example_compiles(Example example) {
        StringWriter faults = new StringWriter();
        JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
        JavaFileObject source =
                new SimpleJavaFileObject(URI.create("string:///Example.java"), JavaFileObject.Kind.SOURCE) {
                    @Override
                    public CharSequence getCharContent(boolean ignoreEncodingErrors) {
                        return AROUND.formatted(example.code);
                    }
                };
        List<String> options =
                List.of("-proc:none", "-cp", System.getProperty("java.class.path"), "-d", classes.toString());
        boolean compiled = compiler.getTask(faults, null, null, options, null, List.of(source))
                .call();
        assertThat(compiled).as(faults.toString()).isTrue();
    }
}
