package dev.weir.fault;

/**
 * An exception because of what somebody wrote: an option, a file, a setting or a request. Its message is for that
 * person. Repeating the action unchanged fails again. A command exits with code 2.
 */
public interface BadInput {}
