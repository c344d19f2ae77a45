package dev.weir.fault;

/**
 * An exception caused by an invalid option, file, setting or request. Its message names the place. A retry with the same
 * input fails again. A command exits with code 2.
 */
public interface BadInput {}
