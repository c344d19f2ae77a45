package dev.weir.cli.option;

import java.util.Map;
import java.util.TreeMap;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** A client, and the tier and attributes of its requests, which select the policies. */
public final class ClientOptions {

    @Parameters(paramLabel = "CLIENT", description = "The client id.")
    private String client;

    @Option(names = "--tier", paramLabel = "TIER", description = "The tier of the client's requests (default: none).")
    private String tier;

    @Option(
            names = "--attribute",
            paramLabel = "NAME=VALUE",
            description = "An attribute of the client's requests. Repeat the option for each attribute.")
    private Map<String, String> attributes = new TreeMap<>();

    public String client() {
        return client;
    }

    /** Returns the tier; null if there is none. */
    public String tier() {
        return tier;
    }

    public Map<String, String> attributes() {
        return attributes;
    }
}
