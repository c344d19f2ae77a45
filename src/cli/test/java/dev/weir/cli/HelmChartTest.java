package dev.weir.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.introspect.Annotated;
import com.fasterxml.jackson.databind.introspect.JacksonAnnotationIntrospector;
import com.fasterxml.jackson.dataformat.yaml.YAMLFactory;
import com.marcnuri.helm.Helm;
import com.marcnuri.helm.TemplateCommand;
import dev.weir.config.ConfigFile;
import dev.weir.config.WeirConfig;
import io.fabric8.kubernetes.api.model.ConfigMap;
import io.fabric8.kubernetes.api.model.Container;
import io.fabric8.kubernetes.api.model.HasMetadata;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.api.model.PodSpec;
import io.fabric8.kubernetes.api.model.Quantity;
import io.fabric8.kubernetes.api.model.Secret;
import io.fabric8.kubernetes.api.model.Service;
import io.fabric8.kubernetes.api.model.Volume;
import io.fabric8.kubernetes.api.model.VolumeMount;
import io.fabric8.kubernetes.api.model.apps.StatefulSet;
import io.fabric8.kubernetes.api.model.networking.v1.NetworkPolicy;
import io.fabric8.kubernetes.api.model.policy.v1.PodDisruptionBudget;
import io.fabric8.openshift.api.model.monitoring.v1.ServiceMonitor;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import picocli.CommandLine;

/** The manifests that Helm renders from the chart, read into the types of the Kubernetes API. No cluster is used. */
class HelmChartTest {

    private static final Path CHART = Path.of("src/deploy/helm/weir");
    private static final String TOKEN = "0123456789abcdef";
    private static final Map<String, Class<? extends HasMetadata>> KINDS = Map.of(
            "v1/ConfigMap", ConfigMap.class,
            "v1/Secret", Secret.class,
            "v1/Service", Service.class,
            "v1/Pod", Pod.class,
            "apps/v1/StatefulSet", StatefulSet.class,
            "policy/v1/PodDisruptionBudget", PodDisruptionBudget.class,
            "networking.k8s.io/v1/NetworkPolicy", NetworkPolicy.class,
            "monitoring.coreos.com/v1/ServiceMonitor", ServiceMonitor.class);

    /** What a JVM takes beside its heap and RocksDB, as {@code weir doctor} reckons. */
    private static final long BESIDE_MIB = 256;

    private static final ObjectMapper YAML = new ObjectMapper(new YAMLFactory())
            .setAnnotationIntrospector(new JacksonAnnotationIntrospector() {
                /** The types accept unknown properties by setters. Without these, they are errors. */
                @Override
                public Boolean hasAnySetter(Annotated annotated) {
                    return false;
                }
            });

    @TempDir
    static Path directory;

    private static Path chart;

    /** Helm leaves hooks out, so the pod of {@code helm test} is rendered without the annotation that makes it one. */
    @BeforeAll
    static void copyWithoutHooks() throws IOException {
        chart = directory.resolve("weir");
        try (Stream<Path> files = Files.walk(CHART)) {
            for (Path file : (Iterable<Path>) files::iterator) {
                Path copy = chart.resolve(CHART.relativize(file).toString());
                if (Files.isDirectory(file)) {
                    Files.createDirectories(copy);
                } else {
                    Files.writeString(copy, Files.readString(file).replace("    helm.sh/hook: test\n", ""));
                }
            }
        }
    }

    private static String template(String... values) {
        return template(List.of("kafka.bootstrapServers=kafka:9092"), values);
    }

    private static String template(List<String> defaults, String... values) {
        TemplateCommand command = new Helm(chart)
                .template()
                .withName("quota")
                .withNamespace("prod")
                .withKubeVersion("1.31.0");
        Stream.concat(defaults.stream(), Stream.of(values)).forEach(value -> {
            String[] parts = value.split("=", 2);
            command.set(parts[0], parts[1]);
        });
        return command.call();
    }

