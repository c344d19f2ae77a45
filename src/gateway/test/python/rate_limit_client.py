"""Drives each field of Envoy's rate limit service. Prints the path of each field after its checks.

Usage: rate_limit_client.py PORT DIRECTORY, where the directory gets the compiled protos.
"""
import pathlib
import sys

import grpc
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from grpc_tools import protoc

SERVICE = "envoy.service.ratelimit.v3.RateLimitService"
PUBLIC_NAMES = {
    "Request": "envoy.service.ratelimit.v3.RateLimitRequest",
    "Response": "envoy.service.ratelimit.v3.RateLimitResponse",
    "Descriptor": "envoy.extensions.common.ratelimit.v3.RateLimitDescriptor",
    "Entry": "envoy.extensions.common.ratelimit.v3.RateLimitDescriptor.Entry",
    "Override": "envoy.extensions.common.ratelimit.v3.RateLimitDescriptor.RateLimitOverride",
    "Status": "envoy.service.ratelimit.v3.RateLimitResponse.DescriptorStatus",
    "Limit": "envoy.service.ratelimit.v3.RateLimitResponse.RateLimit",
    "Header": "envoy.config.core.v3.HeaderValue",
}
NOT_IN_WEIR = {"Response.quota", "Status.quota"}
REFLECTION_VERSIONS = ("v1", "v1alpha")
OK, OVER_LIMIT = 1, 2
HOUR, MONTH = 3, 5


def compiled(directory, file):
    """Returns the message classes of a proto file, by their full names."""
    here = pathlib.Path(__file__).parent
    out = pathlib.Path(directory, file + ".pb")
    include = pathlib.Path(protoc.__file__).parent / "_proto"
    code = protoc.main(["protoc", f"-I{here}", f"-I{include}", "--include_imports", f"--descriptor_set_out={out}", file])
    assert code == 0, file
    return classes(descriptor_pb2.FileDescriptorSet.FromString(out.read_bytes()).file)


def classes(files):
    pool = descriptor_pool.DescriptorPool()
    waiting = {file.name: file for file in files}
    while waiting:  # a file comes after those that it imports
        for name, file in list(waiting.items()):
            if not any(imported in waiting for imported in file.dependency):
                pool.Add(file)
                del waiting[name]
    factory = message_factory.MessageFactory(pool)
    found = {}

    def add(prefix, messages):
        for message in messages:
            name = f"{prefix}.{message.name}"
            found[name] = factory.GetPrototype(pool.FindMessageTypeByName(name))
            add(name, message.nested_type)

    for file in files:
        add(file.package, file.message_type)
    return found


def reflected(channel, directory, version):
    """Returns the names of the services and the message classes that the server describes.

    The messages of both versions of the reflection service are the same.
    """
    api = {name.split(".")[-1]: message for name, message in compiled(directory, "reflection.proto").items()}
    ask = channel.stream_stream(
        f"/grpc.reflection.{version}.ServerReflection/ServerReflectionInfo",
        request_serializer=lambda message: message.SerializeToString(),
        response_deserializer=api["ServerReflectionResponse"].FromString,
    )
    request = api["ServerReflectionRequest"]
    asked = [request(list_services="*"), request(file_containing_symbol=SERVICE)]
    services, file = list(ask(iter(asked)))
    files = [descriptor_pb2.FileDescriptorProto.FromString(f) for f in file.file_descriptor_response.file_descriptor_proto]
    return {one.name for one in services.list_services_response.service}, classes(files)


def check_reflection(channel, directory, client):
    for version in REFLECTION_VERSIONS:
        check_reflection_of(version, channel, directory, client)


def check_reflection_of(version, channel, directory, client):
    services, server = reflected(channel, directory, version)
    assert services == {
        SERVICE,
        "grpc.health.v1.Health",
        *(f"grpc.reflection.{known}.ServerReflection" for known in REFLECTION_VERSIONS),
    }, services
    for mine, public in PUBLIC_NAMES.items():
        theirs = server[public].DESCRIPTOR
        for field in client[mine].DESCRIPTOR.fields:
            if f"{mine}.{field.name}" in NOT_IN_WEIR:
                assert field.name not in theirs.fields_by_name
                continue
            other = theirs.fields_by_name[field.name]
            assert (other.number, other.type, other.label) == (field.number, field.type, field.label), field.name
            if field.enum_type:
                values = {value.name: value.number for value in field.enum_type.values}
                assert values == {value.name: value.number for value in other.enum_type.values}, field.name
        assert len(theirs.fields) == sum(
            f"{mine}.{field.name}" not in NOT_IN_WEIR for field in client[mine].DESCRIPTOR.fields
        ), public


