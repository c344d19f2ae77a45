package dev.weir.doctor;

import dev.weir.kafka.KafkaSettings;
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

/**
 * Checks whether this user has the permissions of an enforcer, without using them. The table in
 * {@code topology-docs/how-to/secure.md} lists the same permissions. READ on the groups and WRITE with the transactional
 * ids also let it take over from another instance.
 */
final class PermissionChecks {

    /** @param topic the name of the topic, or the prefix of the changelogs' names */
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
                topics.replies(),
                topics.releases(),
                topics.deadLetters())) {
            needs.add(new RequiredPermission(name, false, AclOperation.WRITE));
        }
        needs.add(new RequiredPermission(topics.leaseUsage(), false, AclOperation.DESCRIBE)); // leased clients write it
        for (AclOperation operation : List.of(AclOperation.CREATE, AclOperation.READ, AclOperation.WRITE)) {
            needs.add(new RequiredPermission(cluster.config().applicationId() + "-", true, operation));
        }
        return needs;
    }

    static void topics(ClusterView cluster, FindingCollector findings) {
        List<RequiredPermission> lacking = new ArrayList<>(required(cluster));
        lacking.removeIf(need -> isGranted(need, cluster));
        for (RequiredPermission need : lacking) {
            findings.fail(
                    need.operation() + " on " + need.topic() + (need.isPrefix() ? "*" : "") + " is missing",
                    cluster.grantCommand(
                            camel(need.operation()),
                            need.isPrefix() ? TopicChecks.prefixed(need.topic()) : "--topic " + need.topic()));
        }
        if (changelogs(cluster).isEmpty()) {
            findings.skip(
                    "permissions on " + cluster.config().applicationId() + "-* can be checked once changelogs exist");
        }
        if (lacking.isEmpty()) {
            findings.ok("all permissions of an enforcer on topics");
        }
    }

    /** Returns true also if the permission cannot be checked because the topic does not exist. */
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

    static void groups(ClusterView cluster, FindingCollector findings) {
        if (!cluster.mayExist(ClusterView.OFFSETS)) {
            findings.skip("no consumer group has been used yet; check again after the first start");
            return;
        }
        boolean isAllowed = true;
        for (String group : groupIds(cluster)) {
            if (!mayRead(group, cluster)) {
                isAllowed = false;
                findings.fail("READ on " + group + " is missing", cluster.grantCommand("Read", "--group " + group));
            }
        }
        if (isAllowed) {
            findings.ok("READ on " + String.join(", ", groupIds(cluster)));
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
            return true; // the group may at least be described
        }
    }

    /**
     * Checks DESCRIBE, which WRITE implies and which can be checked without writing. A user with DESCRIBE may still
     * lack WRITE.
     */
    static void transactions(ClusterView cluster, FindingCollector findings) {
        if (!cluster.mayExist(ClusterView.TRANSACTION_LOG)) {
            findings.skip("no transaction has been used yet; check again after the first start");
            return;
        }
        String prefix = cluster.config().applicationId() + "-";
        String id = prefix + "doctor";
        try {
            cluster.await(cluster.admin().describeTransactions(List.of(id)).description(id));
        } catch (TransactionalIdNotFoundException e) {
            // expected: no producer has this id
        } catch (TransactionalIdAuthorizationException e) {
            findings.fail(
                    "WRITE on " + prefix + "* is missing",
                    cluster.grantCommand(
                            "Write", "--transactional-id " + prefix + " --resource-pattern-type prefixed"));
            return;
        }
        findings.ok("DESCRIBE on " + prefix + "*, which WRITE implies; WRITE cannot be checked without writing");
    }

    private static String camel(AclOperation operation) {
        String name = operation.name();
        return name.charAt(0) + name.substring(1).toLowerCase(java.util.Locale.ROOT);
    }
}