    private static List<HasMetadata> manifests(String... values) throws IOException {
        List<HasMetadata> manifests = new ArrayList<>();
        for (JsonNode manifest : documents(template(values))) {
            String kind = manifest.get("apiVersion").asText() + "/"
                    + manifest.get("kind").asText();
            assertThat(KINDS).containsKey(kind);
            manifests.add(YAML.treeToValue(manifest, KINDS.get(kind)));
        }
        return manifests;
    }

    private static List<JsonNode> documents(String text) throws IOException {
        try (var values = YAML.readerFor(JsonNode.class).<JsonNode>readValues(text)) {
            return values.readAll();
        }
    }

    private static <T extends HasMetadata> T only(List<HasMetadata> manifests, Class<T> type) {
        List<T> found = all(manifests, type);
        assertThat(found).hasSize(1);
        return found.get(0);
    }

    private static <T extends HasMetadata> List<T> all(List<HasMetadata> manifests, Class<T> type) {
        return manifests.stream().filter(type::isInstance).map(type::cast).toList();
    }

    private static PodSpec instances(List<HasMetadata> manifests) {
        return only(manifests, StatefulSet.class).getSpec().getTemplate().getSpec();
    }

    private static List<PodSpec> pods(List<HasMetadata> manifests) {
        return List.of(instances(manifests), only(manifests, Pod.class).getSpec());
    }

