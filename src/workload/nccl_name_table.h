// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <string_view>

// Names that look like NCCL's but that no NCCL from 2.10 on reads.
namespace ncclprobe::workload::table {

// Names in NCCL's documents and old posts that only older releases read.
struct RetiredName {
  std::string_view name;
  std::string_view better; // the closest variable today
};
inline constexpr auto k_retired = std::to_array<RetiredName>({
    {"NCCL_CHECKS_DISABLE", "NCCL_CHECK_POINTERS"},
    {"NCCL_IB_CUDA_SUPPORT", "NCCL_NET_GDR_LEVEL"},
    {"NCCL_LL_THRESHOLD", "NCCL_PROTO"},
    {"NCCL_TREE_THRESHOLD", "NCCL_ALGO"},
    {"NCCL_THREAD_THRESHOLD", "NCCL_THREAD_THRESHOLDS"},
    {"NCCL_SINGLE_RING_THRESHOLD", "NCCL_MIN_CTAS"},
    {"NCCL_RINGS", "NCCL_GRAPH_FILE"},
    {"NCCL_IB_GDR_LEVEL", "NCCL_NET_GDR_LEVEL"},
});

// Other names for variables of NCCL: the value means the same.
struct OtherName {
  std::string_view name;
  std::string_view better;
};
inline constexpr auto k_other_names = std::to_array<OtherName>({
    {"NCCL_ALGORITHM", "NCCL_ALGO"},
    {"NCCL_PROTOCOL", "NCCL_PROTO"},
    {"NCCL_BUFFER_SIZE", "NCCL_BUFFSIZE"},
    {"NCCL_NUM_THREADS", "NCCL_NTHREADS"},
    {"NCCL_LOG_LEVEL", "NCCL_DEBUG"},
    {"NCCL_DEBUG_LEVEL", "NCCL_DEBUG"},
    {"NCCL_IFNAME", "NCCL_SOCKET_IFNAME"},
    {"NCCL_NET_IFNAME", "NCCL_SOCKET_IFNAME"},
    {"NCCL_INTERFACE", "NCCL_SOCKET_IFNAME"},
    {"NCCL_HCA", "NCCL_IB_HCA"},
    {"NCCL_IB_DEVICE", "NCCL_IB_HCA"},
    {"NCCL_IB_DEVICES", "NCCL_IB_HCA"},
    {"NCCL_GID_INDEX", "NCCL_IB_GID_INDEX"},
    {"NCCL_IB_GID", "NCCL_IB_GID_INDEX"},
    {"NCCL_GDR_LEVEL", "NCCL_NET_GDR_LEVEL"},
    {"NCCL_GDR_READ", "NCCL_NET_GDR_READ"},
    {"NCCL_TOPOLOGY_FILE", "NCCL_TOPO_FILE"},
    {"NCCL_RDMA_DISABLE", "NCCL_IB_DISABLE"},
});

// Nothing reads these names, and no other name has the same meaning.
struct Fiction {
  std::string_view name;
  std::string_view truth;
};
inline constexpr auto k_fictions = std::to_array<Fiction>({
    {"NCCL_TIMEOUT", "neither NCCL nor PyTorch reads it. NCCL waits without limit; set PyTorch's "
                     "limit with torch.distributed.init_process_group(timeout=...)"},
    {"NCCL_NET_DISABLE", "nothing reads it: NCCL_NET=Socket prevents NCCL from using RDMA"},
    {"NCCL_NCHANNELS", "nothing reads it: NCCL_MIN_CTAS and NCCL_MAX_CTAS limit the channels"},
    {"NCCL_NUM_CHANNELS", "nothing reads it: NCCL_MIN_CTAS and NCCL_MAX_CTAS limit the channels"},
    {"NCCL_NRINGS", "nothing reads it: NCCL_MIN_CTAS and NCCL_MAX_CTAS limit the channels"},
});

// PyTorch's variables without their prefix TORCH_ (docs: torch_nccl_environment_variables). Some
// had the shorter name before PyTorch 2.2.
inline constexpr auto k_of_pytorch = std::to_array<std::string_view>({
    "NCCL_ABORT_IN_DESTROY_PG",
    "NCCL_ASYNC_ERROR_HANDLING",
    "NCCL_AVOID_RECORD_STREAMS",
    "NCCL_BCAST_UNIQUEID",
    "NCCL_BLOCKING_WAIT",
    "NCCL_COORD_CHECK_MILSEC",
    "NCCL_CUDA_EVENT_CACHE",
    "NCCL_DEBUG_INFO_PIPE_FILE",
    "NCCL_DEBUG_INFO_TEMP_FILE",
    "NCCL_DESYNC_DEBUG",
    "NCCL_DUMP_ON_TIMEOUT",
    "NCCL_ENABLE_MONITORING",
    "NCCL_ENABLE_TIMING",
    "NCCL_HEARTBEAT_TIMEOUT_SEC",
    "NCCL_HIGH_PRIORITY",
    "NCCL_LOG_CPP_STACK_ON_UNCLEAN_SHUTDOWN",
    "NCCL_NAN_CHECK",
    "NCCL_NONBLOCKING_TIMEOUT",
    "NCCL_PROPAGATE_ERROR",
    "NCCL_RANKS_PER_ROOT",
    "NCCL_RETHROW_CUDA_ERRORS",
    "NCCL_TRACE_BUFFER_SIZE",
    "NCCL_TRACE_CPP_STACK",
    "NCCL_USE_COMM_NONBLOCKING",
    "NCCL_USE_TENSOR_REGISTER_ALLOCATOR_HOOK",
    "NCCL_WAIT_TIMEOUT_DUMP_MILSEC",
});

// Prefixes of plugins and other programs.
struct ForeignPrefix {
  std::string_view prefix;
  std::string_view whose;
};
inline constexpr auto k_foreign = std::to_array<ForeignPrefix>({
    {"NCCL_OFI_", "the libfabric plugin (aws-ofi-nccl)"},
    {"OFI_NCCL_", "the libfabric plugin (aws-ofi-nccl)"},
    {"NCCL_GPUDIRECTTCPX_", "Google's plugin GPUDirect-TCPX"},
    {"NCCL_FASTRAK_", "Google's plugin FasTrak (GPUDirect-TCPXO)"},
    {"NCCL_SHIMNET_", "Google's network plugins"},
    {"NCCL_DYNAMIC_CHUNK_SIZE", "Google's builds of NCCL"},
    {"NCCL_IBEXT_", "NVIDIA's RDMA and SHARP plugin (HPC-X)"},
    {"NCCL_SHARP_", "NVIDIA's RDMA and SHARP plugin (HPC-X)"},
    {"NCCL_UCX_", "NVIDIA's RDMA and SHARP plugin (HPC-X)"},
    {"NCCL_PLUGIN_", "NVIDIA's RDMA and SHARP plugin (HPC-X)"},
    {"NCCL_TUNER_", "a tuner plugin"},
    {"NCCL_INSPECTOR_", "NCCL's profiler plugin Inspector"},
    {"NCCL_PROFILE_", "a profiler plugin"},
    {"NCCL_TESTS_", "nccl-tests"},
});

// Variables that ncclprobe's own backends read in a trial. None is a path, a program or an address.
inline constexpr auto k_own = std::to_array<std::string_view>({
    "NCCLPROBE_GLOO_ALGORITHM",
    "NCCLPROBE_GLOO_CHUNK_BYTES",
    "NCCLPROBE_SYNTHETIC_ALPHA_NS",
    "NCCLPROBE_SYNTHETIC_COPY_PPM",
    "NCCLPROBE_SYNTHETIC_FAIL",
    "NCCLPROBE_SYNTHETIC_GB_PER_S",
    "NCCLPROBE_SYNTHETIC_NOISE_PPM",
});

// Builds and container images set these; NCCL ignores them.
inline constexpr auto k_of_builds = std::to_array<std::string_view>({
    "NCCL_DIR",
    "NCCL_HOME",
    "NCCL_INCLUDE",
    "NCCL_INCLUDE_DIR",
    "NCCL_INCLUDE_DIRS",
    "NCCL_INSTALL_DIR",
    "NCCL_LIB",
    "NCCL_LIBRARIES",
    "NCCL_LIBRARY",
    "NCCL_LIBRARY_PATH",
    "NCCL_LIB_DIR",
    "NCCL_PATH",
    "NCCL_PREFIX",
    "NCCL_ROOT",
    "NCCL_ROOT_DIR",
    "NCCL_VERSION",
});

} // namespace ncclprobe::workload::table
