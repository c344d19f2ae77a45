package dev.weir.wire.json;

/** Indicates that a request in JSON lacks a required field. */
public final class MissingFieldException extends IllegalArgumentException {

    private static final long serialVersionUID = 1L;

    /** The name of the field. */
    private final String field;

    MissingFieldException(String field) {
        super(field + " is required");
        this.field = field;
    }

    /**
     * Returns the name of the field.
     *
     * @return the field that is missing
     */
    public String field() {
        return field;
    }
}
