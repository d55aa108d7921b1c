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
  return std::tuple(
      base::column("id", &R::id, "its number in this trace, from 0"),
      base::column("hash", &R::hash, "NCCL's hash of the communicator, equal on all of its ranks"),
      base::column("name", &R::name, "name of the communicator, row in /strings; 0: none"),
      base::column("ranks", &R::ranks, "number of ranks in it"),
      base::column("rank", &R::rank, "rank of this process or device in it"),
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
      base::column("communicator", &R::communicator,
                   "communicator that it runs on, /communicator/id"),
      base::column("sequence", &R::sequence,
                   "position among the communicator's calls of this function (send, receive: for "
                   "this peer); equal on all its ranks"),
      base::column("kind", &R::kind, "kind of operation"),
      base::column("function", &R::function, "called function: AllReduce, ...; row in /strings"),
      base::column("algorithm", &R::algorithm,
                   "chosen algorithm: RING, ...; row in /strings; 0: none"),
      base::column("protocol", &R::protocol,
                   "chosen protocol: LL, LL128 or SIMPLE; row in /strings; 0: none"),
      base::column("data_type", &R::data_type, "element type as NCCL names it, row in /strings"),
      base::column("count", &R::count, "number of elements"),
      base::column("channels", &R::channels, "number of channels"),
      base::column("warps", &R::warps, "warps of a channel"),
      base::column("peer", &R::peer, "peer rank of a send or receive; -1: none"),
      base::column("root", &R::root, "rank of the root; -1: none"),
      base::column("enqueue_ns", &R::enqueue_ns, "when NCCL began to enqueue it, ns"),
      base::column("enqueued_ns", &R::enqueued_ns, "when NCCL had enqueued it, ns; 0: unknown"),
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
      base::column("nccl_operation", &R::nccl_operation,
                   "operation that it belongs to, /nccl_operation/id"),
      base::column("channel", &R::channel, "number of the channel"),
      base::column("start_gt", &R::start_gt, "start on the GPU's globaltimer, ns; 0: unknown"),
      base::column("stop_gt", &R::stop_gt, "end on the GPU's globaltimer, ns; 0: unknown"),
      base::column("start_ns", &R::start_ns, "when the host learned of the start, ns"),
      base::column("stop_ns", &R::stop_ns, "when the host learned of the end, ns; 0: never"));
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
  return std::tuple(base::column("nccl_operation", &R::nccl_operation,
                                 "operation that had not ended, /nccl_operation/id"),
                    base::column("at_ns", &R::at_ns, "time at which it had not ended, ns"),
                    base::column("channels", &R::channels,
                                 "number of its channels that had begun on the GPU and not ended; "
                                 "0: NCCL was still enqueueing it"));
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
      base::column("nccl_operation", &R::nccl_operation,
                   "operation that it belongs to, /nccl_operation/id; 0: of another process"),
      base::column("channel", &R::channel, "number of the channel"),
      base::column("peer", &R::peer, "rank of the peer in the communicator"),
      base::column("is_send", &R::is_send, "1: a send; 0: a receive"),
      base::column("step", &R::step, "NCCL's number of the step"),
      base::column("bytes", &R::bytes, "bytes of the step"),
      base::column("start_ns", &R::start_ns, "start time, ns"),
      base::column(
          "first_ns", &R::first_ns,
          "when a send began to wait for the GPU, a receive for the network, ns; 0: never"),
      base::column("second_ns", &R::second_ns,
                   "when a send began to wait for its peer, a receive for the flush, ns; 0: never"),
      base::column(
          "third_ns", &R::third_ns,
          "when a send began to wait for the network, a receive for the GPU, ns; 0: never"),
      base::column("stop_ns", &R::stop_ns, "end time, ns"));
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
  return std::tuple(base::column("nccl_operation", &R::nccl_operation,
                                 "operation that it belongs to, /nccl_operation/id"),
                    base::column("kind", &R::kind, "the transport"),
                    base::column("request", &R::request,
                                 "id of the InfiniBand work request, or descriptor of the socket"),
                    base::column("bytes", &R::bytes, "number of bytes transferred"),
                    base::column("start_ns", &R::start_ns, "start time, ns"),
                    base::column("stop_ns", &R::stop_ns, "end time, ns"));
}

} // namespace ncclprobe::trace
