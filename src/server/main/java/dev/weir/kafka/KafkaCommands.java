package dev.weir.kafka;

import dev.weir.config.WeirConfig;
import java.util.List;
import java.util.Properties;
import java.util.regex.Pattern;

/** Builds commands of Kafka's own tools for operators, with the address of the configured brokers. */
public final class KafkaCommands {

    /** The file with the credentials of an administrator; {@code how-to/secure.md} uses the same name. */
    private static final String ADMIN_FILE = " --command-config admin.properties";

    private static final Pattern PLAIN = Pattern.compile("[A-Za-z0-9._:@%/=,+-]+");

    private final String cluster;

    public KafkaCommands(WeirConfig config) {
        Properties settings = KafkaSettings.admin(config);
        String brokers = settings.getProperty("bootstrap.servers").replaceAll("\\s", "");
        boolean isOpen = settings.getProperty("security.protocol", "PLAINTEXT").equals("PLAINTEXT");
        cluster = " --bootstrap-server " + brokers + (isOpen ? "" : ADMIN_FILE);
    }

    /** Returns the command that changes a setting of a topic. */
    public String setTopic(String topic, String setting, String value) {
        return configs("topics", "--entity-name " + topic, setting, value);
    }

    /** Returns the command that changes a dynamic setting of all brokers. */
    public String setBrokers(String setting, String value) {
        return configs("brokers", "--entity-default", setting, value);
    }

    private String configs(String type, String entity, String setting, String value) {
        return "kafka-configs.sh" + cluster + " --alter --entity-type " + type + " " + entity + " --add-config "
                + setting + "=" + value;
    }

    public String deleteTopic(String topic) {
        return "kafka-topics.sh" + cluster + " --delete --topic " + topic;
    }

    /** Returns the command that adds partitions to a topic. */
    public String addPartitions(String topic, int total) {
        return "kafka-topics.sh" + cluster + " --alter --topic " + topic + " --partitions " + total;
    }

    public String describeTopic(String topic) {
        return "kafka-topics.sh" + cluster + " --describe --topic " + topic;
    }

    /** Returns the steps to add replicas, which require a plan of the brokers of each partition. */
    public List<String> reassignment() {
        return List.of(
                "write the brokers of each partition to plan.json, then",
                "kafka-reassign-partitions.sh" + cluster + " --reassignment-json-file plan.json --execute");
    }

    public String describeGroup(String group) {
        return "kafka-consumer-groups.sh" + cluster + " --describe --group " + group;
    }

    public String upgrade(String feature, int level) {
        return "kafka-features.sh" + cluster + " upgrade --feature " + feature + "=" + level;
    }

    public String describeQuorum() {
        return "kafka-metadata-quorum.sh" + cluster + " describe --status";
    }

    public String describeProducers(String topic, int partition) {
        return "kafka-transactions.sh" + cluster + " describe-producers --topic " + topic + " --partition " + partition;
    }

    /**
     * Returns the command that grants a permission.
     *
     * @param principal such as {@code User:weir}
     * @param resource such as {@code --topic weir.requests}
     */
    public String grant(String principal, String operation, String resource) {
        return "kafka-acls.sh" + cluster + " --add --allow-principal " + quoted(principal) + " --operation " + operation
                + " " + resource;
    }

    private static String quoted(String word) {
        return PLAIN.matcher(word).matches() ? word : "'" + word.replace("'", "'\\''") + "'";
    }
}
