/**
 * Auto-configuration of Weir for Spring Boot: a {@link dev.weir.client.WeirClient}, filters for Spring MVC and WebFlux
 * ({@link dev.weir.spring.http}), the annotation {@link dev.weir.spring.RateLimited}, health and metrics.
 */
package dev.weir.spring;
