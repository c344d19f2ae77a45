package dev.weir.config;

import dev.weir.fault.BadInput;

/** The service cannot run with its configuration. The message is one line and begins with the setting. */
public final class BadSettingException extends RuntimeException implements BadInput {

    private static final long serialVersionUID = 1L;

    public BadSettingException(String message, Throwable cause) {
        super(message, cause);
    }
}
