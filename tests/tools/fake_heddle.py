#!/usr/bin/env python3
"""Stands in for `heddle bench - --json` where there is no GPU: times that the tests can foretell.

FAKE_HEDDLE is JSON: {"times": kernel time over floor, "cublas": whether there is one,
"spike": {M: times more}, "fail": exit code, "fail_n": of which N only,
"choice_us": of experts by logits, "skewed": times more of a skewed choice, "no_gpu": whether there is none,
"device": its name, "document": what any bench prints instead}. Of a sweep "times" is the choice over the fastest.
"""

import json
import os
import sys

RATE = 4.5  # TB/s
LAUNCH_US = 1.5
TFLOPS = 790


def bytes_of(spec, m):
    n, k, weight = spec["shape"]["n"], spec["shape"]["k"], spec["weight"]
    return n * k * (weight["bits"] / 8 + 2 / weight.get("group_size", k)) + 2 * m * (n + k)


def floor_us(spec, m):
    n, k = spec["shape"]["n"], spec["shape"]["k"]
    return max(LAUNCH_US + bytes_of(spec, m) / RATE * 1e-6, 2 * m * n * k / TFLOPS * 1e-6)


def sm_mhz(arguments):
    return 1980 if float(arguments[arguments.index("--rest") + 1]) else 1755.4


def attention_report(wanted, spec, loads, mhz):
    """Two bytes a token and head of the cache for INT8, in proportion to the bits of a code."""
    bits = {"int4": 4, "fp16": 16, "bf16": 16}.get(spec["kv"]["dtype"], 8)
    rows = []
    for load in loads:
        sequences, lengths = load.split("x")
        length = int(lengths.split("-")[-1])
        moved = int(sequences) * length * 2 * spec["shape"]["kv_heads"] * 128 * bits / 8
        floor = LAUNCH_US + moved / RATE * 1e-6
        rows.append({"sequences": int(sequences), "length": length, "floor_us": floor,
                     "us": floor * wanted["times"] * wanted.get("slow", {}).get(load, 1),
                     "sm_mhz": mhz})
    return {"device": "fake", "read_tb_per_s": RATE, "benches": rows}


def append_report(wanted):
    rows = [{"sequences": sequences, "tokens": tokens, "us": stream * wanted["times"],
             "stream_us": stream} for sequences, tokens, stream in ((1, 8192, 13.0), (64, 64, 2.5))]
    return {"device": "fake", "benches": rows}


def rows_report(wanted, m_list):
    rows = [{"m": m, "us": 2.0 * m * wanted["times"] * wanted.get("spike", {}).get(str(m), 1),
             "stream_us": 1.0 * m, "floor_us": 2.0 * m} for m in m_list]
    return {"device": "fake", "read_tb_per_s": RATE, "benches": rows}


def experts_report(wanted, spec, m_list, skewed):
    more = wanted.get("choice_us", 0) if "routing" in spec else 0
    times = wanted["times"] * (wanted.get("skewed", 1) if skewed else 1)
    rows = [{"m": m, "experts_hit": 4.0, "floor_us": 10.0,
             "us": 10.0 * times * wanted.get("spike", {}).get(str(m), 1) + more}
            for m in m_list]
    return {"device": wanted.get("device", "fake"), "read_tb_per_s": RATE, "benches": rows}


def weights_report(wanted):
    return {"device": "fake", "benches": [{"us": 40 * wanted["times"], "stream_us": 40.0}]}


def sweep_report(wanted, spec, m):
    """Two candidates: the planner has chosen the second, the first is predicted to be the fastest
    unless `wrong` is wanted."""
    best = floor_us(spec, m)
    wrong = wanted.get("wrong", False)
    rows = [{"us": us, "predicted_us": 1 + (is_chosen != wrong), "times_floor": us / best,
             "family": family}
            for us, is_chosen, family in ((best, False, "tiles"),
                                          (best * wanted["times"], True, "stream"))]
    return {"device": "fake", "sweeps": [{"m": m, "read_tb_per_s": RATE, "candidates": len(rows),
                                          "times_best": wanted["times"], "chosen": rows[1],
                                          "rows": rows}]}


def n_of(specs):
    return specs["shape"].get("n") if isinstance(specs, dict) else None


def main(arguments):
    wanted = json.loads(os.environ["FAKE_HEDDLE"])
    if arguments == ["targets", "--device"]:
        return 1 if wanted.get("no_gpu") else 0
    if arguments == ["--version"]:
        print("heddle 0.1.0")
        return 0
    if arguments[0] == "inspect":
        print(json.dumps({"kernels": [{"compiler": "nvrtc 13.0 abc builtins def"}]}))
        return 0
    if "document" in wanted:
        assert arguments[0] == "bench" and "--json" in arguments, arguments
        print(json.dumps(wanted["document"]))
        return wanted.get("fail", 0)
    assert arguments[:3] == ["bench", "-", "--json"], arguments
    specs = json.load(sys.stdin)
    if "fail" in wanted and wanted.get("fail_n") in (None, n_of(specs)):
        print("heddle: something is wrong", file=sys.stderr)
        return wanted["fail"]
    if "--sweep" in arguments:
        m = int(arguments[arguments.index("--m") + 1])
        print(json.dumps(sweep_report(wanted, specs, m)))
        return 0
    given = dict(zip(arguments, arguments[1:]))
    m_list = [int(m) for m in given["--m"].split(",")] if "--m" in given else []
    if isinstance(specs, dict):
        if specs["op"] == "decode_attention":
            report = attention_report(wanted, specs, given["--loads"].split(","), sm_mhz(arguments))
        elif specs["op"] == "kv_append":
            report = append_report(wanted)
        elif specs["op"] == "moe":
            report = experts_report(wanted, specs, m_list, "--skewed" in arguments)
        else:
            report = rows_report(wanted, m_list) if m_list else weights_report(wanted)
        print(json.dumps(report))
        return 0
    rows = []
    for i, spec in enumerate(specs):
        for m in m_list:
            floor = floor_us(spec, m)
            us = floor * wanted["times"] * wanted.get("spike", {}).get(str(m), 1)
            older = spec.get("path") == "ampere"
            row = {"spec": i, "m": m, "family": "tiles" if older else "warpgroup",
                   "us": us * (1.3 if older else 1), "floor_us": floor,
                   "sm_mhz": sm_mhz(arguments)}
            if "--baseline" in arguments and wanted.get("cublas", True):
                row["cublas_us"] = 2 * floor
            rows.append(row)
    report = {"device": wanted.get("device", "fake"), "read_tb_per_s": RATE,
              "floor_launch_us": LAUNCH_US, "floor_tflops": TFLOPS, "benches": rows}
    if "--chain" in arguments:
        stream_us = [sum(bytes_of(spec, m) for spec in specs) / RATE * 1e-6 for m in m_list]
        report["chain"] = [{"m": m, "us": wanted["times"] * us, "stream_us": us}
                           for m, us in zip(m_list, stream_us)]
    print(json.dumps(report))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
