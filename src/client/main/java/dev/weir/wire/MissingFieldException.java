package dev.weir.wire;

/** Indicates that a request in JSON lacks a required field. */
final class MissingFieldException extends IllegalArgumentException {

    private static final long serialVersionUID = 1L;

    private final String field;

    MissingFieldException(String field) {
        super(field + " is required");
        this.field = field;
    }

    String field() {
        return field;
    }
}
