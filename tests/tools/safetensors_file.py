"""Reads and writes safetensors files with the standard library."""

import json
import pathlib
import struct


def load(path):
    """Metadata, and {name: (dtype, shape, bytes)}."""
    content = pathlib.Path(path).read_bytes()
    length, = struct.unpack("<Q", content[:8])
    header = json.loads(content[8:8 + length])
    metadata = header.pop("__metadata__", {})
    data = content[8 + length:]
    return metadata, {name: (t["dtype"], t["shape"], data[slice(*t["data_offsets"])])
                      for name, t in header.items()}


def save(path, tensors, metadata=None):
    """`tensors` is {name: (dtype, shape, bytes)}."""
    header, data = {"__metadata__": metadata} if metadata else {}, b""
    for name, (dtype, shape, content) in tensors.items():
        header[name] = {"dtype": dtype, "shape": list(shape),
                        "data_offsets": [len(data), len(data) + len(content)]}
        data += content
    text = json.dumps(header).encode()
    pathlib.Path(path).write_bytes(struct.pack("<Q", len(text)) + text + data)