class Client:
    def __init__(self, channel, messages):
        self.messages = messages
        self.call = channel.unary_unary(
            f"/{SERVICE}/ShouldRateLimit",
            request_serializer=lambda message: message.SerializeToString(),
            response_deserializer=messages["Response"].FromString,
        )

    def descriptor(self, *entries, hits=None, negative=False, limit=None):
        descriptor = self.messages["Descriptor"](is_negative_hits=negative)
        for key, value in entries:
            descriptor.entries.add(key=key, value=value)
        if hits is not None:
            descriptor.hits_addend.value = hits
        if limit is not None:
            descriptor.limit.requests_per_unit, descriptor.limit.unit = limit
        return descriptor

    def ask(self, domain, *descriptors, hits=0):
        request = self.messages["Request"](domain=domain, descriptors=descriptors, hits_addend=hits)
        return self.call(request, timeout=60)

    def ask_one(self, domain, *entries, hits=0, **keywords):
        return self.ask(domain, self.descriptor(*entries, **keywords), hits=hits)


def done(*fields):
    for field in fields:
        print("field", field, flush=True)


def headers(added):
    return {header.key: header.value for header in added}


def check_requests(client):
    address = ("remote_address", "10.1.0.1")
    for remaining in (2, 1, 0):
        response = client.ask_one("edge", address)
        assert response.overall_code == OK and response.statuses[0].limit_remaining == remaining, response
    assert client.ask_one("edge", address).overall_code == OVER_LIMIT
    assert client.ask_one("other", address).overall_code == OK
    done("domain")

    # Nested descriptors: the policy for both keys does not match one of them. A wildcard matches some values.
    nested = (("kind", "marketing"), ("number", "555"))
    assert client.ask_one("messaging", *nested).statuses[0].current_limit.name == "nested"
    assert client.ask_one("messaging", nested[0]).statuses[0].current_limit.name == ""
    assert client.ask_one("messaging", nested[0], ("other", "1")).statuses[0].current_limit.name == ""
    assert client.ask_one("messaging", ("kind", "sales"), nested[1]).statuses[0].current_limit.name == ""
    assert client.ask_one("messaging", ("path", "/search/a")).statuses[0].current_limit.name == "wildcard"
    assert client.ask_one("messaging", ("path", "/browse/a")).statuses[0].current_limit.name == ""
    done("descriptors[].entries[].key", "descriptors[].entries[].value", "descriptors[].entries")

    # The hits of the call, those of a descriptor, a peek and a refund. Each descriptor is decided on its own.
    user = ("user_id", "u1")
    assert client.ask_one("ai", user, hits=40).statuses[0].limit_remaining == 60
    assert client.ask_one("ai", user).statuses[0].limit_remaining == 59
    done("hits_addend")
    response = client.ask("ai", client.descriptor(user, hits=9), client.descriptor(("user_id", "u2")), hits=2)
    assert [status.limit_remaining for status in response.statuses] == [50, 98], response
    done("descriptors")
    for _ in range(3):
        assert client.ask_one("ai", user, hits=7).statuses[0].limit_remaining == 50 - 7
        assert client.ask("ai", client.descriptor(user, hits=7, negative=True)).statuses[0].limit_remaining == 50
    done("descriptors[].is_negative_hits")
    for _ in range(3):
        peek = client.ask("ai", client.descriptor(user, hits=0))
        assert peek.overall_code == OK and peek.statuses[0].limit_remaining == 50, peek
    assert client.ask_one("ai", user, hits=50).overall_code == OK
    peek = client.ask("ai", client.descriptor(user, hits=0))
    assert peek.overall_code == OVER_LIMIT and peek.statuses[0].limit_remaining == 0, peek
    done("descriptors[].hits_addend")
    try:
        client.ask("ai", client.descriptor(user, hits=2**63))
        raise AssertionError("too many hits are accepted")
    except grpc.RpcError as error:
        assert error.code() == grpc.StatusCode.INVALID_ARGUMENT, error
        assert "descriptors[0].hits_addend" in error.details(), error

    check_override(client)


