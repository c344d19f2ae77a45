package dev.weir.gateway.envoy.mapping;

import dev.weir.client.RequestBuilder;
import dev.weir.event.RequestKind;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.StringJoiner;
import java.util.function.Supplier;
import java.util.stream.Collectors;

/**
 * Maps calls of the rate limit service to requests. By default each descriptor is a request of its own, as in
 * envoyproxy/ratelimit.
 *
 * <pre>
 *   domain: edge                                            client      10.0.0.7
 *   descriptors: [(path, /a), (remote_address, 10.0.0.7)]   attributes  domain=edge, path=/a, remote_address=10.0.0.7
 * </pre>
 *
 * <p>A key that occurs again, with another value, is the attribute {@code key.2}, then {@code key.3}, and so on. Texts
 * that are too long are shortened.
 *
 * @param rules the first rule that matches a descriptor maps it
 * @param otherwise the mapping of other descriptors
 * @param isMerged whether all descriptors of a call are one request, which is charged to all its limits or to none
 * @param texts shortens texts
 */
// Hits of a descriptor become:
//
//   n > 0                    CONSUME, cost n; with settles SETTLE, cost n
//   0                        PEEK, cost 1: a PEEK of cost 0 would pass although nothing remains
//   n > 0, negative          SETTLE, cost -n
//   0, negative              PEEK, cost 1
public record EnvoyMapping(
        List<DescriptorRule> rules, DescriptorMapping otherwise, boolean isMerged, EntryTexts texts) {

    /** The mapping without a configuration. */
    public static final EnvoyMapping DEFAULTS =
            new EnvoyMapping(List.of(), DescriptorMapping.DEFAULTS, false, EntryTexts.DEFAULTS);

    /** Creates a mapping. */
    public EnvoyMapping {
        rules = List.copyOf(rules);
    }

    /**
     * Returns the requests of a call, in the order of its descriptors.
     *
     * @param ids returns a new id for each request that the mapping gives none
     * @throws BadCallException if the call is merged and its descriptors have different hits or limits
     */
    public List<MappedRequest> map(RateLimitCall call, Supplier<String> ids) throws BadCallException {
        List<CallDescriptor> descriptors = call.descriptors();
        if (isMerged && descriptors.size() > 1) {
            return List.of(request(call, merged(descriptors), 0, descriptors.size(), ids));
        }
        List<MappedRequest> requests = new ArrayList<>(descriptors.size());
        for (int i = 0; i < descriptors.size(); i++) {
            requests.add(request(call, descriptors.get(i), i, 1, ids));
        }
        return requests;
    }

    private static CallDescriptor merged(List<CallDescriptor> descriptors) throws BadCallException {
        CallDescriptor first = descriptors.get(0);
        Set<DescriptorEntry> entries = new LinkedHashSet<>();
        Optional<CallLimit> limit = Optional.empty();
        for (int i = 0; i < descriptors.size(); i++) {
            CallDescriptor descriptor = descriptors.get(i);
            if (descriptor.hits() != first.hits() || descriptor.isRefund() != first.isRefund()) {
                throw BadCallException.invalid("descriptors[" + i + "] has " + hits(descriptor) + " and descriptors[0] "
                        + hits(first) + "; with merge: true, all descriptors must have the same hits");
            }
            if (limit.isPresent() && descriptor.limit().isPresent() && !limit.equals(descriptor.limit())) {
                throw BadCallException.invalid(
                        "descriptors[" + i + "].limit differs from that of an earlier descriptor;"
                                + " with merge: true, there can be one");
            }
            limit = limit.or(descriptor::limit);
            entries.addAll(descriptor.entries());
        }
        return new CallDescriptor(List.copyOf(entries), first.hits(), first.isRefund(), limit);
    }

    private static String hits(CallDescriptor descriptor) {
        return (descriptor.isRefund() ? "-" : "") + descriptor.hits() + " hits";
    }

    private MappedRequest request(
            RateLimitCall call, CallDescriptor descriptor, int first, int size, Supplier<String> ids) {
        List<DescriptorEntry> entries = texts.counted(descriptor.entries());
        DescriptorMapping mapping = mappingOf(call.domain(), entries);
        String client = firstValue(mapping.keys().client(), entries);
        String tier = firstValue(mapping.keys().tier(), entries);
        RequestBuilder builder = RequestBuilder.of(EntryTexts.name(client == null ? text(entries) : client))
                .tier(tier == null ? null : EntryTexts.name(tier))
                .requestId(requestId(mapping, call, first, ids));
        attributes(call.domain(), entries, mapping).forEach(builder::attribute);
        if (descriptor.hits() == 0) {
            builder.kind(RequestKind.PEEK).cost(1);
        } else if (descriptor.isRefund()) {
            builder.kind(RequestKind.SETTLE).cost(-descriptor.hits());
        } else {
            builder.kind(mapping.settles() ? RequestKind.SETTLE : RequestKind.CONSUME)
                    .cost(descriptor.hits());
        }
        descriptor.limit().ifPresent(limit -> builder.limitOverride(limit.requests(), limit.window()));
        return new MappedRequest(builder.build(), first, size, mapping);
    }

    private DescriptorMapping mappingOf(String domain, List<DescriptorEntry> entries) {
        for (DescriptorRule rule : rules) {
            if (rule.matches(domain, entries)) {
                return rule.mapping();
            }
        }
        return otherwise;
    }

    /** Returns the first value that is not empty, null if there is none. */
    private static String firstValue(List<String> keys, List<DescriptorEntry> entries) {
        for (String key : keys) {
            for (DescriptorEntry entry : entries) {
                if (entry.key().equals(key) && !entry.value().isEmpty()) {
                    return entry.value();
                }
            }
        }
        return null;
    }

    /** Returns the id of a request; several descriptors of a call with one id are different requests. */
    private static String requestId(DescriptorMapping mapping, RateLimitCall call, int index, Supplier<String> ids) {
        String id = null;
        for (int i = 0;
                i < call.descriptors().size()
                        && id == null
                        && !mapping.keys().requestId().isEmpty();
                i++) {
            id = firstValue(
                    mapping.keys().requestId(), call.descriptors().get(i).entries());
        }
        return id == null ? ids.get() : EntryTexts.name(index == 0 ? id : id + "/" + index);
    }

    private Map<String, String> attributes(String domain, List<DescriptorEntry> entries, DescriptorMapping mapping) {
        Map<String, String> attributes = new HashMap<>();
        attributes.put(DescriptorRule.DOMAIN, texts.attributeValue(domain));
        mapping.keys().keysAttribute().ifPresent(name -> attributes.put(name, texts.attributeValue(keys(entries))));
        if (mapping.keys().attributes().isEmpty()) {
            for (DescriptorEntry entry : entries) {
                if (!mapping.keys().requestId().contains(entry.key())) {
                    putNext(attributes, texts.attributeName(entry.key()), texts.attributeValue(entry.value()));
                }
            }
        } else {
            mapping.keys().attributes().forEach((name, key) -> {
                String value = firstValue(List.of(key), entries);
                if (value != null) {
                    attributes.put(name, texts.attributeValue(value));
                }
            });
        }
        return attributes;
    }

    private static String keys(List<DescriptorEntry> entries) {
        StringJoiner keys = new StringJoiner(",");
        for (DescriptorEntry entry : entries) {
            keys.add(entry.key());
        }
        return keys.toString();
    }

    /** Adds an attribute, under the name with the next free number if the name has another value. */
    private static void putNext(Map<String, String> attributes, String name, String value) {
        String free = name;
        for (int i = 2; attributes.containsKey(free); i++) {
            if (attributes.get(free).equals(value)) {
                return;
            }
            free = name + "." + i;
        }
        attributes.put(free, value);
    }

    /** Returns the entries as text. Different descriptors have different texts. */
    private static String text(List<DescriptorEntry> entries) {
        return entries.stream()
                .map(entry -> escaped(entry.key()) + "=" + escaped(entry.value()))
                .collect(Collectors.joining(","));
    }

    private static String escaped(String text) {
        boolean isPlain = text.indexOf(',') < 0 && text.indexOf('=') < 0 && text.indexOf('\\') < 0;
        return isPlain ? text : text.replaceAll("[,=\\\\]", "\\\\$0");
    }
}
