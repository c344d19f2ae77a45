package dev.weir.service.http;

/** The service cannot run with its configuration. The message is one line and begins with the setting. */
public final class BadSettingException extends RuntimeException {

    private static final long serialVersionUID = 1L;

    public BadSettingException(String message, Throwable cause) {
        super(message, cause);
    }
}