    private static WeirConfig config(List<HasMetadata> manifests) throws Exception {
        String text = only(manifests, ConfigMap.class).getData().get("weir.yaml");
        return ConfigFile.read(
                "weir.yaml", text, Map.of("POD_NAME", "quota-weir-1", "WEIR_STATE_DIRECTORY", "/var/lib/weir"));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "replicas=1",
                "persistence.enabled=false",
                "podDisruptionBudget.enabled=false",
                "networkPolicy.enabled=false",
                "serviceMonitor.enabled=true tokens.readToken=0123456789abcdef serviceMonitor.labels.release=prom",
                "tokens.existingSecret=mine serviceMonitor.enabled=true",
                "image.digest=sha256:99e61abcff91a9b1333463bd8451fb18495d6eba9250ac66a338b518f8278320",
                "image.pullSecrets[0]=mine serviceAccountName=weir priorityClassName=high",
                "nodeSelector.disk=ssd podLabels.a=b podAnnotations.c=d service.annotations.e=f",
                "tolerations[0].key=a affinity.nodeAffinity=null persistence.storageClass=fast",
                "extraEnv[0].name=WEIR_JAAS extraEnv[0].value=x javaOptions=-Xmx1g",
                "extraVolumes[0].name=trust extraVolumes[0].secret.secretName=trust "
                        + "extraVolumeMounts[0].name=trust extraVolumeMounts[0].mountPath=/trust",
                "networkPolicy.clients[0].podSelector.matchLabels.app=gateway networkPolicy.egressPorts[0]=9093"
            })
    void manifests_have_no_field_that_kubernetes_does_not_know_and_unique_names(String values) throws Exception {
        List<HasMetadata> manifests = manifests(values.split(" ", -1));
        assertThat(manifests.stream()
                        .map(each -> each.getKind() + " " + each.getMetadata().getName()))
                .contains("StatefulSet quota-weir", "Service quota-weir", "Service quota-weir-headless")
                .doesNotHaveDuplicates();
        for (PodSpec pod : pods(manifests)) {
            Set<String> volumes = new HashSet<>();
            pod.getVolumes().forEach(volume -> volumes.add(volume.getName()));
            if (!all(manifests, StatefulSet.class)
                    .get(0)
                    .getSpec()
                    .getVolumeClaimTemplates()
                    .isEmpty()) {
                volumes.add("state");
            }
            assertThat(pod.getContainers().get(0).getVolumeMounts())
                    .extracting(VolumeMount::getName)
                    .containsExactlyInAnyOrderElementsOf(volumes);
        }
    }

    @Test
    void an_unknown_field_is_noticed() throws Exception {
        JsonNode service =
                documents("{apiVersion: v1, kind: Service, spec: {port: 1}}").get(0);
        assertThatThrownBy(() -> YAML.treeToValue(service, Service.class)).hasMessageContaining("port");
    }

    @Test
    void selectors_match_the_pods_and_names_exist() throws Exception {
        List<HasMetadata> manifests =
                manifests("serviceMonitor.enabled=true", "tokens.token=" + TOKEN, "tokens.readToken=" + TOKEN);
        StatefulSet set = only(manifests, StatefulSet.class);
        Set<Map.Entry<String, String>> labels =
                set.getSpec().getTemplate().getMetadata().getLabels().entrySet();
        List<Map<String, String>> selectors = new ArrayList<>();
        selectors.add(set.getSpec().getSelector().getMatchLabels());
        all(manifests, Service.class)
                .forEach(service -> selectors.add(service.getSpec().getSelector()));
        selectors.add(only(manifests, PodDisruptionBudget.class)
                .getSpec()
                .getSelector()
                .getMatchLabels());
        selectors.add(
                only(manifests, NetworkPolicy.class).getSpec().getPodSelector().getMatchLabels());
        instances(manifests)
                .getTopologySpreadConstraints()
                .forEach(each -> selectors.add(each.getLabelSelector().getMatchLabels()));
        assertThat(selectors).hasSize(7).allSatisfy(selector -> assertThat(labels)
                .containsAll(selector.entrySet()));
        // The service must not send requests to the test pod.
        assertThat(only(manifests, Pod.class).getMetadata().getLabels())
                .doesNotContainEntry("app.kubernetes.io/component", "enforcer");

        Service headless = all(manifests, Service.class).stream()
                .filter(service -> "None".equals(service.getSpec().getClusterIP()))
                .findFirst()
                .orElseThrow();
        assertThat(set.getSpec().getServiceName())
                .isEqualTo(headless.getMetadata().getName());
        ServiceMonitor monitor = only(manifests, ServiceMonitor.class);
        assertThat(headless.getMetadata().getLabels().entrySet())
                .containsAll(monitor.getSpec().getSelector().getMatchLabels().entrySet());
        assertThat(headless.getSpec().getPorts()).anyMatch(port -> port.getName()
                .equals(monitor.getSpec().getEndpoints().get(0).getPort()));

        Secret secret = only(manifests, Secret.class);
        assertThat(secret.getStringData()).containsOnlyKeys("token", "read-token");
        for (PodSpec pod : pods(manifests)) {
            assertThat(pod.getVolumes().get(0).getConfigMap().getName())
                    .isEqualTo(only(manifests, ConfigMap.class).getMetadata().getName());
            assertThat(pod.getContainers().get(0).getEnv())
                    .filteredOn(variable -> variable.getValueFrom().getSecretKeyRef() != null)
                    .hasSize(3)
                    .allMatch(variable -> variable.getValueFrom()
                            .getSecretKeyRef()
                            .getName()
                            .equals(secret.getMetadata().getName()));
        }
    }

    @Test
    void the_configuration_is_valid_and_advertises_the_name_of_the_pod() throws Exception {
        List<HasMetadata> manifests =
                manifests("config.threads=2", "config.state.memory=512MiB", "kafka.properties.security\\.protocol=SSL");
        WeirConfig config = config(manifests);
        assertThat(config.threads()).isEqualTo(2);
        assertThat(config.state().memoryBytes()).isEqualTo(512L << 20);
        assertThat(config.service().listener().advertise()).contains("quota-weir-1.quota-weir-headless.prod.svc:8680");
        assertThat(config.kafka())
                .containsOnly(
                        Map.entry("bootstrap.servers", "kafka:9092"),
                        Map.entry("security.protocol", "SSL"),
                        Map.entry("group.instance.id", "quota-weir-1.prod"));
        Container container = instances(manifests).getContainers().get(0);
        assertThat(container.getVolumeMounts())
                .extracting(VolumeMount::getMountPath)
                .contains(config.state().directory().toString(), "/tmp");
        assertThat(container.getPorts())
                .extracting(port -> port.getName() + " " + port.getContainerPort())
                .containsExactly(
                        "http " + config.service().listener().port(),
                        "health " + config.service().listener().healthPort().orElseThrow());
    }

    @Test
    void the_commands_accept_their_arguments() throws Exception {
        List<HasMetadata> manifests = manifests("policies=policies: []", "replicas=2");
        assertThat(only(manifests, ConfigMap.class).getData()).containsEntry("policies.yaml", "policies: []\n");
        for (PodSpec pod : pods(manifests)) {
            List<String> args = pod.getContainers().get(0).getArgs();
            new CommandLine(new Main())
                    .setCaseInsensitiveEnumValuesAllowed(true)
                    .parseArgs(args.toArray(String[]::new));
            assertThat(args).containsSubsequence("--config", "/etc/weir/weir.yaml");
        }
        assertThat(instances(manifests).getContainers().get(0).getArgs())
                .containsSubsequence("--policies", "/etc/weir/policies.yaml");
        assertThat(only(manifests, Pod.class).getSpec().getContainers().get(0).getArgs())
                .startsWith("doctor")
                .contains(
                        "http://quota-weir-0.quota-weir-headless.prod.svc:8680",
                        "http://quota-weir-1.quota-weir-headless.prod.svc:8680");
        assertThat(Files.readString(CHART.resolve("templates/tests/doctor.yaml")))
                .contains("helm.sh/hook: test\n");
    }

    @Test
    void pods_run_without_root_and_write_only_to_volumes() throws Exception {
        for (PodSpec pod : pods(manifests())) {
            assertThat(pod.getAutomountServiceAccountToken()).isFalse();
            assertThat(pod.getSecurityContext().getRunAsNonRoot()).isTrue();
            assertThat(pod.getSecurityContext().getRunAsUser()).isEqualTo(10001);
            Container container = pod.getContainers().get(0);
            assertThat(container.getSecurityContext().getReadOnlyRootFilesystem())
                    .isTrue();
            assertThat(container.getSecurityContext().getAllowPrivilegeEscalation())
                    .isFalse();
            assertThat(container.getSecurityContext().getCapabilities().getDrop())
                    .containsExactly("ALL");
        }
    }

    /** The service stops within 25 s of SIGTERM, which is sent after the preStop command. */
    @Test
    void the_grace_period_covers_the_delay_and_the_stop() throws Exception {
        PodSpec pod = instances(manifests());
        List<String> delay =
                pod.getContainers().get(0).getLifecycle().getPreStop().getExec().getCommand();
        assertThat(pod.getTerminationGracePeriodSeconds()).isGreaterThanOrEqualTo(Long.parseLong(delay.get(1)) + 25);
    }

    @Test
    void the_memory_limit_fits_heap_rocksdb_and_jvm() throws Exception {
        List<HasMetadata> manifests = manifests();
        long limit = Quantity.getAmountInBytes(instances(manifests)
                                .getContainers()
                                .get(0)
                                .getResources()
                                .getLimits()
                                .get("memory"))
                        .longValueExact()
                >> 20;
        assertThat(limit / 2 + (config(manifests).state().memoryBytes() >> 20) + BESIDE_MIB)
                .isLessThan(limit);
    }

    @Test
    void with_tls_probes_scrapes_and_the_doctor_use_https() throws Exception {
        List<HasMetadata> manifests = manifests(
                "config.service.tls.certificate=/tls/tls.crt",
                "config.service.tls.key=/tls/tls.key",
                "tokens.existingSecret=mine",
                "serviceMonitor.enabled=true");
        Container container = instances(manifests).getContainers().get(0);
        assertThat(container.getLivenessProbe().getHttpGet().getScheme()).isEqualTo("HTTPS");
        assertThat(container.getReadinessProbe().getHttpGet().getScheme()).isEqualTo("HTTPS");
        assertThat(only(manifests, ServiceMonitor.class)
                        .getSpec()
                        .getEndpoints()
                        .get(0)
                        .getScheme()
                        .toString())
                .isEqualToIgnoringCase("https");
        assertThat(only(manifests, ServiceMonitor.class)
                        .getSpec()
                        .getEndpoints()
                        .get(0)
                        .getTlsConfig()
                        .getServerName())
                .isEqualTo("quota-weir.prod.svc");
        assertThat(only(manifests, Pod.class).getSpec().getContainers().get(0).getArgs())
                .anyMatch(argument -> argument.startsWith("https://quota-weir-0."));
        assertThat(config(manifests).service().tls()).isPresent();
    }

    @Test
    void without_a_volume_claim_the_state_is_on_an_empty_directory() throws Exception {
        PodSpec pod = instances(manifests("persistence.enabled=false"));
        assertThat(pod.getVolumes())
                .filteredOn(volume -> volume.getName().equals("state"))
                .singleElement()
                .extracting(Volume::getEmptyDir)
                .isNotNull();
    }

    @Test
    void changed_configuration_and_tokens_restart_the_instances() throws Exception {
        assertThat(Stream.of("config.threads=2", "tokens.token=" + TOKEN, "replicas=4")
                        .map(HelmChartTest::podAnnotations)
                        .distinct())
                .hasSize(3)
                .contains(podAnnotations("replicas=3"));
    }

    private static Map<String, String> podAnnotations(String value) {
        try {
            return only(manifests(value), StatefulSet.class)
                    .getSpec()
                    .getTemplate()
                    .getMetadata()
                    .getAnnotations();
        } catch (IOException e) {
            throw new AssertionError(e);
        }
    }

    @ParameterizedTest
    @CsvSource({
        "replica=2, replica",
        "replicas=0, replicas",
        "image.tags=a, tags",
        "config.thread=2, thread",
        "config.service.host=a, host",
        "config.state.directory=/a, directory",
        "kafka.properties.bootstrap\\.servers=a, bootstrap.servers",
        "tokens.token=short, token",
        "image.digest=latest, digest",
        "networkPolicy.egressPorts[0]=0, egressPorts",
        "terminationGracePeriodSeconds=10, terminationGracePeriodSeconds"
    })
    void values_that_the_schema_does_not_allow_are_rejected(String value, String reported) {
        assertThatThrownBy(() -> template(value)).hasMessageContaining(reported);
    }

    @Test
    void missing_and_contradictory_values_are_rejected_with_what_to_set() {
        assertThatThrownBy(() -> template(List.of())).hasMessageContaining("set kafka.bootstrapServers");
        assertThatThrownBy(() -> template("serviceMonitor.enabled=true"))
                .hasMessageContaining("serviceMonitor.enabled needs a read token");
        assertThatThrownBy(() -> template("tokens.existingSecret=a", "tokens.token=" + TOKEN))
                .hasMessageContaining("not both");
    }

    @Test
    void helm_finds_no_fault_in_the_chart() {
        assertThat(new Helm(CHART).lint().call().getMessages())
                .allMatch(message -> message.startsWith("[INFO]"), "only hints");
    }

    /** The chart installs the image of the same version. */
    @Test
    void the_chart_has_the_version_of_the_release() throws IOException {
        JsonNode description = YAML.readTree(CHART.resolve("Chart.yaml").toFile());
        assertThat(description.get("version")).isEqualTo(description.get("appVersion"));
        assertThat(Files.readString(Path.of("pom.xml")))
                .contains("<revision>" + description.get("version").asText() + "</revision>");
    }
}
