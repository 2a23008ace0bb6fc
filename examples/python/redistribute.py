#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Redistributes an array between two layouts over simulated ranks, through the C border of the planner.

    redistribute.py build/lib/libhyperparallel_plan.so --mesh dp=2,tp=4 --from dp,None --to "None,(tp,dp)" --shape 8x64

Cuts the array into the blocks of the source layout, carries out the list of copies, and compares each block with its
slice of the whole. With NumPy blocks are arrays and a copy is one assignment of strided views; without it, or with
--without-numpy, blocks are arrays of the standard library and a copy is a loop. Exit status: 0 all blocks are right and
every rank received the least there is, 1 otherwise, 2 the library refuses the move."""
import argparse
import array
import ctypes
import itertools
import sys

try:
    import numpy
except ImportError:
    numpy = None

ABI, DIMS = 1, 8
Numbers = ctypes.c_int64 * DIMS


class Mesh(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("axis_count", ctypes.c_int32),
                ("axis_names", ctypes.POINTER(ctypes.c_char_p)), ("axis_sizes", ctypes.POINTER(ctypes.c_int32)),
                ("ranks", ctypes.POINTER(ctypes.c_int32))]


class Tensor(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("dims", ctypes.c_int32), ("extents", ctypes.POINTER(ctypes.c_int64)),
                ("element_bytes", ctypes.c_int64)]


class Copy(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("sender", ctypes.c_int32), ("receiver", ctypes.c_int32),
                ("dims", ctypes.c_int32), ("begin", Numbers), ("extents", Numbers), ("source_offset", ctypes.c_int64),
                ("source_strides", Numbers), ("target_offset", ctypes.c_int64), ("target_strides", Numbers)]


class Block(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("rank", ctypes.c_int32), ("dims", ctypes.c_int32), ("begin", Numbers),
                ("extents", Numbers), ("bytes", ctypes.c_int64), ("received_bytes", ctypes.c_int64),
                ("least_bytes", ctypes.c_int64)]


class Summary(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("kind", ctypes.c_char_p), ("copies", ctypes.c_int64),
                ("source_blocks", ctypes.c_int32), ("target_blocks", ctypes.c_int32), ("received_bytes", ctypes.c_int64),
                ("least_bytes", ctypes.c_int64), ("most_received_bytes", ctypes.c_int64),
                ("most_least_bytes", ctypes.c_int64), ("ratio", ctypes.c_double)]


class Refused(Exception):
    """The line that the library gives."""


class Plan:
    """Closed by `with`."""

    def __init__(self, library, axes, source, target, extents, element_bytes):
        self.plans = library
        for ask in ("summary", "copy", "source_block", "target_block", "make"):
            getattr(library, f"hyperparallel_plan_{ask}").restype = ctypes.c_int
        if library.hyperparallel_plan_abi() != ABI:
            raise Refused(f"the library has ABI {library.hyperparallel_plan_abi()}, this program {ABI}")
        names = (ctypes.c_char_p * len(axes))(*[name.encode() for name, _ in axes])
        sizes = (ctypes.c_int32 * len(axes))(*[size for _, size in axes])
        mesh = Mesh(ctypes.sizeof(Mesh), len(axes), names, sizes, None)
        tensor = Tensor(ctypes.sizeof(Tensor), len(extents), (ctypes.c_int64 * len(extents))(*extents), element_bytes)
        self.plan, why = ctypes.c_void_p(), ctypes.create_string_buffer(512)
        status = library.hyperparallel_plan_make(ctypes.byref(mesh), source.encode(), None, target.encode(),
                                                 ctypes.byref(tensor), ctypes.byref(self.plan), why,
                                                 ctypes.c_size_t(len(why)))
        if status != 0:
            raise Refused(why.value.decode())
        self.summary = self.ask("summary", Summary)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.plans.hyperparallel_plan_free(self.plan)

    def ask(self, what, kind, *which):
        out = kind(ctypes.sizeof(kind))
        if getattr(self.plans, f"hyperparallel_plan_{what}")(self.plan, *which, ctypes.byref(out)) != 0:
            raise Refused(f"hyperparallel_plan_{what} of {which}")
        return out

    def copies(self):
        return (self.ask("copy", Copy, ctypes.c_int64(i)) for i in range(self.summary.copies))

    def blocks(self, side):
        count = getattr(self.summary, f"{side}_blocks")
        return [self.ask(f"{side}_block", Block, ctypes.c_int32(p)) for p in range(count)]


def box_of(item):
    return [(b, b + n) for b, n in zip(item.begin[:item.dims], item.extents[:item.dims])]


class ArraysOfNumPy:
    def whole(self, extents):
        return numpy.arange(numpy.prod(extents), dtype=numpy.float32).reshape(extents)

    def slice(self, whole, extents, box):
        return whole[tuple(slice(*side) for side in box)].copy()

    def empty(self, block):
        return numpy.full(block.extents[:block.dims], numpy.nan, dtype=numpy.float32)

    def copy(self, c, source, target):
        def view(block, offset, strides):
            steps = [n * block.itemsize for n in strides[:c.dims]]
            return numpy.lib.stride_tricks.as_strided(block.reshape(-1)[offset:], c.extents[:c.dims], steps)

        view(target, c.target_offset, c.target_strides)[...] = view(source, c.source_offset, c.source_strides)

    def equal(self, one, other):
        return numpy.array_equal(one, other)


class ArraysOfTheStandardLibrary:
    def whole(self, extents):
        count = 1
        for n in extents:
            count *= n
        return array.array("f", range(count))

    def slice(self, whole, extents, box):
        numbers = []
        for at in itertools.product(*(range(*side) for side in box)):
            number = 0
            for n, i in zip(extents, at):
                number = number * n + i
            numbers.append(whole[number])
        return array.array("f", numbers)

    def empty(self, block):
        return array.array("f", [float("nan")] * (block.bytes // 4))

    def copy(self, c, source, target):
        for at in itertools.product(*(range(n) for n in c.extents[:c.dims])):
            target[c.target_offset + sum(i * n for i, n in zip(at, c.target_strides))] = \
                source[c.source_offset + sum(i * n for i, n in zip(at, c.source_strides))]

    def equal(self, one, other):
        return one == other


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("plan_library")
    parser.add_argument("--mesh", default="dp=2,tp=4")
    parser.add_argument("--from", dest="source", default="dp,None")
    parser.add_argument("--to", dest="target", default="None,(tp,dp)")
    parser.add_argument("--shape", default="8x64")
    parser.add_argument("--without-numpy", action="store_true")
    given = parser.parse_args()
    axes = [(name, int(size)) for name, size in (part.split("=") for part in given.mesh.split(","))]
    extents = [int(n) for n in given.shape.split("x")]
    with_numpy = numpy is not None and not given.without_numpy
    arrays = ArraysOfNumPy() if with_numpy else ArraysOfTheStandardLibrary()
    print("arrays of NumPy " + numpy.__version__ if with_numpy else "arrays of the standard library, without NumPy")

    whole = arrays.whole(extents)
    try:
        with Plan(ctypes.CDLL(given.plan_library), axes, given.source, given.target, extents, 4) as plan:
            held = {b.rank: arrays.slice(whole, extents, box_of(b)) for b in plan.blocks("source")}
            wanted = {b.rank: arrays.empty(b) for b in plan.blocks("target")}
            for c in plan.copies():
                arrays.copy(c, held[c.sender], wanted[c.receiver])
            blocks, s = plan.blocks("target"), plan.summary
            right = all(arrays.equal(wanted[b.rank], arrays.slice(whole, extents, box_of(b))) for b in blocks)
            least = all(b.received_bytes == b.least_bytes for b in blocks)
            print(f"{s.kind.decode()}: {s.copies} copies, {s.received_bytes} bytes received, bound {s.least_bytes}")
            print("every block is its slice" if right else "a block is not its slice")
            return 0 if right and least else 1
    except Refused as refusal:
        print(refusal, file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
