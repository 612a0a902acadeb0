"""One rank of a model that is split over several: a process that test_tensor_parallel.py starts.

usage: tensor_parallel_rank.py FOLDER RANK SIZE

FOLDER has rank0.safetensors ..., as `heddle repack --tp` writes them, and x.pt: [{layer: X}].
Writes y<RANK>.pt: [{layer: its Y, or the sum of all ranks' where the layer is split along K}].
With a GPU for each rank NCCL sums, and the same work is replayed from a graph; without, Gloo sums
on the host.
"""

import pathlib
import sys

import heddle
import heddle.torch as ht
import torch
import torch.distributed as dist

SUMS = 32  # of a graph that is timed


class Rank:
    def __init__(self, folder, rank, size):
        self.folder, self.rank = folder, rank
        self.on_gpu = torch.cuda.device_count() >= size
        self.device = torch.device("cuda", rank) if self.on_gpu else torch.device("cpu")
        if self.on_gpu:
            torch.cuda.set_device(self.device)
            ht.set_runtime(heddle.Runtime())
        dist.init_process_group("nccl" if self.on_gpu else "gloo", rank=rank, world_size=size,
                                init_method=f"file://{folder}/meeting")
        reader = heddle.CheckpointReader(folder / f"rank{rank}.safetensors", rank=rank, size=size)
        self.layers = {layer.name: ht.Linear.from_checkpoint(reader, layer, self.device)
                       for layer in reader.layers}

    def compute(self, x):
        """Y of each layer: its rows or, of a layer that is split along K, the sum."""
        made = {}
        for name, whole in x.items():
            layer = self.layers[name]
            k = layer.in_features
            if k == whole.shape[1]:
                y = layer(whole)
                made[name] = y if isinstance(y, tuple) else (y,)
                continue
            y = layer(whole[:, self.rank * k:(self.rank + 1) * k])
            dist.all_reduce(y)
            made[name] = (y,)
        return made

    def replayed(self, x):
        """The same, from a graph that was captured with other X."""
        inputs = {name: torch.zeros_like(one) for name, one in x.items()}
        self.compute(inputs)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, capture_error_mode="thread_local"):
            made = self.compute(inputs)
        for name, one in x.items():
            inputs[name].copy_(one)
        for _ in range(3):
            graph.replay()
        torch.cuda.synchronize()
        return made

    def microseconds(self, layer, rows, sums):
        """Of a launch of the layer in a graph, and of the sum behind it."""
        x = torch.zeros(rows, layer.in_features, dtype=layer.dtype, device=self.device)

        def work():
            for _ in range(SUMS):
                y = layer(x)
                if sums:
                    dist.all_reduce(y)

        work()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, capture_error_mode="thread_local"):
            work()
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        times = []
        for _ in range(20):
            dist.barrier()
            begin.record()
            graph.replay()
            end.record()
            end.synchronize()
            times.append(begin.elapsed_time(end) * 1e3 / SUMS)
        return sorted(times)[len(times) // 2]

    def time_sums(self, layer):
        for rows in (1, 2, 4, 8, 16, 32, 64):
            alone, both = (self.microseconds(layer, rows, sums) for sums in (False, True))
            if self.rank == 0:
                kib = rows * layer.out_features * 2 / 1024
                print(f"all-reduce of {kib:.0f} KB: {both - alone:.1f} us on top of a launch's"
                      f" {alone:.1f}", flush=True)


def main(folder, rank, size):
    own = Rank(folder, rank, size)
    if not own.on_gpu:
        import reference_ops

        operators = reference_ops.install()
    answers = []
    with torch.no_grad():
        for given in torch.load(folder / "x.pt"):
            x = {name: one.to(own.device) for name, one in given.items()}
            y = own.compute(x)
            answers.append({name: [part.cpu() for part in parts] for name, parts in y.items()})
            if not own.on_gpu:
                continue
            for name, parts in own.replayed(x).items():
                for one, other in zip(parts, y[name], strict=True):
                    assert torch.equal(one, other), f"{name} is another from a graph"
        if (folder / "time").exists():
            own.time_sums(own.layers["model.layers.0.self_attn.o_proj"])
    torch.save(answers, folder / f"y{rank}.pt")
    dist.destroy_process_group()
    if not own.on_gpu:
        del operators


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
