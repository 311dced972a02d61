"""Programs: modules whose course depends on data, as torch.jit.script and torch.export write them.

Each entry is as in models.py, and says which exporter takes it: that of TorchScript has loops, conditions and lists of tensors as
Loop, If and sequences; that of torch.export has torch.cond and torch.while_loop. Runs are chosen so that other branches are taken, and other numbers
of trips made, than in the export. No output is near a tie, so a decoder's choices do not hang on rounding.
"""

from typing import List, Tuple

import torch

SEED = 11


def values(*shape, seed=SEED, scale=1.0):
    return scale * torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def count(n):
    return torch.tensor(n, dtype=torch.int64)


class Seeded(torch.nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(SEED)


# ---- what torch.jit.script makes ----


class HalvesUntilSmall(torch.nn.Module):
    """while with a count that hangs on data."""

    def forward(self, x: torch.Tensor) -> Tuple[torch.Tensor, torch.Tensor]:
        trips = torch.zeros(1, dtype=torch.int64)
        while bool(x.abs().max() > 0.1):
            x = x * 0.5
            trips = trips + 1
        return x, trips


class NestedIf(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if bool(x.sum() > 0):
            if bool(x.max() > 2):
                y = x.relu()
            else:
                y = x.tanh() + 1
        else:
            if bool(x.min() < -2):
                y = x.abs().sqrt()
            else:
                y = -x
        return y * 2


class AppendsAndStacks(torch.nn.Module):
    """list append: SequenceInsert in a Loop, then ConcatFromSequence with a new axis."""

    def forward(self, x: torch.Tensor, n: torch.Tensor) -> torch.Tensor:
        parts: List[torch.Tensor] = []
        for i in range(int(n)):
            x = torch.sin(x) + float(i)
            parts.append(x)
        return torch.stack(parts)


class CollectsDifferentLengths(torch.nn.Module):
    """A list of pieces of different lengths, cut out of one tensor, then joined, and indexed from its end."""

    def forward(self, x: torch.Tensor, n: torch.Tensor) -> Tuple[torch.Tensor, torch.Tensor]:
        parts: List[torch.Tensor] = []
        for i in range(int(n)):
            parts.append(x[: i + 1] * 2)
        return torch.cat(parts), parts[-1]


class BreaksEarly(torch.nn.Module):
    def forward(self, x: torch.Tensor, limit: torch.Tensor) -> torch.Tensor:
        total = torch.zeros_like(x[0])
        for i in range(x.shape[0]):
            total = total + x[i]
            if bool(total.abs().sum() > limit):
                break
        return total


class Grows(torch.nn.Module):
    """A carried tensor that is longer after each trip."""

    def forward(self, x: torch.Tensor, n: torch.Tensor) -> torch.Tensor:
        for i in range(int(n)):
            x = torch.cat([x, x[-1:] * 0.5 + float(i)])
        return x


class GatedUnit(torch.nn.Module):
    """A GRU cell in plain arithmetic; torch's own has lines that its exporter does not take."""

    def __init__(self, size: int):
        super().__init__()
        self.gates = torch.nn.Linear(2 * size, 2 * size)
        self.fresh = torch.nn.Linear(2 * size, size)

    def forward(self, x: torch.Tensor, h: torch.Tensor) -> torch.Tensor:
        reset, update = torch.sigmoid(self.gates(torch.cat([x, h], 1))).chunk(2, 1)
        fresh = torch.tanh(self.fresh(torch.cat([x, reset * h], 1)))
        return update * h + (1 - update) * fresh


class Cell(Seeded):
    """An LSTM spelled out and scripted: its loop is over the time axis."""

    def __init__(self):
        super().__init__()
        self.gates = torch.nn.Linear(5 + 6, 4 * 6)

    def forward(self, x: torch.Tensor) -> Tuple[torch.Tensor, torch.Tensor]:
        h = torch.zeros(x.shape[1], 6)
        c = torch.zeros(x.shape[1], 6)
        steps: List[torch.Tensor] = []
        for t in range(x.shape[0]):
            i, f, g, o = self.gates(torch.cat([x[t], h], 1)).chunk(4, 1)
            c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
            h = torch.sigmoid(o) * torch.tanh(c)
            steps.append(h)
        return torch.stack(steps), c


class Recurrent(Seeded):
    """A whole LSTM and a GRU in two directions, in a scripted module."""

    def __init__(self):
        super().__init__()
        self.lstm = torch.nn.LSTM(5, 6, num_layers=2, bidirectional=True)
        self.gru = torch.nn.GRU(12, 4)

    def forward(self, x: torch.Tensor) -> Tuple[torch.Tensor, torch.Tensor]:
        y, state = self.lstm(x)
        z, last = self.gru(y)
        return z, last + state[0][0].mean()


class Greedy(Seeded):
    """Greedy decoding: the next token is the best, until the end token or the limit; the prefix grows."""

    def __init__(self):
        super().__init__()
        self.embed = torch.nn.Embedding(17, 8)
        self.cell = GatedUnit(8)
        self.head = torch.nn.Linear(8, 17)

    def forward(self, h: torch.Tensor, most: torch.Tensor) -> Tuple[torch.Tensor, torch.Tensor]:
        tokens = torch.ones(1, dtype=torch.int64)
        going = True
        while going:
            h = self.cell(self.embed(tokens[-1:]), h)
            best = self.head(h).argmax(1)
            tokens = torch.cat([tokens, best])
            going = bool(best[0] != 2) and tokens.shape[0] < int(most)
        return tokens, h


class Beam(Seeded):
    """Beam search: the best of all continuations of every beam, whose prefixes and states are gathered."""

    def __init__(self):
        super().__init__()
        self.embed = torch.nn.Embedding(13, 8)
        self.cell = GatedUnit(8)
        self.head = torch.nn.Linear(8, 13)

    def forward(self, h: torch.Tensor, n: torch.Tensor) -> Tuple[torch.Tensor, torch.Tensor]:
        beams = h.shape[0]
        tokens = torch.ones(beams, 1, dtype=torch.int64)
        scores = -torch.arange(beams).float()
        for step in range(int(n)):
            h = self.cell(self.embed(tokens[:, -1]), h)
            every = scores.unsqueeze(1) + torch.log_softmax(self.head(h), 1)
            scores, best = every.reshape(-1).topk(beams)
            parent = torch.div(best, 13, rounding_mode="floor")
            tokens = torch.cat([tokens[parent], (best % 13).unsqueeze(1)], 1)
            h = h[parent]
        return tokens, scores


class NestedLoops(torch.nn.Module):
    """A loop whose inner loop has as many trips as the outer counter says."""

    def forward(self, x: torch.Tensor, n: torch.Tensor) -> torch.Tensor:
        total = torch.zeros_like(x)
        for i in range(int(n)):
            inner = x
            for j in range(i + 1):
                inner = torch.tanh(inner) * float(j + 1)
            if bool(inner.sum() > 0):
                total = total + inner
            else:
                total = total - x
        return total


class SplitsAndJoins(torch.nn.Module):
    """chunks as a list, each in a branch of its own."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        kept: List[torch.Tensor] = []
        for part in torch.split(x, 2):
            if bool(part.mean() > 0):
                kept.append(part)
            else:
                kept.append(part * 0.5)
        return torch.cat(kept)


class ConvUntilSteady(Seeded):
    """Convolution with bias and Relu inside a while: what fusions join in a body."""

    def __init__(self):
        super().__init__()
        self.conv = torch.nn.Conv2d(3, 3, 3, padding=1)
        self.norm = torch.nn.BatchNorm2d(3)
        self.norm.running_var.fill_(2.0)
        self.norm.eval()

    def forward(self, x: torch.Tensor) -> Tuple[torch.Tensor, torch.Tensor]:
        trips = torch.zeros(1, dtype=torch.int64)
        change = x.abs().max()
        while bool(change > 0.05) and int(trips) < 8:
            y = torch.relu(self.norm(self.conv(x))) * 0.5 + x * 0.25
            change = (y - x).abs().max()
            x = y
            trips = trips + 1
        return x, trips


class Newton(torch.nn.Module):
    """Square roots by Newton's method: each row stops on its own, the loop when all have."""

    def forward(self, x: torch.Tensor) -> Tuple[torch.Tensor, torch.Tensor]:
        guess = x
        trips = torch.zeros_like(x)
        active = (guess * guess - x).abs() > 1e-3
        while bool(active.any()):
            guess = torch.where(active, (guess + x / guess) * 0.5, guess)
            trips = trips + active.float()
            active = (guess * guess - x).abs() > 1e-3
        return guess, trips


# ---- what torch.export makes ----


class Cond(Seeded):
    def __init__(self):
        super().__init__()
        self.positive = torch.nn.Linear(4, 4)
        self.negative = torch.nn.Linear(4, 4)

    def forward(self, x):
        return torch.cond(x.sum() > 0, lambda x: self.positive(x).relu(), lambda x: self.negative(x) - 1, (x,))


class NestedCond(torch.nn.Module):
    def forward(self, x):
        def upper(x):
            return torch.cond(x.max() > 2, lambda x: x.relu(), lambda x: x.tanh() + 1, (x,))

        return torch.cond(x.sum() > 0, upper, lambda x: x.abs().sqrt(), (x,)) * 2


class CondOfTwo(torch.nn.Module):
    """Two outputs, and two inputs that change places."""

    def forward(self, x, y):
        return torch.cond(x.mean() > y.mean(), lambda x, y: (x - y, x * y), lambda x, y: (y - x, x + y), (x, y))


class While(torch.nn.Module):
    def forward(self, x, n):
        from torch._higher_order_ops.while_loop import while_loop

        return while_loop(lambda i, x: i < n, lambda i, x: (i + 1, torch.tanh(x) * 1.5 + x), (torch.zeros_like(n), x))


class WhileSmall(torch.nn.Module):
    """As HalvesUntilSmall."""

    def forward(self, x):
        from torch._higher_order_ops.while_loop import while_loop

        trips = torch.zeros((), dtype=torch.int64)
        return while_loop(lambda x, t: x.abs().max() > 0.1, lambda x, t: (x * 0.5, t + 1), (x, trips))


class WhileCond(torch.nn.Module):
    def forward(self, x, n):
        from torch._higher_order_ops.while_loop import while_loop

        def body(i, x):
            return i + 1, torch.cond(x.sum() > 0, lambda x: x - 0.75, lambda x: x + 0.5, (x,))

        return while_loop(lambda i, x: i < n, body, (torch.zeros_like(n), x))


class Scan(torch.nn.Module):
    """A running sum with decay by the higher-order scan: ONNX's Scan."""

    def forward(self, x):
        from torch._higher_order_ops.scan import scan

        def combine(carry, part):
            carry = carry * 0.5 + part
            return carry, carry.tanh()

        last, steps = scan(combine, torch.zeros_like(x[0]), x)
        return last, steps


def entry(module, names, example, runs, axes=None, dynamo=False):
    """onnxruntime runs the graph as it stands: it believes shapes that the exporter writes down wrongly where a carried tensor
    grows, folds what hangs on them, and then does not come to an end."""

    def make():
        made = module().eval()
        return made if dynamo else torch.jit.script(made)

    return {"make": make, "names": names, "example": example, "runs": runs, "axes": axes or {}, "exporters": [dynamo],
            "placed": False, "optimized": False}


ROW = {"x": {0: "length"}}
TIME = {"x": {0: "time", 1: "batch"}}


def branching(*means):
    return [(values(3, 4, seed=SEED + i) + mean,) for i, mean in enumerate(means)]


SCRIPTED = {
    "halves_until_small": entry(HalvesUntilSmall, ["x"], (values(4),), [(values(7, scale=40.0),), (values(3, scale=0.01),)], ROW),
    "nested_if": entry(NestedIf, ["x"], (values(3, 4),), branching(3.0, 0.5, -3.0, -0.25)),
    "appends_and_stacks": entry(AppendsAndStacks, ["x", "n"], (values(3), count(2)), [(values(3), count(5)), (values(6), count(1))], ROW),
    "collects_lengths": entry(CollectsDifferentLengths, ["x", "n"], (values(6), count(2)), [(values(6), count(4)), (values(9), count(9))], ROW),
    "breaks_early": entry(BreaksEarly, ["x", "limit"], (values(5, 3), torch.tensor(3.0)),
                          [(values(9, 3), torch.tensor(4.0)), (values(4, 3), torch.tensor(1e3)), (values(4, 3), torch.tensor(0.0))], ROW),
    "grows": entry(Grows, ["x", "n"], (values(3, 2), count(2)), [(values(3, 2), count(6)), (values(1, 2), count(0))], ROW),
    "lstm_cell": entry(Cell, ["x"], (values(4, 2, 5),), [(values(7, 3, 5),), (values(1, 1, 5),)], TIME),
    "recurrent": entry(Recurrent, ["x"], (values(4, 2, 5),), [(values(4, 2, 5, seed=2),), (values(7, 2, 5),)], {"x": {0: "time"}}),
    "greedy": entry(Greedy, ["h", "most"], (values(1, 8), count(5)), [(values(1, 8, seed=5), count(12)), (values(1, 8, seed=5), count(3)), (values(1, 8, seed=7), count(30))]),
    "beam": entry(Beam, ["h", "n"], (values(3, 8), count(2)), [(values(3, 8, seed=3), count(6)), (values(4, 8, seed=4), count(3))], {"h": {0: "beams"}}),
    "nested_loops": entry(NestedLoops, ["x", "n"], (values(3), count(2)), [(values(3), count(4)), (values(5), count(0))], ROW),
    "splits_and_joins": entry(SplitsAndJoins, ["x"], (values(6, 3),), [(values(6, 3, seed=2),), (values(9, 3),)], ROW),
    "conv_until_steady": entry(ConvUntilSteady, ["x"], (values(1, 3, 6, 5),), [(values(2, 3, 6, 5),), (values(1, 3, 9, 7, scale=3.0),)],
                               {"x": {0: "batch", 2: "height", 3: "width"}}),
    "newton": entry(Newton, ["x"], (values(4).abs() + 1,), [(values(6).abs() * 50 + 1,), (torch.ones(3),)], ROW),
}

EXPORTED = {
    "cond": entry(Cond, ["x"], (values(3, 4),), branching(3.0, -3.0), dynamo=True),
    "nested_cond": entry(NestedCond, ["x"], (values(3, 4),), branching(3.0, 0.5, -3.0), dynamo=True),
    "cond_of_two": entry(CondOfTwo, ["x", "y"], (values(4), values(4, seed=2)), [(values(4), values(4) + 1), (values(4) + 1, values(4))], dynamo=True),
    "while": entry(While, ["x", "n"], (values(4), count(3)), [(values(4), count(7)), (values(4), count(0))], dynamo=True),
    "while_small": entry(WhileSmall, ["x"], (values(4),), [(values(4, scale=40.0),), (values(4, scale=0.01),)], dynamo=True),
    "while_cond": entry(WhileCond, ["x", "n"], (values(4), count(3)), [(values(4), count(9)), (values(4) - 2, count(4))], dynamo=True),
    "scan": entry(Scan, ["x"], (values(5, 3),), [(values(5, 3, seed=2),)], dynamo=True),
}

PROGRAMS = SCRIPTED | EXPORTED
