package dev.weir.gateway.envoy;

/**
 * An entry of a descriptor.
 *
 * @param key the key, not empty
 * @param value the value
 */
record DescriptorEntry(String key, String value) {}
