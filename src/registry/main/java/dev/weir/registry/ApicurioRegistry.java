package dev.weir.registry;

import com.microsoft.kiota.ApiException;
import dev.weir.wire.RegistryException;
import dev.weir.wire.SchemaRegistry;
import io.apicurio.registry.resolver.client.RegistryArtifactReference;
import io.apicurio.registry.resolver.client.RegistryClientFacade;
import io.apicurio.registry.resolver.client.RegistryClientFacadeFactory;
import io.apicurio.registry.resolver.client.RegistryVersionCoordinates;
import io.apicurio.registry.resolver.config.SchemaResolverConfig;
import io.apicurio.registry.resolver.strategy.ArtifactReference;
import io.apicurio.registry.rest.client.models.ProblemDetails;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.FutureTask;

/**
 * A client of Apicurio Registry. Ids are content ids, which Apicurio's serdes write by default and its
 * Confluent-compatible API uses. The schema of a topic's values is the artifact {@code <topic>-value}. Thread-safe.
 */
public final class ApicurioRegistry implements SchemaRegistry {

    private static final int MAX_REFERENCES = 100;
    private static final int MAX_DEPTH = 20;

    private static final String TYPE = "AVRO";
    private static final String NOT_FOUND = "NotFoundException";
    private static final String DEFAULT_GROUP = "default";

    private final RegistryClientFacade client;
    private final String url;
    private final String group;
    private final boolean registers;

    /**
     * Creates a client. It sends no request yet.
     *
     * @param properties properties of Apicurio's serdes, at least {@code apicurio.registry.url}; others are ignored. By
     *     default, schemas that the registry does not have are registered
     * @throws RegistryException if the properties are invalid
     */
    public ApicurioRegistry(Map<String, ?> properties) {
        Map<String, Object> settings = new HashMap<>(properties);
        settings.put(SchemaResolverConfig.HTTP_ADAPTER, "JDK");
        url = String.valueOf(settings.get(SchemaResolverConfig.REGISTRY_URL));
        Object inGroup = settings.get(SchemaResolverConfig.EXPLICIT_ARTIFACT_GROUP_ID);
        group = inGroup == null ? DEFAULT_GROUP : inGroup.toString();
        Object register = settings.get(SchemaResolverConfig.AUTO_REGISTER_ARTIFACT);
        registers = register == null || Boolean.parseBoolean(register.toString());
        try {
            client = RegistryClientFacadeFactory.create(new SchemaResolverConfig(settings));
        } catch (RuntimeException e) {
            throw RegistryRequest.failed(url, reason(e), e);
        }
    }

    @Override
    public int id(String topic, String schema) {
        String artifact = topic + "-value";
        Long id = registers ? register(artifact, schema) : find(artifact, schema);
        if (id == null || id.intValue() != id) {
            throw new RegistryException(
                    "the registry at " + url + " returned an id of more than 4 bytes for " + artifact + ": " + id,
                    null);
        }
        return id.intValue();
    }

    private Long register(String artifact, String schema) {
        return request(() -> client.createSchema(
                        TYPE, group, artifact, null, "FIND_OR_CREATE_VERSION", false, schema, Set.of()))
                .getContentId();
    }

    private Long find(String artifact, String schema) {
        ArtifactReference of =
                ArtifactReference.builder().groupId(group).artifactId(artifact).build();
        List<RegistryVersionCoordinates> found = request(() -> client.searchVersionsByContent(schema, TYPE, of, true));
        if (found.isEmpty()) {
            throw new RegistryException(
                    "the registry at " + url + " does not have the schema of " + artifact + " (in group " + group
                            + "), and registry.auto-register is false",
                    null);
        }
        return found.get(0).getContentId();
    }

    @Override
    public Optional<List<String>> schema(int id) {
        return request(() -> {
            try {
                String schema = client.getSchemaByContentId((long) id);
                Map<RegistryArtifactReference, String> texts = new LinkedHashMap<>();
                add(client.getReferencesByContentId(id), texts, 0);
                List<String> all = new ArrayList<>(texts.values());
                all.add(schema);
                return Optional.of(all);
            } catch (ProblemDetails problem) {
                if (String.valueOf(problem.getName())
                        .endsWith(NOT_FOUND)) { // from the registry, not from a proxy in front of it
                    return Optional.empty();
                }
                throw problem;
            }
        });
    }

    /**
     * Adds the schemas that a schema refers to. Apicurio's serializer registers each named type of a schema separately.
     */
    private void add(
            List<RegistryArtifactReference> references, Map<RegistryArtifactReference, String> texts, int depth) {
        for (RegistryArtifactReference one : references) {
            if (!texts.containsKey(one) && depth < MAX_DEPTH && texts.size() < MAX_REFERENCES) {
                String in = one.getGroupId() == null ? DEFAULT_GROUP : one.getGroupId();
                add(client.getReferencesByGAV(in, one.getArtifactId(), one.getVersion()), texts, depth + 1);
                texts.put(one, client.getSchemaByGAV(in, one.getArtifactId(), one.getVersion()));
            }
        }
    }

    /** Sends a request on a thread of its own, because Apicurio's client has no timeout. */
    private <T> T request(Callable<T> question) {
        FutureTask<T> answer = new FutureTask<>(question);
        Thread thread = new Thread(answer, "registry");
        thread.setDaemon(true);
        thread.start();
        return RegistryRequest.await(answer, url, ApicurioRegistry::reason);
    }

    private static String reason(Throwable failure) {
        if (failure instanceof ProblemDetails problem) {
            return problem.getStatus() + " " + problem.getTitle();
        }
        if (failure instanceof ApiException refused) {
            return refused.getResponseStatusCode() + " " + refused.getMessage();
        }
        Throwable root = failure;
        while (root.getCause() != null && root.getMessage() == null) {
            root = root.getCause();
        }
        return root.getMessage() == null ? root.getClass().getSimpleName() : root.getMessage();
    }
}
