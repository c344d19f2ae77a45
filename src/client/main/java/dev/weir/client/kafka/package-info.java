/**
 * Kafka's consumers and producers as the client, its leases and its release consumers use them. Part of the
 * implementation of the client, not of the API.
 */
package dev.weir.client.kafka;
