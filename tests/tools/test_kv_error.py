"""examples/kv_error on K and V of a file: what it takes, what it makes of it, what it refuses."""

import json
import os
import random
import struct
import subprocess
import unittest

from command import CommandTest, ROOT

PROGRAM = os.environ.get("HEDDLE_KV_ERROR", ROOT / "build/release/examples/kv_error/heddle_kv_error")
CONFIG = ROOT / "examples/models/llama-3-8b-awq/config.json"
HEADS, KV_HEADS, HEAD_DIM = 32, 8, 128
TOKENS = 6


def floats(values):
    return struct.pack(f"<{len(values)}f", *values)


def cache_rows(seed, tokens=TOKENS):
    """Whole numbers from -7 to 7, both ends in every row."""
    numbers = random.Random(seed)
    rows = [[-7, 7] + [numbers.randint(-7, 7) for _ in range(HEAD_DIM - 2)]
            for _ in range(tokens * KV_HEADS)]
    return [float(value) for row in rows for value in row]


class KvErrorTest(CommandTest):

    def write(self, **tensors):
        """name=(dtype, shape, bytes)"""
        header, data = {}, b""
        for name, (dtype, shape, content) in tensors.items():
            header[name] = {"dtype": dtype, "shape": shape,
                            "data_offsets": [len(data), len(data) + len(content)]}
            data += content
        text = json.dumps(header).encode()
        path = self.folder / "kv.safetensors"
        path.write_bytes(struct.pack("<Q", len(text)) + text + data)
        return path

    def cached(self, seed, tokens=TOKENS):
        return "F32", [tokens, KV_HEADS, HEAD_DIM], floats(cache_rows(seed, tokens))

    def run_it(self, *arguments, check=0):
        done = subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True,
                              timeout=300)
        self.assertEqual(done.returncode, check, done.stderr)
        return done

    def errors(self, *arguments):
        """By cache: errors with K, V and both quantised, and the last line."""
        lines = self.run_it(CONFIG, *arguments).stdout.splitlines()
        rows = {line[:44].strip(): [float(word) for word in line[44:].split()[2:]]
                for line in lines[1:-1]}
        return rows, lines[-1]

    def refused(self, why, *arguments, **tensors):
        if tensors:
            arguments = CONFIG, "--data", self.write(**tensors)
        done = self.run_it(*arguments, check=2)
        self.assertIn(why, done.stderr)
        self.assertEqual(done.stdout, "")

    def test_reads_what_it_is_given(self):
        errors, told = self.errors("--data", self.write(k=self.cached(1), v=self.cached(2)))
        self.assertIn(f"{TOKENS} tokens", told)
        both = {name: row[2] for name, row in errors.items()}
        # 4 bits hold these numbers exactly, 8 bits in steps of 7 / 127 do not.
        self.assertLess(both["int4 head"], 1e-6)
        self.assertGreater(both["int8 head"], 1e-6)
        self.assertLess(both["int8 head"], 0.05)
        self.assertGreater(both["int2 head"], 0.1)
        self.assertEqual(both["fp16"], 0)

    def test_takes_q_from_the_file(self):
        parts = {"k": self.cached(1), "v": self.cached(2)}
        zeros = "F16", [HEADS, HEAD_DIM], bytes(2 * HEADS * HEAD_DIM)
        without, _ = self.errors("--data", self.write(**parts))
        given, _ = self.errors("--data", self.write(**parts, q=zeros))
        # With a Q of zeros no error of K is seen.
        self.assertEqual({row[0] for row in given.values()}, {0})
        self.assertGreater(without["int2 head"][0], 0)
        self.assertGreater(given["int2 head"][1], 0)

    def test_16_bits(self):
        shape = [1, KV_HEADS, HEAD_DIM]
        one = struct.pack("<H", 0x3F80) * (KV_HEADS * HEAD_DIM)
        path = self.write(k=("BF16", shape, one), v=("BF16", shape, one))
        self.assertEqual(self.errors("--data", path)[0]["fp16"], [0, 0, 0])

    def test_synthetic_data_follow_the_seed(self):
        first, again, other = (self.errors("--tokens", 16, "--seed", seed)[0] for seed in (1, 1, 2))
        self.assertEqual(first, again)
        self.assertNotEqual(first, other)

    def test_refuses_what_does_not_fit(self):
        self.refused('there is no tensor "v"', k=self.cached(1))
        self.refused("have different shapes", k=self.cached(1), v=self.cached(2, 5))
        wrong = "F32", [TOKENS, HEAD_DIM, KV_HEADS], floats(cache_rows(1))
        self.refused("[tokens, 8, 128]", k=wrong, v=self.cached(2))
        whole = "I32", [1, KV_HEADS, HEAD_DIM], bytes(4 * KV_HEADS * HEAD_DIM)
        self.refused("F16, BF16 or F32", k=whole, v=whole)
        rows = cache_rows(1)
        rows[5] = float("nan")
        bad = "F32", [TOKENS, KV_HEADS, HEAD_DIM], floats(rows)
        self.refused("element 5 of \"k\" is not finite", k=bad, v=self.cached(2))
        q = "F32", [KV_HEADS, HEAD_DIM], bytes(4 * KV_HEADS * HEAD_DIM)
        self.refused("not [32, 128]", k=self.cached(1), v=self.cached(2), q=q)
        zeros = "F32", [TOKENS, KV_HEADS, HEAD_DIM], bytes(4 * TOKENS * KV_HEADS * HEAD_DIM)
        self.refused("zero everywhere", k=zeros, v=zeros)
        short = "F32", [TOKENS, KV_HEADS, HEAD_DIM], floats(cache_rows(1))[4:]
        self.refused(f'the tensor "v" needs {4 * TOKENS * KV_HEADS * HEAD_DIM} bytes',
                     k=self.cached(1), v=short)
        strange = "F32", "many", b""
        self.refused('the tensor "k" has no list of whole numbers as its "shape"', k=strange,
                     v=strange)
        self.refused('the tensor "k" is of no dtype; it has to be F16, BF16 or F32',
                     k=(7, *self.cached(1)[1:]), v=self.cached(2))

    def test_refuses_what_is_no_input(self):
        text = self.file("text", "no tensors")
        for why, *arguments in (("usage:",), ("cannot read", self.folder / "none"),
                                ("cannot read", CONFIG, "--data", self.folder / "none"),
                                ("no safetensors file", CONFIG, "--data", text),
                                ("leave one away", CONFIG, "--data", text, "--tokens", 5),
                                ("not a number from 1 to 65536", CONFIG, "--tokens", 0),
                                ("has no value", CONFIG, "--seed"), ("not known", CONFIG, "--x"),
                                ("--data is empty", CONFIG, "--data", ""),
                                ("is a folder", self.folder), (f"{text}: ", text)):
            with self.subTest(arguments):
                self.refused(why, *arguments)


if __name__ == "__main__":
    unittest.main()
