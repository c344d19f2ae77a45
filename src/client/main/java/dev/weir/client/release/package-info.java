/** Consumers and workers that process the releases of queued requests. */
package dev.weir.client.release;
