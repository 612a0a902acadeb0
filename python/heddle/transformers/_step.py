"""One token of every sequence of a batch, as a CUDA graph."""

from __future__ import annotations

import functools
import operator
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import torch

from ._decoder import CACHE
from ._experts import routed_spec
from ._modules import watchers

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from ._cache import HeddleCache


@functools.cache
def _capture_stream(device: torch.device) -> torch.cuda.Stream:
    """The stream of all captures on a device, which share its workspace.

    PyTorch's own default is a stream of the device that captured first.
    """
    return torch.cuda.Stream(device)


class Step:
    """A cache, the tokens that were made, and the graphs that make the next ones.

    begin() reads a prompt, advance() makes one token more of each sequence, without waiting for
    the GPU. One thread at a time, on one stream; the cache's device is the current one, as
    on_device() makes it.
    """

    def __init__(self, model: Any, cache: HeddleCache) -> None:
        self.model = model
        self.cache = cache
        batch, device = cache.batch, cache.lengths.device

        def zeros(*shape: int, dtype: torch.dtype = torch.int64) -> torch.Tensor:
            return torch.zeros(shape, dtype=dtype, device=device)

        self.columns = zeros(batch, cache.capacity + 1)
        """The tokens: [sequences, columns], the prompt first."""
        self.column = zeros(1)
        """Of the next token."""
        self.next = zeros(batch, 1)
        self.ended = zeros(batch, dtype=torch.bool)
        self.eos: torch.Tensor | None = None
        self.pad = zeros(1)
        self.logits: torch.Tensor | None = None
        self.count = 0
        """Columns that have tokens, as the host counts them."""
        self.graphs: dict[tuple[bool, tuple[int, ...]], Callable[[], None]] = {}
        self._held: list[torch.Tensor | None] = []  # what graphs read
        on_gpu = device.type == "cuda"
        self._flag = torch.zeros(1, dtype=torch.bool, pin_memory=on_gpu)
        self._event = torch.cuda.Event() if on_gpu else None
        self._captured_with: tuple[list[Any], list[Any]] = ([], [])
        """What _launched() said when the graphs were captured."""
        self._asked = False

    def on_device(self) -> AbstractContextManager[Any]:
        """Makes the cache's GPU the current one: streams and events are those of the current."""
        device = self.cache.lengths.device
        return torch.cuda.device(device) if device.type == "cuda" else nullcontext()

    @torch.no_grad()
    def begin(
        self,
        prompt: torch.Tensor,
        mask: torch.Tensor | None,
        positions: torch.Tensor | None,
        embeddings: torch.Tensor | None,
        processors: Any,
        *,
        sample: bool,
        eos: torch.Tensor | None,
        pad: int,
    ) -> None:
        """Reads a prompt [sequences, columns], and makes the first token behind it."""
        self.processors, self.sample = processors, sample
        self.eos = eos
        self.pad.fill_(pad)
        eos_ids = () if eos is None else tuple(eos.flatten().tolist())
        # What a graph alone can do: no host code between the logits and the token.
        whole = not sample and not processors
        self._forget_replaced()
        self._replay = self._graph(whole, eos_ids)
        self._whole = whole
        self.cache.reset()
        self.ended.zero_()
        self._asked = False
        self._flag.zero_()
        self.start = prompt.shape[1]
        self.columns[:, : self.start] = prompt
        self.count = self.start
        self.column.fill_(self.start)
        given = {"input_ids": prompt} if embeddings is None else {"inputs_embeds": embeddings}
        logits = self.model(
            **given, **{CACHE: self.cache}, attention_mask=mask, position_ids=positions,
            use_cache=True, logits_to_keep=1, return_dict=True,
        ).logits[:, -1]  # fmt: skip
        self._take(self._choose(logits))
        self.count += 1
        self._ask()

    @torch.no_grad()
    def advance(self) -> None:
        """Makes the next token of every sequence: pad where one has ended."""
        self.cache.grow(1)
        self._replay()
        if not self._whole:
            assert self.logits is not None
            self._take(self._choose(self.logits))
        self.count += 1
        self._ask()

    def last(self) -> torch.Tensor:
        """The tokens that were made last: [sequences]."""
        return self.columns[:, self.count - 1]

    def has_ended(self) -> bool:
        """Whether all sequences are known to have ended; False while the GPU has not said so."""
        if not self._asked or (self._event is not None and not self._event.query()):
            return False
        ended = bool(self._flag)
        if not ended:
            self._asked = False
            self._ask()
        return ended

    def sequences(self) -> torch.Tensor:
        """All tokens up to the column in which the last sequence ended."""
        made = self.columns[:, self.start : self.count]
        if self.eos is not None and made.shape[1]:
            ends = (made[..., None] == self.eos.flatten()).any(-1).cumsum(1) > 0
            first = (~ends.all(0)).sum() + 1
            made = made[:, : min(int(first), made.shape[1])]
        return torch.cat([self.columns[:, : self.start], made], 1)

    def _forward(self) -> torch.Tensor:
        made: torch.Tensor = self.model(
            input_ids=self.next, **{CACHE: self.cache}, use_cache=True, return_dict=True
        ).logits[:, -1]
        return made

    def _choose(self, logits: torch.Tensor) -> torch.Tensor:
        scores = logits.float()
        if self.processors:
            scores = self.processors(self.columns[:, : self.count], scores)
        if self.sample:
            return torch.multinomial(scores.softmax(-1), 1)[:, 0]
        return scores.argmax(-1)

    def _take(self, tokens: torch.Tensor) -> None:
        """Notes the next token of each sequence, all on the device."""
        if self.eos is not None:
            tokens = torch.where(self.ended, self.pad, tokens)
            self.ended.logical_or_((tokens[:, None] == self.eos.flatten()).any(-1))
        self.next.copy_(tokens[:, None])
        self.columns.index_copy_(1, self.column, self.next)
        self.column.add_(1)

    def _ask(self) -> None:
        """Asks the GPU whether all have ended, unless an answer is on its way."""
        if self.eos is None or self._asked:
            return
        self._flag.copy_(self.ended.all(), non_blocking=True)
        if self._event is not None:
            self._event.record()
        self._asked = True

    def _launched(self) -> tuple[list[Any], list[Any]]:
        """What decides which launches a step makes.

        The model's modules with their hooks, replaced forward() and tensors, which are compared by
        identity, and values: addresses, and where the experts' kernel chooses, as which spec.
        """
        objects: list[Any] = []
        values: list[Any] = []
        for module in self.model.modules():
            tensors = (*module.parameters(recurse=False), *module.buffers(recurse=False))
            objects += (module, *watchers(module), *tensors)
            values += (tensor.data_ptr() for tensor in tensors)
        for layer in self.cache.decoder.layers:
            found = routed_spec(layer.mlp)
            values.append(None if found is None else found[1])
        return objects, values

    def _forget_replaced(self) -> None:
        """Drops the graphs if a step of the model makes other launches than they captured."""
        now = objects, values = self._launched()
        known, known_values = self._captured_with
        same = len(objects) == len(known) and all(map(operator.is_, objects, known))
        if not same or values != known_values:
            self.graphs.clear()
            self._captured_with = now

    def _graph(self, whole: bool, eos: tuple[int, ...]) -> Callable[[], None]:
        key = (whole, eos if whole else ())
        if key not in self.graphs:
            self.graphs[key] = self._captured(whole)
        return self.graphs[key]

    def _captured(self, whole: bool) -> Callable[[], None]:
        def work() -> None:
            logits = self._forward()
            if whole:
                self._take(logits.argmax(-1))
            elif self.logits is None:
                self.logits = logits.clone()
            else:
                self.logits.copy_(logits)

        if self._event is None:

            def plainly() -> None:
                self.cache.seen -= 1  # the model counts it once more
                work()

            return plainly
        # Warming up writes into the cache, which has nothing yet: begin() resets it.
        stream = _capture_stream(self.cache.lengths.device)
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for _ in range(2):
                self.cache.reset()
                self.cache.seen = 1  # a step behind a prompt, not a prompt
                self.column.zero_()
                work()
        torch.cuda.current_stream().wait_stream(stream)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=stream):
            work()
        self._held.append(self.eos)
        replay: Callable[[], None] = graph.replay
        return replay
