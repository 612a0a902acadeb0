"""heddle.torch on a real GPU: graphs, torch.compile, streams. Skipped where there is none."""

import pytest

torch = pytest.importorskip("torch", reason="needs PyTorch: tools/test --torch")

from gpu_layers import K, N, close, norm_spec, plain  # noqa: E402


@pytest.fixture
def ht(gpu_torch):
    return gpu_torch


class Block(torch.nn.Module):
    """The MLP of a decoder layer, whose residual the norm replaces."""

    def __init__(self, ht):
        super().__init__()
        self.norm = norm_spec(ht, residual=True)
        self.weight = torch.rand(K, device="cuda").half() + 0.5
        self.gate_up = ht.Linear.quantized(
            [plain(N), plain(N)], epilogue={"gated": True, "activation": "silu"})
        self.down = ht.Linear.quantized(plain(K, N))

    def forward(self, x, residual):
        import heddle.torch as ht

        h = ht.row_transform(x, self.norm, residual, self.weight)
        return self.down(self.gate_up(h)), residual


@pytest.mark.parametrize("mode", ["default", "reduce-overhead"])
def test_torch_compile_has_no_graph_break(ht, mode):
    block = Block(ht)
    compiled = torch.compile(block, fullgraph=True, mode=mode)
    for _ in range(4):
        x, residual = (torch.randn(4, K, device="cuda").half() for _ in range(2))
        wanted = block(x, residual.clone())
        found = compiled(x, residual.clone())
        for y, expected in zip(found, wanted, strict=True):
            close(y, expected, 2e-3)


def test_graphs_of_torch_compile(ht):
    """Of a function that writes into none of its arguments, which PyTorch leaves out of graphs. The
    second layer is long and narrow, so that blocks share its K and need a workspace."""
    layers = torch.nn.Sequential(
        ht.Linear.quantized([plain(8192), plain(8192)],
                            epilogue={"gated": True, "activation": "silu"}),
        ht.Linear.quantized(plain(64, 8192)))
    compiled = torch.compile(layers, fullgraph=True, mode="reduce-overhead")
    for i in range(6):
        x = torch.randn(2, K, device="cuda").half()
        torch.compiler.cudagraph_mark_step_begin()
        with torch.no_grad():
            y = compiled(x).clone()
            assert torch.equal(y, layers(x)), i


def test_compiled_for_any_number_of_rows(ht):
    block = Block(ht)
    compiled = torch.compile(block, fullgraph=True, dynamic=True)
    for rows in (2, 5, 33, 200):
        x, residual = (torch.randn(rows, K, device="cuda").half() for _ in range(2))
        close(compiled(x, residual.clone())[0], block(x, residual.clone())[0], 2e-3)


def test_a_graph_replays_with_other_inputs(ht):
    block = Block(ht)
    x, residual = (torch.randn(4, K, device="cuda").half() for _ in range(2))
    block(x, residual.clone())
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y, _ = block(x, residual)
    for _ in range(3):
        x.normal_()
        residual.normal_()
        expected, _ = block(x, residual.clone())
        graph.replay()
        assert torch.equal(y, expected)


def test_a_capture_without_a_warm_up_is_refused(heddle, ht):
    layer = ht.Linear.quantized(plain(264, K))
    x = torch.randn(1, K, device="cuda").half()
    graph = torch.cuda.CUDAGraph()
    with pytest.raises(heddle.MissingError), torch.cuda.graph(graph):
        layer(x)
    torch.cuda.synchronize()
    ht.prepare([layer.spec])
    close(layer(x), layer(x))


def test_each_stream_has_its_workspace(ht):
    from heddle.torch._workspace import WorkspacePool, current_stream

    pool = WorkspacePool()
    streams = [torch.cuda.Stream() for _ in range(2)]
    taken = []
    for stream in (*streams, streams[0]):
        with torch.cuda.stream(stream):
            taken.append(pool.get(0, current_stream(0), 1000))
    assert taken[0] is taken[2]
    assert taken[0].data_ptr() != taken[1].data_ptr()
    assert not any(bool(t.any()) for t in taken)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        captured = pool.get(0, current_stream(0), 1000)
    assert captured.data_ptr() not in {t.data_ptr() for t in taken}


def test_streams_that_overlap_give_the_same(ht):
    layer = ht.Linear.quantized(plain(64, 16384), {"bits": 4})
    x = torch.randn(1, 16384, device="cuda").half()
    expected = layer(x)
    streams = [torch.cuda.Stream() for _ in range(4)]
    torch.cuda.synchronize()
    made = []
    for _ in range(20):
        for stream in streams:
            with torch.cuda.stream(stream):
                made.append(layer(x))
    torch.cuda.synchronize()
    assert all(torch.equal(y, expected) for y in made)
