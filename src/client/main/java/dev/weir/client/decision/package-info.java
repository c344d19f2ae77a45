/** What a client returns: decisions, the reasons why there is none, and the HTTP fields that describe decisions. */
package dev.weir.client.decision;
