"""Reads the machine code (SASS) of CUDA kernels, as `nvdisasm -g CUBIN` prints it: instructions, loops, and the figures that a
budget can name. Read next: check_sass.py, which holds them to kernels/cuda/sass_budgets.txt.

How the inner loop of a kernel is found. Branches cut the code into blocks. An edge to a block that every way from the entry
passes (its dominator) closes a loop; the loop is all that reaches this edge without leaving through its head. An innermost
loop holds no other. Where loops have tensor-core operations of their own, the inner loop is the one with most of them (a
small copying loop inside does not hide it); otherwise the innermost loop with most multiply-adds, then with most loads and
stores, then the longest. What only a diverged warp runs (BRA.DIV) and what a called subroutine does is not looked at.

How a division of integers is recognized. The short form, for 32 bits, begins with an I2F that rounds up (.RP), which nothing
else uses; wider or narrower integers call a subroutine named div_u64, rem_s16 and so on. A division of 64 bits has both, and
counts as two. A division of floats is no division here, but its slow path is a call. A divisor that does not change has its
reciprocal before the loop: then there is none in it."""

import re
from collections import Counter
from typing import NamedTuple

TENSOR = ("HMMA", "IMMA", "BMMA", "DMMA", "QMMA", "OMMA", "HGMMA", "IGMMA", "BGMMA", "QGMMA")
MULTIPLY_ADDS = ("FFMA", "FFMA2", "HFMA2", "DFMA")
ENDS = ("EXIT", "RET", "KILL")
DIVISION = re.compile(r"_(div|rem)_[us]\d+")


class Instruction(NamedTuple):
    address: int
    guard: str  # a predicate such as @!P0, or nothing
    opcode: str  # with its modifiers: LDG.E.128
    operands: str
    source: tuple  # file and line, or None

    @property
    def name(self):
        return self.opcode.split(".")[0]

    @property
    def modifiers(self):
        return self.opcode.split(".")[1:]


class Kernel:
    """What one section of machine code holds; `labels` tells the instruction that a label stands before."""

    def __init__(self, name, architecture):
        self.name, self.architecture = name, architecture
        self.code, self.labels, self.threads = [], {}, None


# ---- from text ----

LINE = re.compile(r"\s+/\*([0-9a-f]+)\*/\s+(?:(@!?\w+)\s+)?([A-Z][\w.]*)\s*(.*?)\s*;\s*$")
LABEL = re.compile(r"([^\s:]+):\s*$")
SOURCE = re.compile(r'\s*//## File "([^"]*)", line (\d+)')
TARGET = re.compile(r"\t\.(?:target\s+sm_|headerflags.*? EF_CUDA_SM)(\d+)")  # of ptxas 13, of ptxas 12
SECTION = re.compile(r"\s*\.section\s+\.(nv\.info|text)\.([^,\s]+)")


def read_code(kernel, line, source):
    """An instruction or a label; the source that the following instructions are of."""
    if match := LINE.match(line):
        address, guard, opcode, operands = match.groups()
        kernel.code.append(Instruction(int(address, 16), guard or "", opcode, operands, source))
    elif match := SOURCE.match(line):
        source = match[1], int(match[2])
    elif match := LABEL.match(line):
        kernel.labels[match[1]] = len(kernel.code)
    return source


def read_attribute(kernel, line, attribute):
    """The most threads of a block, as __launch_bounds__ says: x, y and z behind the name of the attribute; the name."""
    if match := re.search(r"EIATTR_\w+", line):
        return match[0]
    if attribute == "EIATTR_MAX_THREADS" and ".word" in line:
        kernel.threads = (kernel.threads or 1) * int(line.split()[-1], 16)
    return attribute


def read_kernels(text):
    """The kernels in what nvdisasm printed, by their mangled names. A device function that is no kernel is among them."""
    architecture, section, kernels, kernel, state = None, None, {}, None, None
    for line in text.splitlines():
        if line.startswith("\t.section\t"):
            match, state = SECTION.match(line), None
            section = match and match[1]
            kernel = match and kernels.setdefault(match[2], Kernel(match[2], architecture))
        elif match := TARGET.match(line):
            architecture = f"sm_{match[1]}"
        elif section:
            state = (read_code if section == "text" else read_attribute)(kernel, line, state)
    return {name: kernel for name, kernel in kernels.items() if kernel.code}


class Resources(NamedTuple):
    registers: int
    shared: int
    stack: int
    spills: int


