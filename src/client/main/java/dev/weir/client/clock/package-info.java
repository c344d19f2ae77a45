/** Clocks that do not depend on the wall clock. Part of the implementation of the client, not of the API. */
package dev.weir.client.clock;
