package dev.weir.spring;

import org.springframework.http.server.PathContainer;

/** What {@link HttpValue} reads from an HTTP request. A missing value is null. */
interface HttpRequestView {

    String header(String name);

    String query(String name);

    String cookie(String name);

    /** Returns the name of the authenticated user. */
    String principal();

    String remoteAddress();

    String method();

    /** Returns the path within the application, without parameters, as Spring matches it with the paths of handlers. */
    PathContainer path();

    /**
     * Returns a path as text. Segments are decoded and have no path parameters, so that a client cannot avoid a policy
     * by another spelling of the same path.
     */
    static String text(PathContainer path) {
        StringBuilder text = new StringBuilder();
        for (PathContainer.Element element : path.elements()) {
            text.append(
                    element instanceof PathContainer.PathSegment segment ? segment.valueToMatch() : element.value());
        }
        return text.toString();
    }
}
