package dev.weir.doctor;

import dev.weir.topics.KafkaSettings;
import dev.weir.topics.TopicRequirements;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import org.apache.kafka.clients.admin.ConsumerGroupDescription;
import org.apache.kafka.clients.admin.DescribeConsumerGroupsOptions;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.kafka.common.acl.AclOperation;
import org.apache.kafka.common.errors.GroupAuthorizationException;
import org.apache.kafka.common.errors.GroupIdNotFoundException;
import org.apache.kafka.common.errors.TransactionalIdAuthorizationException;
import org.apache.kafka.common.errors.TransactionalIdNotFoundException;

/** Whether this user may do what an enforcer does, asked without doing it; {@code security.md} has the same table. */
final class PermissionChecks {

    /** @param topic by its name, or by the beginning of the changelogs' names */
    record RequiredPermission(String topic, boolean isPrefix, AclOperation operation) {}

    private PermissionChecks() {}

    static List<RequiredPermission> required(ClusterView cluster) {
        List<RequiredPermission> needs = new ArrayList<>();
        var topics = cluster.topics();
        for (String name : List.of(
                topics.requests(),
                topics.routedRequests(),
                topics.policies(),
                topics.admissions(),
                topics.leaseRequests(),
                topics.leaseResponses(),
                topics.policyHistory())) {
            needs.add(new RequiredPermission(name, false, AclOperation.READ));
        }
        for (String name : List.of(
                topics.policies(),
                topics.routedRequests(),
                topics.admissions(),
                topics.leaseRequests(),
                topics.leaseResponses(),
                topics.decisions(),
                topics.releases(),
                topics.deadLetters())) {
            needs.add(new RequiredPermission(name, false, AclOperation.WRITE));
        }
        needs.add(new RequiredPermission(topics.leaseUsage(), false, AclOperation.DESCRIBE)); // its clients write it
        for (AclOperation operation : List.of(AclOperation.CREATE, AclOperation.READ, AclOperation.WRITE)) {
            needs.add(new RequiredPermission(cluster.config().applicationId() + "-", true, operation));
        }
        return needs;
    }

    static void topics(ClusterView cluster, FindingCollector notes) {
        List<RequiredPermission> lacking = new ArrayList<>(required(cluster));
        lacking.removeIf(need -> isGranted(need, cluster));
        for (RequiredPermission need : lacking) {
            notes.fail(
                    need.operation() + " on " + need.topic() + (need.isPrefix() ? "*" : "") + " is missing",
                    cluster.grantCommand(
                            camel(need.operation()),
                            need.isPrefix() ? TopicChecks.prefixed(need.topic()) : "--topic " + need.topic()));
        }
        if (changelogs(cluster).isEmpty()) {
            notes.skip(
                    "those on " + cluster.config().applicationId() + "-* can be asked when the changelogs are there");
        }
        if (lacking.isEmpty()) {
            notes.ok("what an enforcer reads, writes and creates");
        }
    }

    /** Also what cannot be told: of a topic that is not there. */
    private static boolean isGranted(RequiredPermission need, ClusterView cluster) {
        if (!need.isPrefix()) {
            TopicDescription topic = cluster.descriptions().get(need.topic());
            return topic == null
                    ? !cluster.unauthorizedTopics().contains(need.topic())
                    : topic.authorizedOperations().contains(need.operation());
        }
        return changelogs(cluster).stream()
                .allMatch(topic -> isGranted(new RequiredPermission(topic, false, need.operation()), cluster));
    }

    private static Set<String> changelogs(ClusterView cluster) {
        return new TopicRequirements(cluster.config())
                .changelogs().keySet().stream()
                        .filter(name -> cluster.descriptions().containsKey(name)
                                || cluster.unauthorizedTopics().contains(name))
                        .collect(Collectors.toSet());
    }

    static void groups(ClusterView cluster, FindingCollector notes) {
        if (!cluster.mayExist(ClusterView.OFFSETS)) {
            notes.skip("nobody has used a group yet; they can be asked after that");
            return;
        }
        boolean isAllowed = true;
        for (String group : groupIds(cluster)) {
            if (!mayRead(group, cluster)) {
                isAllowed = false;
                notes.fail("READ on " + group + " is missing", cluster.grantCommand("Read", "--group " + group));
            }
        }
        if (isAllowed) {
            notes.ok("READ on " + String.join(", ", groupIds(cluster)));
        }
    }

    static List<String> groupIds(ClusterView cluster) {
        return List.of(cluster.config().applicationId(), KafkaSettings.shapingId(cluster.config()));
    }

    private static boolean mayRead(String group, ClusterView cluster) {
        try {
            ConsumerGroupDescription described = cluster.await(cluster.admin()
                    .describeConsumerGroups(
                            List.of(group), new DescribeConsumerGroupsOptions().includeAuthorizedOperations(true))
                    .describedGroups()
                    .get(group));
            return described.authorizedOperations().contains(AclOperation.READ);
        } catch (GroupAuthorizationException e) {
            return false;
        } catch (GroupIdNotFoundException e) {
            return true; // as far as can be told: it may be described
        }
    }

    /** Who may WRITE may DESCRIBE, which can be asked without writing; the other way round it need not be. */
    static void transactions(ClusterView cluster, FindingCollector notes) {
        if (!cluster.mayExist(ClusterView.TRANSACTION_LOG)) {
            notes.skip("nobody has made a transaction yet; they can be asked after that");
            return;
        }
        String prefix = cluster.config().applicationId() + "-";
        String id = prefix + "doctor";
        try {
            cluster.await(cluster.admin().describeTransactions(List.of(id)).description(id));
        } catch (TransactionalIdNotFoundException e) {
            // nobody has that name
        } catch (TransactionalIdAuthorizationException e) {
            notes.fail(
                    "WRITE on " + prefix + "* is missing",
                    cluster.grantCommand(
                            "Write", "--transactional-id " + prefix + " --resource-pattern-type prefixed"));
            return;
        }
        notes.ok("DESCRIBE on " + prefix + "*, which WRITE includes; more cannot be asked without writing");
    }

    private static String camel(AclOperation operation) {
        String name = operation.name();
        return name.charAt(0) + name.substring(1).toLowerCase(java.util.Locale.ROOT);
    }
}
