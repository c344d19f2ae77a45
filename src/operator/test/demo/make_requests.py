#!/usr/bin/env python3
"""Turns the NASA-KSC web log of 1 August 1995 into the demo's request events.

usage: make_requests.py nasa_19950801.tsv.gz [requests.ndjson.gz]

One line of the log becomes one line of NDJSON, in the same order. The same input gives the same events.
"""

import gzip
import json
import pathlib
import sys

RESOURCE = pathlib.Path(__file__).parents[2] / "main" / "resources" / "demo" / "requests.ndjson.gz"
LONGEST = 256
TIERS = {"gov": "staff", "mil": "staff", "edu": "academic", "com": "commercial"}


def tier(host):
    _, dot, suffix = host.rpartition(".")
    return TIERS.get(suffix, "free") if dot else "free"


def request(number, row):
    event = {
        "requestId": f"n{number}",
        "client": row["host"][:LONGEST],
        "timestamp": int(row["time"]) * 1000,
        "tier": tier(row["host"]),
        "cost": 1,
    }
    if row["bytes"] not in ("", "-"):
        event["sizeBytes"] = int(row["bytes"])
    event["attributes"] = {"endpoint": row["url"][:LONGEST], "method": row["method"]}
    return event


def main(source, target=RESOURCE):
    with gzip.open(source, "rt", encoding="latin-1", newline="\n") as lines:
        names = next(lines).rstrip("\n").split("\t")
        rows = [dict(zip(names, line.rstrip("\n").split("\t"))) for line in lines]
    events = [request(number, row) for number, row in enumerate(rows, start=1)]
    text = "".join(json.dumps(event, ensure_ascii=False, separators=(",", ":")) + "\n" for event in events)
    with open(target, "wb") as file, gzip.GzipFile("", "wb", 9, file, mtime=0) as packed:
        packed.write(text.encode("utf-8"))
    print(f"{len(events)} requests in {target}")


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    main(*sys.argv[1:])