def check_override(client):
    def ask(limit):
        return client.ask_one("plan", ("user_id", "planned"), limit=limit).statuses[0]

    # Usage is counted together, whatever the limits are. A limit with another unit than the policy's is ignored.
    assert ask((2, MONTH)).current_limit.requests_per_unit == 2
    assert (ask((2, MONTH)).code, ask((2, MONTH)).code) == (OK, OVER_LIMIT)
    raised = ask((100, MONTH))
    assert (raised.code, raised.current_limit.requests_per_unit, raised.limit_remaining) == (OK, 100, 97), raised
    assert (raised.current_limit.unit, raised.current_limit.name) == (MONTH, "per-plan")
    done("descriptors[].limit.requests_per_unit")
    ignored = ask((100, HOUR))
    assert (ignored.current_limit.requests_per_unit, ignored.limit_remaining) == (10, 6), ignored
    done("descriptors[].limit.unit")
    # A policy that does not allow it ignores the limit.
    response = client.ask_one("edge", ("remote_address", "10.1.0.2"), limit=(100, HOUR))
    limit = response.statuses[0].current_limit
    assert (limit.requests_per_unit, limit.unit) == (3, HOUR), response
    done("descriptors[].limit")


def check_responses(client):
    address = ("remote_address", "10.2.0.1")
    first = client.ask_one("edge", address)
    status = first.statuses[0]
    assert (status.current_limit.name, status.current_limit.requests_per_unit) == ("per-address", 3)
    assert status.current_limit.unit == HOUR
    done("statuses[].current_limit.name", "statuses[].current_limit.requests_per_unit", "statuses[].current_limit.unit")
    assert 3590 <= status.duration_until_reset.seconds <= 3600, status
    done("statuses[].duration_until_reset")
    client.ask_one("edge", address, hits=2)
    free = client.descriptor(("remote_address", "10.2.0.2"))
    mixed = client.ask("edge", free, client.descriptor(address), client.descriptor(("job", "1")))
    assert mixed.overall_code == OVER_LIMIT
    done("overall_code")
    assert [one.code for one in mixed.statuses] == [OK, OVER_LIMIT, OK]
    done("statuses", "statuses[].code")
    assert [one.limit_remaining for one in mixed.statuses] == [2, 0, 0]
    assert [one.HasField("current_limit") for one in mixed.statuses] == [True, True, False]
    done("statuses[].limit_remaining", "statuses[].current_limit")
    assert not mixed.HasField("quota") and not any(one.HasField("quota") for one in mixed.statuses)
    done("quota", "statuses[].quota")
    added = headers(mixed.response_headers_to_add)
    assert added["ratelimit-policy"] == '"per-address";q=3;w=3600', added
    assert added["ratelimit"].startswith('"per-address";r=0;t='), added
    assert 3590 <= int(added["retry-after"]) <= 3600, added
    done("response_headers_to_add")
    assert mixed.raw_body == b"slow down" and first.raw_body == b""
    done("raw_body")
    metadata = mixed.dynamic_metadata
    assert metadata["policy"] == "per-address" and metadata["version"] == 1 and metadata["domain"] == "edge"
    assert [one["reason"] for one in metadata["descriptors"]] == ["WITHIN_LIMITS", "LIMIT_EXCEEDED", "NO_POLICY"]
    done("dynamic_metadata")

    # Shadow mode, unlimited, and no decision in time
    for _ in range(3):
        shadow = client.ask_one("shadow", ("a", "1"))
        assert shadow.overall_code == OK
    assert not shadow.statuses[0].HasField("current_limit")
    assert shadow.dynamic_metadata["observed"] and shadow.dynamic_metadata["observed_by"] == "soft"
    assert client.ask_one("internal", ("ldap", "1")).statuses[0].limit_remaining == 2**32 - 1
    assert len(first.request_headers_to_add) == 0
    away = client.ask_one("away", ("a", "1"))
    assert away.overall_code == OK and not away.statuses[0].HasField("current_limit")
    assert headers(away.response_headers_to_add) == {"x-weir-fallback": "TIMED_OUT"}, away
    assert headers(away.request_headers_to_add) == {"x-weir-fallback": "TIMED_OUT"}, away
    assert away.dynamic_metadata["fallback"] == "TIMED_OUT"
    done("request_headers_to_add")


def main(port, directory):
    messages = {name.split(".")[-1]: message for name, message in compiled(directory, "client.proto").items()}
    with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
        check_reflection(channel, directory, messages)
        client = Client(channel, messages)
        check_requests(client)
        check_responses(client)
    print("all fields", flush=True)


main(sys.argv[1], sys.argv[2])
