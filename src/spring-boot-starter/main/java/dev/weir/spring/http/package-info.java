/**
 * The filters of servlet and WebFlux applications and their auto-configuration. They are configured by the properties
 * {@code weir.filter.*}.
 */
package dev.weir.spring.http;
