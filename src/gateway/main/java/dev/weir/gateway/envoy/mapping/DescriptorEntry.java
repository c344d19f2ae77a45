package dev.weir.gateway.envoy.mapping;

/**
 * An entry of a descriptor.
 *
 * @param key the key, not empty
 * @param value the value
 */
public record DescriptorEntry(String key, String value) {}
