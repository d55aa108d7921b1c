# SPDX-FileCopyrightText: The ncclprobe authors
# SPDX-License-Identifier: Apache-2.0

"""The beginning of a program that calls the profiler plugin as NCCL 2.28 does."""

# Needs `import ctypes as c, os`.
PLUGIN = r"""
library = c.CDLL(os.environ["NCCL_PROFILER_PLUGIN"])
profiler = (c.c_void_p * 6).in_dll(library, "ncclProfiler_v5") # name, init, start, stop, state, finalize
init = c.CFUNCTYPE(c.c_int, c.POINTER(c.c_void_p), c.c_uint64, c.POINTER(c.c_int), c.c_char_p, c.c_int, c.c_int,
                   c.c_int, c.c_void_p)(profiler[1])
start = c.CFUNCTYPE(c.c_int, c.c_void_p, c.POINTER(c.c_void_p), c.c_void_p)(profiler[2])
stop = c.CFUNCTYPE(c.c_int, c.c_void_p)(profiler[3])
enter = c.CFUNCTYPE(c.c_int, c.c_void_p, c.c_int, c.c_void_p)(profiler[4])
class Collective(c.Structure):
    _fields_ = [("type", c.c_uint64), ("parent", c.c_void_p), ("rank", c.c_int), ("sequence", c.c_uint64),
                ("function", c.c_char_p), ("send", c.c_void_p), ("receive", c.c_void_p), ("count", c.c_size_t),
                ("root", c.c_int), ("data_type", c.c_char_p), ("channels", c.c_uint8), ("warps", c.c_uint8),
                ("algorithm", c.c_char_p), ("protocol", c.c_char_p), ("more", c.c_void_p)]
class Channel(c.Structure):
    _fields_ = [("type", c.c_uint64), ("parent", c.c_void_p), ("rank", c.c_int), ("padding", c.c_int),
                ("channel", c.c_uint8), ("timer", c.c_uint64), ("more", c.c_uint8 * 72)]
"""