def read_resources(log):
    """Kernel by mangled name: what `ptxas -v` said of it. Functions that are no kernels are left out."""
    found, name, memory = {}, None, (0, 0)
    for line in log.splitlines():
        if match := re.search(r"Compiling entry function '([^']+)'", line):
            name = match[1]
        elif match := re.search(r"Function properties for (\S+)", line):
            own = match[1] == name
        elif match := re.search(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads", line):
            memory = (int(match[1]), int(match[2]) + int(match[3])) if own else memory
        elif (match := re.search(r"Used (\d+) registers", line)) and name:
            shared = re.search(r"(\d+) bytes smem", line)
            found[name] = Resources(int(match[1]), int(shared[1]) if shared else 0, *memory)
            name = None
    return found


# ---- blocks and loops ----


def local_target(kernel, instruction):
    """The label of the kernel that a branch goes to, or a call: code for sm_80 leaves a loop by CALL, and never comes back."""
    target = re.search(r"`\((\.L[^)]*)\)", instruction.operands)
    return target[1] if target and target[1] in kernel.labels else None


def next_instructions(kernel, at):
    """Where execution can go from the instruction at this index."""
    instruction, following = kernel.code[at], [at + 1] if at + 1 < len(kernel.code) else []
    if instruction.name in ENDS:
        return following if instruction.guard else []
    if instruction.name == "BRX":
        return [kernel.labels[label] for label in re.findall(r"\.L\w+", instruction.operands) if label in kernel.labels]
    target = local_target(kernel, instruction) if instruction.name in ("BRA", "JMP", "CALL") else None
    if not target or "DIV" in instruction.modifiers:
        return following
    conditional = instruction.guard or not instruction.operands.startswith("`")
    return [kernel.labels[target]] + (following if conditional else [])


class Block(NamedTuple):
    first: int
    end: int  # behind the last instruction
    successors: list  # as the indices of first instructions


def cut_blocks(kernel):
    """First instruction: block, of the blocks that are reached from the entry, each before those that it dominates."""
    ways = [next_instructions(kernel, at) for at in range(len(kernel.code))]
    cuts = {0, len(ways)} | {to for at, way in enumerate(ways) if way != [at + 1] for to in way + [at + 1]}
    cuts = sorted(cuts)
    blocks = {first: Block(first, end, ways[end - 1]) for first, end in zip(cuts, cuts[1:])}
    order, seen, stack = [], {0}, [(0, iter(blocks[0].successors))]
    while stack:
        first, successors = stack[-1]
        to = next((to for to in successors if to not in seen), None)
        if to is None:
            order.append(first)
            stack.pop()
        else:
            seen.add(to)
            stack.append((to, iter(blocks[to].successors)))
    return {first: blocks[first] for first in reversed(order)}


def find_dominators(blocks, predecessors):
    """Block: the last block, other than itself, that every way from the entry to it passes. Repeated until nothing changes."""
    place = {first: at for at, first in enumerate(blocks)}
    above, changed = {0: 0}, True

    def meet(a, b):
        while a != b:
            if place[a] > place[b]:
                a = above[a]
            else:
                b = above[b]
        return a

    while changed:
        changed = False
        for first in list(blocks)[1:]:
            known = [before for before in predecessors[first] if before in above]
            dominator = known[0]
            for before in known[1:]:
                dominator = meet(dominator, before)
            changed |= above.get(first) != dominator
            above[first] = dominator
    return above


def dominates(above, a, b):
    while b != a and b != 0:
        b = above[b]
    return a == b


class Loop:
    """The blocks of a loop, and those of them that are in no loop inside it."""

    def __init__(self, kernel, blocks, body, nested):
        self.blocks, self.innermost = sorted(body), not nested
        inside = set().union(*nested)
        self.code = [kernel.code[at] for first in self.blocks for at in range(first, blocks[first].end)]
        self.own = [kernel.code[at] for first in self.blocks if first not in inside for at in range(first, blocks[first].end)]


def loop_body(predecessors, head, tails):
    body, waiting = {head}, list(tails)
    while waiting:
        first = waiting.pop()
        if first not in body:
            body.add(first)
            waiting += predecessors[first]
    return body


def find_loops(kernel):
    blocks = cut_blocks(kernel)
    predecessors = {first: [] for first in blocks}
    for block in blocks.values():
        for to in block.successors:
            predecessors[to].append(block.first)
    above = find_dominators(blocks, predecessors)
    tails = {head: [tail for tail in predecessors[head] if dominates(above, head, tail)] for head in blocks}
    bodies = {head: loop_body(predecessors, head, ends) for head, ends in tails.items() if ends}
    nested = {head: [bodies[other] for other in bodies if other != head and other in body] for head, body in bodies.items()}
    return [Loop(kernel, blocks, body, nested[head]) for head, body in bodies.items()]


def is_multiply_add(instruction):
    """One whose factors are zero only moves a constant."""
    return instruction.name in MULTIPLY_ADDS and "RZ, RZ" not in instruction.operands


def find_inner_loop(loops):
    def work(loop):
        names = Counter(instruction.name for instruction in loop.own)
        memory = sum(count for name, count in names.items() if name.startswith(("LD", "ST", "ATOM", "RED")))
        return sum(names[name] for name in TENSOR), sum(map(is_multiply_add, loop.own)), memory, len(loop.own)

    with_tensor = [loop for loop in loops if work(loop)[0]]
    return max(with_tensor or [loop for loop in loops if loop.innermost], key=work, default=None)


# ---- figures ----


def width(instruction):
    """Bits that a load or store moves a thread: 8, 16, 32, 64 or 128."""
    for modifier in instruction.modifiers:
        if modifier in ("128", "64"):
            return int(modifier)
        if modifier in ("U16", "S16", "U8", "S8"):
            return int(modifier[1:])
    return 32


def is_call(kernel, instruction):
    return instruction.name == "CALL" and not local_target(kernel, instruction)


def is_division(instruction):
    if instruction.name == "CALL":
        return bool(DIVISION.search(instruction.operands))
    return instruction.name == "I2F" and "RP" in instruction.modifiers


def kinds(kernel, instruction):
    """The figures that count this instruction."""
    name, modifiers = instruction.name, instruction.modifiers
    if name in TENSOR:
        yield "tensor"
    if name in ("LDGSTS", "LDSM", "BAR") or is_multiply_add(instruction):
        yield name
    if name in ("LDG", "LDS", "STS", "STG"):
        yield f"{name}.{width(instruction)}"
    if name == "LDGSTS" and "128" in modifiers:
        yield "LDGSTS.128"
    if name == "LDSM" and "4" in modifiers:
        yield "LDSM.x4"
    if is_call(kernel, instruction):
        yield "calls"
    if is_division(instruction):
        yield "divisions"


def count_kinds(kernel, code):
    return Counter(kind for instruction in code for kind in kinds(kernel, instruction))


WIDTHS = (8, 16, 32, 64, 128)
LOOP_FIGURES = ["loop length", "per tensor", "tensor", *MULTIPLY_ADDS, "LDGSTS", "LDGSTS.128", "LDSM", "LDSM.x4", "BAR", "calls",
                "divisions"] + [f"{name}.{bits}" for name in ("LDG", "LDS", "STS", "STG") for bits in WIDTHS]
KERNEL_FIGURES = ["instructions", "registers", "shared", "block shared", "stack", "spills", "threads", "warps",
                  "innermost calls", "innermost divisions"]


class Multiprocessor(NamedTuple):
    """What is on one multiprocessor at a time; CUDA Programming Guide, "Compute Capabilities", table of technical
    specifications. It shares out 65,536 registers by 256 a warp to four schedulers, and shared memory by 128 bytes a block,
    to which the system adds some of its own from sm_80 on."""

    warps: int
    blocks: int
    shared: int  # KiB
    reserved: int = 1024  # bytes a block


MULTIPROCESSORS = {"sm_75": Multiprocessor(32, 16, 64, 0), "sm_80": Multiprocessor(64, 32, 164), "sm_86": Multiprocessor(48, 16, 100),
                   "sm_87": Multiprocessor(48, 16, 164), "sm_89": Multiprocessor(48, 24, 100), "sm_90": Multiprocessor(64, 32, 228),
                   "sm_100": Multiprocessor(64, 32, 228), "sm_110": Multiprocessor(48, 24, 228), "sm_120": Multiprocessor(48, 24, 100),
                   "sm_121": Multiprocessor(48, 24, 100)}


def round_up(number, unit):
    return -(-number // unit) * unit


def resident_warps(architecture, threads, registers, shared):
    """How many warps are on a multiprocessor at a time (theoretical occupancy), or None for an architecture not in the table."""
    limits = MULTIPROCESSORS.get(architecture)
    if not limits:
        return None
    warps = round_up(threads, 32) // 32
    by_registers = 65536 // 4 // round_up(registers * 32, 256) * 4 // warps
    by_shared = limits.shared * 1024 // max(round_up(shared, 128) + limits.reserved, 1)
    return warps * min(limits.blocks, limits.warps // warps, by_registers, by_shared)


def loop_figures(kernel, loop):
    counted = count_kinds(kernel, loop.code)
    figures = {name: counted[name] for name in LOOP_FIGURES}
    figures["loop length"] = len(loop.code)
    figures["per tensor"] = len(loop.code) / counted["tensor"] if counted["tensor"] else float("inf")
    return figures


def measure(kernel, resources, threads=None, dynamic_shared=0):
    """(figures by name, inner loop or None). A kernel without a loop has no figures of a loop. Where neither the caller nor
    __launch_bounds__ tells how many threads a block has, it is 256."""
    loops = find_loops(kernel)
    inner = find_inner_loop(loops)
    looked_at = {instruction for loop in loops if loop.innermost or loop is inner for instruction in loop.code}
    counted = count_kinds(kernel, looked_at)
    threads = threads or kernel.threads or 256
    block_shared = resources.shared + dynamic_shared
    figures = {**resources._asdict(), "block shared": block_shared, "instructions": len(kernel.code), "threads": threads,
               "warps": resident_warps(kernel.architecture, threads, resources.registers, block_shared),
               "innermost calls": counted["calls"], "innermost divisions": counted["divisions"]}
    return {**figures, **(loop_figures(kernel, inner) if inner else {})}, inner
