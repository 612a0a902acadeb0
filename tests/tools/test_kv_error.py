"""heddle kv-error on K and V of a file: what it takes, what it makes of it, what it refuses."""

import json
import random
import struct
import unittest

from command import CommandTest, ROOT

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

    def refused(self, why, **tensors):
        done = self.heddle("kv-error", CONFIG, "--data", self.write(**tensors), check=2)
        self.assertIn(why, done.err)
        self.assertEqual(done.out, "")

    def test_reads_what_it_is_given(self):
        path = self.write(k=self.cached(1), v=self.cached(2))
        report = self.heddle_json("kv-error", CONFIG, "--data", path)
        self.assertEqual(report["data"], str(path))
        self.assertEqual(report["tokens"], TOKENS)
        errors = {cache["cache"]: cache["error"] for cache in report["caches"]}
        # 4 bits hold these numbers exactly, 8 bits in steps of 7 / 127 do not.
        self.assertLess(errors["int4 head"], 1e-6)
        self.assertGreater(errors["int8 head"], 1e-6)
        self.assertLess(errors["int8 head"], 0.05)
        self.assertGreater(errors["int2 head"], 0.1)
        self.assertEqual(errors["fp16"], 0)

    def test_takes_q_from_the_file(self):
        parts = {"k": self.cached(1), "v": self.cached(2)}
        zeros = "F16", [HEADS, HEAD_DIM], bytes(2 * HEADS * HEAD_DIM)
        without = self.heddle_json("kv-error", CONFIG, "--data", self.write(**parts))
        given = self.heddle_json("kv-error", CONFIG, "--data", self.write(**parts, q=zeros))
        # Of a Q of zeros no error of K is seen.
        for cache, other in zip(given["caches"], without["caches"]):
            self.assertEqual(cache["k_error"], 0, cache["cache"])
            if cache["cache"] == "int2 head":
                self.assertGreater(other["k_error"], 0)
                self.assertGreater(cache["v_error"], 0)

    def test_16_bits(self):
        shape = [1, KV_HEADS, HEAD_DIM]
        one = struct.pack("<H", 0x3F80) * (KV_HEADS * HEAD_DIM)
        report = self.heddle_json("kv-error", CONFIG, "--data",
                                  self.write(k=("BF16", shape, one), v=("BF16", shape, one)))
        self.assertEqual(report["tokens"], 1)
        self.assertEqual({cache["error"] for cache in report["caches"]
                          if cache["cache"].startswith("fp16")}, {0})

    def test_refuses_what_does_not_fit(self):
        self.refused('there is no tensor "v"', k=self.cached(1))
        self.refused("different numbers of tokens", k=self.cached(1), v=self.cached(2, 5))
        wrong = "F32", [TOKENS, HEAD_DIM, KV_HEADS], floats(cache_rows(1))
        self.refused("[tokens, 8, 128]", k=wrong, v=self.cached(2))
        whole = "I32", [1, KV_HEADS, HEAD_DIM], bytes(4 * KV_HEADS * HEAD_DIM)
        self.refused("F16, BF16 or F32", k=whole, v=whole)
        rows = cache_rows(1)
        rows[5] = float("nan")
        bad = "F32", [TOKENS, KV_HEADS, HEAD_DIM], floats(rows)
        self.refused("element 5 of \"k\" is not finite", k=bad, v=self.cached(2))
        q = "F32", [KV_HEADS, HEAD_DIM], bytes(4 * KV_HEADS * HEAD_DIM)
        self.refused("the model's is [32, 128]", k=self.cached(1), v=self.cached(2), q=q)

    def test_refuses_files_that_are_none(self):
        self.heddle("kv-error", CONFIG, "--data", self.folder / "none", check=2)
        path = self.folder / "text"
        path.write_text("no tensors")
        self.heddle("kv-error", CONFIG, "--data", path, check=2)
        self.heddle("kv-error", CONFIG, "--data", path, "--tokens", 5, check=2)


if __name__ == "__main__":
    unittest.main()
