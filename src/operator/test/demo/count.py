#!/usr/bin/env python3
"""Counts by brute force what the demo's policies decide on the demo's trace, and writes expected.json.

usage: count.py

It shares nothing with the enforcer. All it keeps is, for each policy and key, the list of what was admitted as
(time in ms, cost); each question is answered from the definition of the limit by going through that list, in exact
rational numbers. The policies are those of policies.yaml, written out again.
"""

import collections
import gzip
import json
import math
import pathlib
from fractions import Fraction

ROOT = pathlib.Path(__file__).parents[2]
REQUESTS = ROOT / "main" / "resources" / "demo" / "requests.ndjson.gz"
EXPECTED = ROOT / "test" / "resources" / "demo" / "expected.json"

MINUTE = 60_000
HOUR = 60 * MINUTE


# Each limit says what is free at time t after what was admitted. A request of cost c passes if free(...) >= c.
# None: there is no end to it.


def unlimited(admitted, t):
    return None


def fixed_window(limit, per):
    def free(admitted, t):
        return limit - sum(cost for at, cost in admitted if at // per == t // per)

    return free


def sliding_window_log(limit, per):
    def free(admitted, t):
        return limit - sum(cost for at, cost in admitted if t - per < at <= t)

    return free


def sliding_window_counter(limit, per):
    def free(admitted, t):
        window, elapsed = divmod(t, per)
        curr = sum(cost for at, cost in admitted if at // per == window)
        prev = sum(cost for at, cost in admitted if at // per == window - 1)
        return limit - math.floor(Fraction(prev * (per - elapsed), per)) - curr

    return free


def token_bucket(limit, per, burst):
    def free(admitted, t):
        tokens, last = Fraction(burst), None
        for at, cost in [*admitted, (t, 0)]:
            if last is not None:
                tokens = min(Fraction(burst), tokens + Fraction(limit * (at - last), per))
            tokens, last = tokens - cost, at
        return math.floor(tokens)

    return free


def gcra(limit, per, burst):
    emission = Fraction(per, limit)

    def free(admitted, t):
        arrival = None
        for at, cost in admitted:
            arrival = at + cost * emission if arrival is None else max(arrival, at) + cost * emission
        if arrival is None or arrival < t:
            arrival = t
        # t >= arrival + c * emission - burst * emission, solved for the largest whole c
        return math.floor((t - arrival) / emission + burst)

    return free


Limit = collections.namedtuple("Limit", "name free")
# What passes a policy with shaped=True is queued, if nothing refuses it.
Policy = collections.namedtuple("Policy", "id layer matches key limits shaped", defaults=[False])


def client(event):
    return (event["client"],)


def client_and_endpoint(event):
    return (event["client"], event["attributes"]["endpoint"])


def of_tier(tier):
    return lambda event: event["tier"] == tier


POLICIES = [
    Policy("staff", "client", of_tier("staff"), client, [Limit("unlimited", unlimited)]),
    Policy(
        "academic",
        "client",
        of_tier("academic"),
        client,
        [Limit("token-bucket", token_bucket(5, MINUTE, 10))],
    ),
    Policy(
        "commercial",
        "client",
        of_tier("commercial"),
        client,
        [
            Limit("gcra", gcra(6, MINUTE, 10)),
            Limit("sliding-window-log", sliding_window_log(40, HOUR)),
        ],
    ),
    Policy(
        "free",
        "client",
        of_tier("free"),
        client,
        [Limit("sliding-window-counter", sliding_window_counter(6, MINUTE))],
    ),
    Policy(
        "same-image",
        "endpoint",
        lambda event: event["attributes"]["endpoint"].startswith("/images/"),
        client_and_endpoint,
        [Limit("fixed-window", fixed_window(2, HOUR))],
    ),
    Policy(
        "history-pages",
        "pages",
        lambda event: event["tier"] != "staff" and event["attributes"]["endpoint"].startswith("/history/"),
        client,
        [],
        shaped=True,
    ),
]


def passes(limit, admitted, t, cost):
    free = limit.free(admitted, t)
    return free is None or free >= cost


def retry_after_ms(limit, admitted, t, cost):
    """The least whole number of ms after which the cost passes if nothing else comes: what is free only grows then."""
    refused, passed = 0, 1
    while not passes(limit, admitted, t + passed, cost):
        refused, passed = passed, 2 * passed
        assert passed < 1000 * HOUR, "a cost that can never fit"
    while passed - refused > 1:
        middle = (refused + passed) // 2
        if passes(limit, admitted, t + middle, cost):
            passed = middle
        else:
            refused = middle
    return passed


def main():
    admitted = collections.defaultdict(list)
    by_policy = {policy.id: {"allowed": 0, "queued": 0, "denied": 0} for policy in POLICIES}
    by_tier = {}
    denied_clients = collections.Counter()
    refusals = collections.Counter()
    binding = collections.Counter()
    last = 0

    with gzip.open(REQUESTS, "rt", encoding="utf-8") as lines:
        for line in lines:
            event = json.loads(line)
            t, cost = event["timestamp"], event["cost"]
            assert t >= last, "the trace is sorted by time"
            last = t

            # One policy a layer, the layers in alphabetical order.
            matching = sorted((p for p in POLICIES if p.matches(event)), key=lambda p: p.layer)
            assert len({p.layer for p in matching}) == len(matching) > 0
            asked = [(p, limit, admitted[p.id, p.key(event)]) for p in matching for limit in p.limits]

            refused = [(p, limit, a) for p, limit, a in asked if not passes(limit, a, t, cost)]
            if refused:
                outcome = "denied"
                for p, limit, _ in refused:
                    refusals[p.id, limit.name] += 1
                # max and min keep the first of equals, which is the order of layers and limits
                policy, limit, _ = max(refused, key=lambda r: retry_after_ms(r[1], r[2], t, cost))
                binding[policy.id, limit.name] += 1
                denied_clients[event["client"]] += 1
            else:
                shaping = [p for p in matching if p.shaped]
                outcome = "queued" if shaping else "allowed"
                for p in matching:
                    admitted[p.id, p.key(event)].append((t, cost))
                remaining = [(limit.free(a, t), p) for p, limit, a in asked]
                bounded = [(free, p) for free, p in remaining if free is not None]
                policy = min(bounded, key=lambda r: r[0])[1] if bounded else matching[0]
                policy = shaping[0] if shaping else policy

            by_policy[policy.id][outcome] += 1
            by_tier.setdefault(event["tier"], {"allowed": 0, "queued": 0, "denied": 0})[outcome] += 1

    allowed = sum(count["allowed"] for count in by_policy.values())
    queued = sum(count["queued"] for count in by_policy.values())
    denied = sum(count["denied"] for count in by_policy.values())
    requests = allowed + queued + denied
    expected = {
        "requests": requests,
        "allowed": allowed,
        "queued": queued,
        "denied": denied,
        "byPolicy": by_policy,
        "byTier": dict(sorted(by_tier.items())),
        "topLimited": sorted(denied_clients.items(), key=lambda item: (-item[1], item[0]))[:10],
    }
    EXPECTED.parent.mkdir(parents=True, exist_ok=True)
    EXPECTED.write_text(json.dumps(expected, indent=2) + "\n", encoding="utf-8")

    print(f"{requests} requests, {queued} queued, {denied} denied ({100 * denied / requests:.1f} %)")
    print("the limit that refused, and that was the binding one:")
    for policy in POLICIES:
        for limit in policy.limits:
            name = (policy.id, limit.name)
            print(f"  {policy.id:12} {limit.name:24} {refusals[name]:6} {binding[name]:6}")


if __name__ == "__main__":
    main()
