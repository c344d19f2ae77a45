/**
 * The path of a request through the client, from the caller to its decision. Part of the implementation of the client,
 * not of the API.
 */
package dev.weir.client.pipeline;
