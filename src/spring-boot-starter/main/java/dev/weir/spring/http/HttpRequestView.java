package dev.weir.spring.http;

/** What {@link HttpValue} reads from an HTTP request. A missing value is null. */
interface HttpRequestView {

    String header(String name);

    String query(String name);

    String cookie(String name);

    /** Returns the name of the authenticated user. */
    String principal();

    String remoteAddress();

    String method();

    /** Returns the path within the application, as sent. */
    String path();
}
