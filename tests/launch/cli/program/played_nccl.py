# SPDX-FileCopyrightText: The ncclprobe authors
# SPDX-License-Identifier: Apache-2.0

"""Programs that call the profiler plugin as NCCL 2.28 does, and as NVTX 3 does: their beginnings, and a whole job."""

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

# Loads the plugin as NCCL 2.28 does, then makes all-reduces. Arguments: ranks, all-reduces, seconds of rest after each,
# and the exit code or "kill".
JOB = r"""
import ctypes as c, os, signal, sys, time
ranks, count, rest, end = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]), sys.argv[4]
rank = int(next((os.environ[one] for one in ("PLAYED_RANK", "OMPI_COMM_WORLD_RANK", "RANK", "SLURM_PROCID") if one in os.environ), "0"))
""" + PLUGIN + NVTX + r"""
def now():
    return c.c_uint64(time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW))
step_ns = int(os.environ.get("PLAYED_STEP_NS", "0")) # of the GPU's clock, whatever the host's says
def gpu(step, more_ns):
    return c.c_uint64(10**9 + step * step_ns + more_ns) if step_ns else now()
context, handle, mask = c.c_void_p(), c.c_void_p(), c.c_int()
assert init(c.byref(context), 42, c.byref(mask), b"job", 1, ranks, rank, None) == 0
for i in range(count):
    push(b"iteration %d" % i)
    one = Collective(2, None, 0, i, b"AllReduce", None, None, 1024, 0, b"ncclFloat32", 2, 16, b"RING", b"SIMPLE")
    assert start(context, c.byref(handle), c.byref(one)) == 0 and stop(handle) == 0
    if handle and not os.environ.get("PLAYED_WITHOUT_GPU_TIMES"):
        assert start(context, c.byref(handle), c.byref(Channel(64, handle, 0, 0, 1, gpu(i, 0)))) == 0
        assert enter(handle, 22, c.byref(gpu(i, 1000))) == 0 and stop(handle) == 0
    push(b"rest")
    time.sleep(rest)
    pop(), pop()
if end == "kill":
    time.sleep(1) # five times the writer's period
    os.kill(os.getpid(), signal.SIGKILL)
sys.exit(int(end))
"""
