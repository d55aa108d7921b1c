// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "trace/table.h"

#include <concepts>
#include <cstdint>
#include <tuple>

// NCCL's own events, through the profiler plugin.
namespace ncclprobe::trace {

// /communicator
struct CommunicatorRow {
  static constexpr Table k_table = Table::communicator;
  std::uint64_t hash = 0; // equal on all of its ranks
  TextId name;
  std::int32_t ranks = 0;
  std::int32_t rank = 0; // rank of this process or device in it
  std::int32_t nodes = 0;
  std::uint16_t id = 0; // counted by this trace, from 0
};
template <std::same_as<CommunicatorRow> R>
constexpr auto columns(R) {
  return std::tuple(base::column("id", &R::id, "its number in this trace, from 0"),
                    base::column("hash", &R::hash, "NCCL's number of it, equal on all ranks"),
                    base::column("name", &R::name, "name, row in /strings"),
                    base::column("ranks", &R::ranks, "its size"),
                    base::column("rank", &R::rank, "rank in it"),
                    base::column("nodes", &R::nodes, "nodes it spans, as NCCL sees it"));
}

enum class NcclKind : std::uint8_t { collective, send, receive };
// /nccl_operation: collectives and point-to-point operations as NCCL launched them
struct NcclOperationRow {
  static constexpr Table k_table = Table::nccl_operation;
  std::uint64_t enqueue_ns = 0;  // the host
  std::uint64_t enqueued_ns = 0; // NCCL had enqueued it
  // The same on all ranks together with communicator and function. For a send or receive: its
  // number among those to or from its peer, the same on both sides.
  std::uint64_t sequence = 0;
  std::uint64_t count = 0;     // elements
  std::uint32_t id = 0;        // from 1, counted by this trace
  std::uint32_t operation = 0; // OperationRow::id; 0: unknown
  TextId function, algorithm, protocol, data_type;
  std::int32_t peer = -1;
  std::int32_t root = -1;
  std::uint16_t communicator = 0; // CommunicatorRow::id
  std::uint8_t channels = 0;
  std::uint8_t warps = 0;
  NcclKind kind = NcclKind::collective;
};
template <std::same_as<NcclOperationRow> R>
constexpr auto columns(R) {
  return std::tuple(
      base::column("id", &R::id, "its number in this trace, from 1"),
      base::column("communicator", &R::communicator, "/communicator/id"),
      base::column("sequence", &R::sequence,
                   "counted for each function of a communicator, for sends and receives for each "
                   "peer: equal on all ranks that take part"),
      base::column("kind", &R::kind, "kind of operation"),
      base::column("function", &R::function, "AllReduce, ..., row in /strings"),
      base::column("algorithm", &R::algorithm, "RING, ..., row in /strings; 0: none"),
      base::column("protocol", &R::protocol, "LL, LL128, SIMPLE, row in /strings; 0: none"),
      base::column("data_type", &R::data_type, "NCCL's name, row in /strings"),
      base::column("count", &R::count, "elements"),
      base::column("channels", &R::channels, "number of channels"),
      base::column("warps", &R::warps, "warps of a channel"),
      base::column("peer", &R::peer, "of a send or receive; -1: none"),
      base::column("root", &R::root, "root; -1: none"),
      base::column("enqueue_ns", &R::enqueue_ns, "NCCL began to enqueue it, ns"),
      base::column("enqueued_ns", &R::enqueued_ns, "it was enqueued, ns; 0: unknown"),
      base::column("operation", &R::operation,
                   "operation of the schedule, /operation/id; 0: unknown"));
}

// /nccl_channel: one channel of one operation, on the device
struct NcclChannelRow {
  static constexpr Table k_table = Table::nccl_channel;
  std::uint64_t start_gt = 0, stop_gt = 0; // %globaltimer, ns; 0: unknown
  std::uint64_t start_ns = 0, stop_ns = 0; // when the host heard of it
  std::uint32_t nccl_operation = 0;        // NcclOperationRow::id
  std::uint8_t channel = 0;
};
template <std::same_as<NcclChannelRow> R>
constexpr auto columns(R) {
  return std::tuple(
      base::column("nccl_operation", &R::nccl_operation, "/nccl_operation/id"),
      base::column("channel", &R::channel, "channel"),
      base::column("start_gt", &R::start_gt, "begin on the GPU's globaltimer, ns; 0: unknown"),
      base::column("stop_gt", &R::stop_gt, "end on the GPU's globaltimer, ns; 0: unknown"),
      base::column("start_ns", &R::start_ns, "the host heard of the begin, ns"),
      base::column("stop_ns", &R::stop_ns, "the host heard of the end, ns; 0: never"));
}

// /nccl_open: an operation that was not over at a moment, more than a second after it began. These
// rows show where a job hangs, even if its processes are killed.
struct NcclOpenRow {
  static constexpr Table k_table = Table::nccl_open;
  std::uint64_t at_ns = 0;
  std::uint32_t nccl_operation = 0; // NcclOperationRow::id
  std::uint32_t channels = 0;       // that had begun on the GPU and not ended
};
template <std::same_as<NcclOpenRow> R>
constexpr auto columns(R) {
  return std::tuple(
      base::column("nccl_operation", &R::nccl_operation, "/nccl_operation/id"),
      base::column("at_ns", &R::at_ns, "it was not over at this time, ns"),
      base::column("channels", &R::channels,
                   "channels that had begun on the GPU and not ended; 0: NCCL still enqueued it"));
}

// /nccl_step: one step of the proxy thread
struct NcclStepRow {
  static constexpr Table k_table = Table::nccl_step;
  std::uint64_t start_ns = 0;
  // Send: waited for the GPU, for the peer, for the network. Receive: for the network, the flush,
  // the GPU. 0: never reached.
  std::uint64_t first_ns = 0, second_ns = 0, third_ns = 0;
  std::uint64_t stop_ns = 0;
  std::uint64_t bytes = 0;
  std::uint32_t nccl_operation = 0; // 0: of another process
  std::int32_t peer = -1;
  std::int32_t step = 0;
  std::uint8_t channel = 0;
  std::uint8_t is_send = 0;
};
template <std::same_as<NcclStepRow> R>
constexpr auto columns(R) {
  return std::tuple(
      base::column("nccl_operation", &R::nccl_operation, "/nccl_operation/id; 0: other process's"),
      base::column("channel", &R::channel, "channel"),
      base::column("peer", &R::peer, "rank in the communicator"),
      base::column("is_send", &R::is_send, "1 send, 0 receive"),
      base::column("step", &R::step, "step"), base::column("bytes", &R::bytes, "bytes of the step"),
      base::column("start_ns", &R::start_ns, "begin, ns"),
      base::column("first_ns", &R::first_ns,
                   "send: began to wait for the GPU; receive: for the network; 0: never"),
      base::column("second_ns", &R::second_ns,
                   "send: began to wait for the peer; receive: for the flush; 0: never"),
      base::column("third_ns", &R::third_ns,
                   "send: began to wait for the network; receive: for the GPU; 0: never"),
      base::column("stop_ns", &R::stop_ns, "end, ns"));
}

enum class NetworkKind : std::uint8_t { unknown, infiniband, socket };
// /nccl_network: work of a network plugin for a step
struct NcclNetworkRow {
  static constexpr Table k_table = Table::nccl_network;
  std::uint64_t start_ns = 0, stop_ns = 0;
  std::uint64_t bytes = 0;
  std::uint64_t request = 0; // work request of InfiniBand, or descriptor of a socket
  std::uint32_t nccl_operation = 0;
  NetworkKind kind = NetworkKind::unknown;
};
template <std::same_as<NcclNetworkRow> R>
constexpr auto columns(R) {
  return std::tuple(base::column("nccl_operation", &R::nccl_operation, "/nccl_operation/id"),
                    base::column("kind", &R::kind, "the transport"),
                    base::column("request", &R::request, "work request, or descriptor"),
                    base::column("bytes", &R::bytes, "bytes"),
                    base::column("start_ns", &R::start_ns, "begin, ns"),
                    base::column("stop_ns", &R::stop_ns, "end, ns"));
}

} // namespace ncclprobe::trace
