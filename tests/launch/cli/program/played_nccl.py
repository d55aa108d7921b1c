# SPDX-FileCopyrightText: The ncclprobe authors
# SPDX-License-Identifier: Apache-2.0

"""Beginnings of programs that call the profiler plugin as NCCL 2.28 does, and as NVTX 3 does."""

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

# Needs `import ctypes as c, os`. push(name) and pop() do nothing without a tool.
NVTX = r"""
functions, places = (c.c_void_p * 16)(), (c.c_void_p * 17)()
for i in range(1, 16):
    places[i] = c.addressof(functions) + 8 * i
@c.CFUNCTYPE(c.c_int, c.c_int, c.POINTER(c.c_void_p), c.POINTER(c.c_uint))
def module_function_table(module, table, count):
    if module != 1:
        return 0
    table[0], count[0] = c.addressof(places), 16
    return 1
class Callbacks(c.Structure):
    _fields_ = [("bytes", c.c_size_t), ("table", c.c_void_p)]
callbacks = Callbacks(16, c.cast(module_function_table, c.c_void_p))
@c.CFUNCTYPE(c.c_void_p, c.c_uint32)
def get_export_table(number):
    return c.addressof(callbacks) if number == 1 else None
push, pop = lambda name: 0, lambda: 0
if os.environ.get("NVTX_INJECTION64_PATH"):
    assert c.CDLL(os.environ["NVTX_INJECTION64_PATH"]).InitializeInjectionNvtx2(get_export_table) == 1
    push, pop = c.CFUNCTYPE(c.c_int, c.c_char_p)(functions[9]), c.CFUNCTYPE(c.c_int)(functions[11])
"""
