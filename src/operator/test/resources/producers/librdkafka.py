"""Writes records with librdkafka and leaves the choice of the partition to it.

Usage: librdkafka.py BOOTSTRAP_SERVERS TOPIC PARTITIONER
Reads one record a line from standard input: the key in base64, or "-" for none, a tab, and the value in base64.
Prints the partition of each record, in the order of the input.
"""

import base64
import sys

from confluent_kafka import Producer


def main(bootstrap_servers, topic, partitioner):
    producer = Producer(
        {
            "bootstrap.servers": bootstrap_servers,
            "partitioner": partitioner,
            "sticky.partitioning.linger.ms": 0,
            "enable.idempotence": True,
        }
    )
    partitions = {}
    failures = []

    def delivered(number):
        def record(error, message):
            if error:
                failures.append(str(error))
            else:
                partitions[number] = message.partition()

        return record

    count = 0
    for line in sys.stdin:
        key, value = line.rstrip("\n").split("\t")
        producer.produce(
            topic,
            value=base64.b64decode(value),
            key=None if key == "-" else base64.b64decode(key),
            on_delivery=delivered(count),
        )
        producer.poll(0)
        count += 1
    producer.flush(60)
    if failures or len(partitions) != count:
        sys.exit("not written: " + "; ".join(failures or ["timed out"]))
    for number in range(count):
        print(partitions[number])


if __name__ == "__main__":
    main(*sys.argv[1:])
