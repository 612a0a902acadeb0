"""Layers that `heddle repack --tp` splits over two ranks, against the whole layers in FP64.

Each rank is a process (tensor_parallel_rank.py): with two GPUs it has one of them and NCCL sums;
on the host operators are those of reference_ops.py.
"""

import os
import pathlib
import subprocess
import sys

import pytest

torch = pytest.importorskip("torch", reason="needs PyTorch: tools/test --torch")
pytest.importorskip("transformers", reason="needs Transformers: tools/test --torch")

RANKS = 2
# Half of K of o_proj and down_proj ends inside a group of 128, half of q_proj inside a block.
SMALL = {"num_hidden_layers": 1, "hidden_size": 640, "intermediate_size": 640,
         "num_attention_heads": 10, "num_key_value_heads": 2, "head_dim": 64}
LARGE = {**SMALL, "hidden_size": 4096, "intermediate_size": 11136, "num_attention_heads": 16,
         "num_key_value_heads": 16, "head_dim": 136}
LAYER = "model.layers.0."
SPLIT_ALONG_K = (LAYER + "self_attn.o_proj", LAYER + "mlp.down_proj")


def heddle_command(*arguments):
    command = os.environ.get("HEDDLE_COMMAND")
    if command is None:
        pytest.skip("needs the command heddle; ctest names it in HEDDLE_COMMAND")
    return subprocess.run([command, *map(str, arguments)], capture_output=True, text=True,
                          check=False)


def split_checkpoint(folder, name, sizes):
    """The model, and what each rank has of its checkpoint."""
    import small_models

    model = small_models.plain("llama", attention_bias=True, mlp_bias=True, **sizes)
    small_models.write(model, folder / "model", name)
    keep = [f"--keep={layer}" for layer in SPLIT_ALONG_K if name == "gptq-act-order"]
    for rank in range(RANKS):
        done = heddle_command("repack", folder / "model", "--gated", "--activations", "16", *keep,
                              "--tp", f"{rank}/{RANKS}", "-o", folder / f"rank{rank}.safetensors")
        assert done.returncode == 0, done.stderr
    return model


def whole_layers(heddle, folder):
    """{layer that the ranks have: its modules}, and K of each."""
    options = {"gated": True, "activation_bits": 16}
    whole = heddle.CheckpointReader(folder / "model", **options).layers
    ranks = heddle.CheckpointReader(folder / "rank0.safetensors", rank=0, size=RANKS).layers
    names = {layer.name for layer in ranks}
    modules = {layer.name: [part.name for part in layer.parts] for layer in whole
               if layer.name in names}
    return modules, {layer.name: layer.spec.to_dict()["shape"]["k"] for layer in whole}


def run_ranks(folder, x, gpus, cache):
    """Y of each rank, for each of `x`."""
    torch.save(x, folder / "x.pt")
    environment = {**os.environ, "HEDDLE_CACHE": str(cache)}
    if not gpus:
        environment["CUDA_VISIBLE_DEVICES"] = ""
    program = pathlib.Path(__file__).with_name("tensor_parallel_rank.py")
    ranks = [subprocess.Popen([sys.executable, "-B", program, folder, str(rank), str(RANKS)],
                              env=environment, text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT) for rank in range(RANKS)]
    try:
        outputs = [rank.communicate(timeout=240)[0] for rank in ranks]
    finally:
        for rank in ranks:
            rank.kill()
    assert [rank.returncode for rank in ranks] == [0] * RANKS, "\n".join(outputs)
    print(outputs[0])
    return [torch.load(folder / f"y{rank}.pt") for rank in range(RANKS)]


def expected(model, modules, x, device):
    """Of a layer's modules, in FP64: Y of each, or silu(gate) * up of gate_up_proj."""
    made = []
    for module in map(model.get_submodule, modules):
        y = x.to(device).double() @ module.weight.to(device).double().T
        made.append(y + module.bias.half().to(device).double())
    if [module.rpartition(".")[2] for module in modules] == ["gate_proj", "up_proj"]:
        made = [torch.nn.functional.silu(made[0]) * made[1]]
    return [one.cpu() for one in made]


@torch.no_grad()
def check_rows(model, modules, x, ranks, device):
    assert set(ranks[0]) == set(modules)
    for name, found in modules.items():
        wanted = expected(model, found, x[name], device)
        if name in SPLIT_ALONG_K:
            assert torch.equal(ranks[0][name][0], ranks[1][name][0])
            parts = [ranks[0][name][0]]
        else:
            parts = [torch.cat(halves, 1) for halves in zip(*(y[name] for y in ranks),
                                                            strict=True)]
        for part, whole in zip(parts, wanted, strict=True):
            error = float((part.double() - whole).abs().max() / whole.abs().max())
            print(f"{name}, {len(part)} rows: {error:.1e}")
            assert torch.isfinite(part).all()
            assert error < 4e-3, name


def check(heddle, model, folder, rows, gpus, cache):
    modules, k = whole_layers(heddle, folder)
    torch.manual_seed(3)
    x = [{name: torch.randn(m, k[name]).half() for name in modules} for m in rows]
    answers = run_ranks(folder, x, gpus, cache)
    for one, *ranks in zip(x, *answers, strict=True):
        check_rows(model, modules, one, ranks, "cuda:0" if gpus else "cpu")


@pytest.mark.parametrize("name", ["gptq", "fp8", "gptq-act-order"])
def test_ranks_on_the_host(heddle, tmp_path, name):
    model = split_checkpoint(tmp_path, name, SMALL)
    check(heddle, model, tmp_path, [1, 5], False, tmp_path / "cache")


@pytest.mark.parametrize("sizes", [SMALL, LARGE], ids=["small", "large"])
@pytest.mark.parametrize("name", ["gptq", "fp8", "gptq-act-order"])
def test_ranks_on_two_gpus(heddle, tmp_path, tmp_path_factory, name, sizes):
    if torch.cuda.device_count() < RANKS:
        pytest.skip(f"needs two GPUs, and there are {torch.cuda.device_count()}")
    model = split_checkpoint(tmp_path, name, sizes)
    if name == "gptq" and sizes is LARGE:
        (tmp_path / "time").touch()
    kernels = tmp_path_factory.getbasetemp() / "kernels"  # those of formats are partly alike
    check(heddle, model, tmp_path, [1, 7, 64, 300], True, kernels)


def test_half_of_k_ends_inside_a_group(heddle, tmp_path):
    split_checkpoint(tmp_path, "gptq", SMALL)
    second = heddle.CheckpointReader(tmp_path / "rank1.safetensors", rank=1, size=RANKS)
    for name in SPLIT_ALONG_K:
        weight = second.layer(name).spec.to_dict()["weight"]
        assert (weight["group_size"], weight["group_offset"]) == (128, 64)


def test_act_order_along_k_is_refused_by_name(tmp_path):
    import small_models

    small_models.write(small_models.plain("llama", **SMALL), tmp_path / "model", "gptq-act-order")
    done = heddle_command("repack", tmp_path / "model", "--tp", "0/2", "-o",
                          tmp_path / "rank0.safetensors")
    assert done.returncode == 1
    assert "it has act-order" in done.stderr
    assert SPLIT_ALONG_K[0] in done.stderr
