#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Blocks of the library as arrays of NumPy and the other way round, without a copy; both structs where NumPy knows both.

    dlpack_numpy.py LIBRARY     exits with 77, which skips the test, where there is no NumPy"""
import ctypes
import gc
import sys

try:
    import numpy
except ImportError:
    print("without NumPy there is nothing to exchange")
    sys.exit(77)

library = ctypes.CDLL(sys.argv[1])
for name in ("hand_out", "hand_out_versioned", "block_that_lives"):
    getattr(library, name).restype = ctypes.c_void_p
new_capsule = ctypes.pythonapi.PyCapsule_New
new_capsule.restype, new_capsule.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
pointer_of.restype, pointer_of.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
rename = ctypes.pythonapi.PyCapsule_SetName
rename.restype, rename.argtypes = ctypes.c_int, (ctypes.py_object, ctypes.c_char_p)
# A capsule keeps the pointer to its name.
PLAIN, VERSIONED, USED, USED_VERSIONED = b"dltensor", b"dltensor_versioned", b"used_dltensor", b"used_dltensor_versioned"
knows_versions = int(numpy.__version__.split(".")[0]) >= 2 and numpy.lib.NumpyVersion(numpy.__version__) >= "2.1.0"


class Handed:
    """What numpy.from_dlpack asks of a producer."""

    def __init__(self, versioned):
        self.versioned = versioned

    def __dlpack_device__(self):
        return 1, 0

    def __dlpack__(self, **_):
        if self.versioned:
            return new_capsule(library.hand_out_versioned(), VERSIONED, None)
        return new_capsule(library.hand_out(), PLAIN, None)


def out_of_the_library(versioned):
    array = numpy.from_dlpack(Handed(versioned))
    assert array.shape == (3, 4) and array.dtype == numpy.float64
    assert array.tolist() == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]]
    assert array.ctypes.data == library.block_that_lives()  # no copy
    part = array[1:, ::2]
    del array
    gc.collect()
    assert library.block_that_lives() and part.tolist() == [[4, 6], [8, 10]]
    del part
    gc.collect()
    assert library.block_that_lives() is None  # given back


def take(array, versioned):
    capsule = array.__dlpack__(max_version=(1, 0)) if versioned else array.__dlpack__()
    data, total = ctypes.c_void_p(), ctypes.c_double()
    pointer = pointer_of(capsule, VERSIONED if versioned else PLAIN)
    rename(capsule, USED_VERSIONED if versioned else USED)
    ask = library.take_in_versioned if versioned else library.take_in
    status = ask(ctypes.c_void_p(pointer), ctypes.byref(data), ctypes.byref(total))
    return status, data.value, total.value


def into_the_library(versioned):
    whole = numpy.arange(24, dtype=numpy.float64).reshape(4, 6)
    before = sys.getrefcount(whole)
    for array in (whole, whole[1:, 1:4], whole.T, whole[:, ::2]):
        status, data, total = take(array, versioned)
        rows, columns = array.shape
        factors = 10 * numpy.arange(rows)[:, None] + numpy.arange(columns)
        assert status == 0 and data == array.ctypes.data and total == (array * factors).sum()
    del array
    assert sys.getrefcount(whole) == before  # each was given back
    assert take(whole.astype(numpy.float32), versioned)[0] != 0
    assert take(whole[::-1], versioned)[0] != 0


for versioned in (False, True) if knows_versions else (False,):
    out_of_the_library(versioned)
    into_the_library(versioned)
print(f"NumPy {numpy.__version__}: blocks went out and came in" + (", with versions too" if knows_versions else ""))
