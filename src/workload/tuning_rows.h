// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <string_view>

// The parameters of each transport, in the order in which they are searched. NCCL's default is not
// among the values. `why` gives the source: "seen" is a measurement of ours on 2 H200.
namespace ncclprobe::workload::table {

// Targets for which a row matters.
enum class Moves {
  anything,
  collectives,  // functions with an algorithm
  send_receive, // all-to-all, gather, scatter
  steps,
};

struct TuningRow {
  std::string_view name;   // a variable, a setting of cells, or an option of training steps
  std::string_view values; // "a|b"; empty: from the machine
  std::string_view why;
  Moves moves = Moves::anything;
};

// Stand for NCCL_ALGO, NCCL_PROTO and the number of channels, in a process or between processes.
inline constexpr std::string_view k_algorithm = "algorithm";
inline constexpr std::string_view k_protocol = "protocol";
inline constexpr std::string_view k_channels = "channels";
inline constexpr std::string_view k_bucket = "bucket"; // an option of steps

inline constexpr TuningRow k_every_algorithm{
    k_algorithm, "Ring|Tree|NVLS|NVLSTree|PAT",
    "NCCL's cost model chooses it, and misjudges some sizes", Moves::collectives};
inline constexpr TuningRow k_every_protocol{
    k_protocol, "LL|LL128|Simple",
    "latency against bandwidth; NCCL's cost model chooses it by size", Moves::collectives};

inline constexpr auto k_nvlink_rows = std::to_array<TuningRow>({
    k_every_algorithm,
    k_every_protocol,
    {k_channels, "8|16|24|32", "more channels carry more, and take more SMs", Moves::collectives},
    {"NCCL_MIN_CTAS", "16|32", "seen: 32 was 1.05 to 1.08 times as fast"},
    {"NCCL_MAX_CTAS", "4|8|16", "fewer SMs for communication leave more for computing",
     Moves::steps},
    {"NCCL_NVLS_ENABLE", "0", "NVLink SHARP may lose to rings", Moves::collectives},
    {"NCCL_NVLS_NCHANNELS", "8|24|32", "SMs of NVLink SHARP", Moves::collectives},
    {"NCCL_CGA_CLUSTER_SIZE", "0|2", "thread-block clusters compete with computing kernels",
     Moves::steps},
    {"NCCL_MEM_SYNC_DOMAIN", "0", "orders NCCL's memory traffic with that of computing",
     Moves::steps},
    {"NCCL_MIN_P2P_NCHANNELS", "8|16|32", "NCCL_MIN_CTAS does not act on sends and receives",
     Moves::send_receive},
    {"NCCL_P2P_NVL_CHUNKSIZE", "262144|1048576", "pieces of sends and receives over NVLink",
     Moves::send_receive},
    {"NCCL_BUFFSIZE", "8388608|16777216", "depth of the pipeline of protocol Simple",
     Moves::collectives},
    {"NCCL_NVLS_CHUNKSIZE", "65536|262144", "pieces of NVLink SHARP", Moves::collectives},
});

inline constexpr auto k_pcie_rows = std::to_array<TuningRow>({
    {"NCCL_P2P_LEVEL", "LOC|PHB|SYS",
     "by default GPUs under different host bridges go through shared memory"},
    k_every_protocol,
    k_every_algorithm,
    {k_channels, "2|4|8|16", "more channels carry more, and take more SMs", Moves::collectives},
    {"NCCL_NTHREADS", "256", "fewer threads may suffice for PCIe", Moves::collectives},
    {"NCCL_BUFFSIZE", "1048576|8388608|16777216", "depth of the pipeline of protocol Simple",
     Moves::collectives},
    {"NCCL_MIN_CTAS", "8|16", "more channels from the start"},
    {"NCCL_MAX_CTAS", "2|4|8", "fewer SMs for communication leave more for computing",
     Moves::steps},
    {"NCCL_P2P_USE_CUDA_MEMCPY", "1", "copy engines instead of SMs"},
    {"NCCL_MIN_P2P_NCHANNELS", "4|8", "NCCL_MIN_CTAS does not act on sends and receives",
     Moves::send_receive},
    {"NCCL_P2P_PCI_CHUNKSIZE", "65536|262144", "pieces of sends and receives over PCIe",
     Moves::send_receive},
    {"NCCL_SHM_LOCALITY", "1", "the sender's NUMA node holds the buffer"},
    {"NCCL_IGNORE_CPU_AFFINITY", "1", "threads near the GPU instead of where the launcher binds"},
});

inline constexpr auto k_shared_memory_rows = std::to_array<TuningRow>({
    k_every_algorithm,
    k_every_protocol,
    {k_channels, "4|8|16|32", "seen: Ring with 16 channels was 1.14 times as fast",
     Moves::collectives},
    {"NCCL_MIN_CTAS", "8|16|32", "seen: 16 channels were 1.14 times as fast"},
    {"NCCL_MAX_CTAS", "2|4|8", "fewer SMs for communication leave more for computing",
     Moves::steps},
    {"NCCL_BUFFSIZE", "1048576|8388608|16777216", "depth of the pipeline of protocol Simple",
     Moves::collectives},
    {"NCCL_NTHREADS", "256", "fewer threads may suffice", Moves::collectives},
    {"NCCL_SHM_LOCALITY", "1", "the sender's NUMA node holds the buffer"},
    {"NCCL_MIN_P2P_NCHANNELS", "4|8", "NCCL_MIN_CTAS does not act on sends and receives",
     Moves::send_receive},
    {"NCCL_IGNORE_CPU_AFFINITY", "1", "threads near the GPU instead of where the launcher binds"},
});

inline constexpr auto k_socket_rows = std::to_array<TuningRow>({
    {"NCCL_SOCKET_IFNAME", "", "the wrong interface costs most"},
    {"NCCL_SOCKET_NTHREADS", "2|4|8", "seen: any of these was 2.4 to 2.5 times as fast"},
    {"NCCL_NSOCKS_PERTHREAD", "2|4|8", "several connections share the work of the kernel"},
    k_every_algorithm,
    k_every_protocol,
    {k_channels, "2|4|8|16", "each channel has its own connections", Moves::collectives},
    {"NCCL_BUFFSIZE", "1048576|8388608", "depth of the pipeline of protocol Simple",
     Moves::collectives},
    {"NCCL_MIN_CTAS", "4|8|16", "each channel has its own connections"},
    {"NCCL_MAX_CTAS", "2|4|8", "fewer SMs for communication leave more for computing",
     Moves::steps},
    {"NCCL_NCHANNELS_PER_NET_PEER", "2|4", "channels of sends and receives to another node",
     Moves::send_receive},
    {"NCCL_P2P_NET_CHUNKSIZE", "262144|524288", "pieces of sends and receives over the network",
     Moves::send_receive},
    {"NCCL_SOCKET_SNDBUF", "4194304", "the kernel's send buffer"},
    {"NCCL_SOCKET_RCVBUF", "4194304", "the kernel's receive buffer"},
});

inline constexpr auto k_infiniband_rows = std::to_array<TuningRow>({
    {"NCCL_IB_HCA", "", "an adapter that is slow or far from the GPUs slows down all"},
    {"NCCL_NET_GDR_LEVEL", "PHB|SYS", "how far from the adapter GPUs send without the host"},
    {"NCCL_NET_GDR_READ", "0|1", "the same for the adapter's reads"},
    {"NCCL_PXN_DISABLE", "1", "relaying over NVLink to another GPU's adapter"},
    {"NCCL_CROSS_NIC", "0|1", "whether rings change rails between nodes"},
    {"NCCL_IB_QPS_PER_CONNECTION", "2|4|8", "more paths through the network"},
    {"NCCL_IB_SPLIT_DATA_ON_QPS", "1", "one message over all queue pairs"},
    {"NCCL_IB_ADAPTIVE_ROUTING", "0|1", "by default on for InfiniBand, off for RoCE"},
    k_every_algorithm,
    k_every_protocol,
    {k_channels, "4|8|16|32", "more channels carry more, and take more SMs", Moves::collectives},
    {"NCCL_NCHANNELS_PER_NET_PEER", "2|4", "channels of sends and receives to another node",
     Moves::send_receive},
    {"NCCL_BUFFSIZE", "8388608|16777216", "depth of the pipeline of protocol Simple",
     Moves::collectives},
    {"NCCL_MAX_CTAS", "2|4|8", "fewer SMs for communication leave more for computing",
     Moves::steps},
    {"NCCL_IB_PCI_RELAXED_ORDERING", "0|1", "matters in virtual machines"},
    {"NCCL_NETDEVS_POLICY", "ALL", "adapters for each GPU"},
});

inline constexpr auto k_gloo_rows = std::to_array<TuningRow>({
    {k_algorithm, "ring|bcube", "Gloo's two algorithms of all_reduce", Moves::collectives},
    {"chunk_bytes", "64K|256K|4M", "the largest piece that is sent at once", Moves::collectives},
});

inline constexpr auto k_synthetic_rows = std::to_array<TuningRow>({
    {"alpha_ns", "2000|10000", "the latency of the simulation"},
    {"gb_per_s", "50|200", "the bandwidth of the simulation"},
});

// Before all of a transport's.
inline constexpr auto k_step_rows = std::to_array<TuningRow>({
    {k_bucket, "10M|50M|100M", "overlap with computing against the cost of each message",
     Moves::steps},
    {"comm-priority", "5", "communication before computing on the GPU", Moves::steps},
});
inline constexpr TuningRow k_compression_row{"compress", "bf16",
                                             "half of the bytes; rounds gradients", Moves::steps};

} // namespace ncclprobe::workload::table
