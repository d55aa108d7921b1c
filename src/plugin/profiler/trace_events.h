// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "plugin/profiler/event_queue.h"
#include "plugin/profiler/open_channels.h"
#include "plugin/profiler/open_events.h"
#include "plugin/profiler/provenance.h"
#include "plugin/profiler/words.h"
#include "trace/nccl_rows.h"

#include <variant>

// Data that travels from NCCL's threads to the thread that writes rows.
namespace ncclprobe::plugin {

struct CommunicatorMade {
  std::uint16_t communicator = 0; // index
};
struct OperationBegun {
  std::uint64_t at_ns = 0;
  std::uint64_t sequence = 0;
  std::uint64_t count = 0;
  std::uint32_t id = 0;
  std::uint32_t operation = 0;
  std::int32_t peer = -1;
  std::int32_t root = -1;
  std::uint16_t communicator = 0;
  std::uint8_t function = 0, data_type = 0, algorithm = 0, protocol = 0; // words
  std::uint8_t channels = 0, warps = 0;
  trace::NcclKind kind = trace::NcclKind::collective;
};
struct OperationEnqueued {
  std::uint64_t at_ns = 0;
  std::uint32_t id = 0;
};
using TraceEvent = std::variant<CommunicatorMade, OperationBegun, OperationEnqueued,
                                trace::NcclChannelRow, trace::NcclStepRow, trace::NcclNetworkRow>;

struct Communicator {
  std::uint64_t hash = 0;
  std::int32_t size = 0;
  std::int32_t rank = 0;
  std::int32_t global_rank = 0;
  std::int32_t nodes = 0;
  std::int32_t device = -1;   // CUDA's number; -1: unknown
  std::int32_t interface = 0; // interface version that NCCL chose
  Word<64> name;
  // For each peer, counts of sends to it and receives from it: NCCL does not number them. Never
  // freed, because NCCL may name a communicator at any time.
  std::atomic<std::uint32_t>* messages = nullptr;
  // Values at its creation; the thread that writes them frees them.
  Variables* variables = nullptr;
};

struct OpenProxyOperation {
  std::uint32_t operation = 0;
  std::int32_t peer = -1;
  std::uint8_t channel = 0;
  std::uint8_t is_send = 0;
};

// Zeroes until they are used, so they take no memory in a process without NCCL. 10 MB at most.
struct TraceState {
  static constexpr std::size_t k_events = 1 << 16;
  static constexpr std::size_t k_communicators = 1024;

  EventQueue<TraceEvent, k_events> events;
  static constexpr std::size_t k_channels = 8192;
  OpenEvents<trace::NcclChannelRow, k_channels> channels;
  OpenChannels<k_channels> open_channels; // the same, for a thread that looks while they run
  OpenEvents<OpenProxyOperation, 4096> proxy_operations;
  OpenEvents<trace::NcclStepRow, 16384> steps;
  OpenEvents<trace::NcclNetworkRow, 16384> network;
  WordTable words;
  std::array<Communicator, k_communicators> communicators;
  std::atomic<std::uint32_t> communicators_made{0};
  std::atomic<std::uint32_t> operations_made{0};
  std::atomic<std::uint32_t> current_operation{0};
  std::atomic<std::uint64_t> operations_left_out{0}; // because of a limit
  std::atomic<int*> mask{nullptr};                   // NCCL's, until it is lowered

  std::uint64_t lost() const {
    return events.lost() + channels.lost() + proxy_operations.lost() + steps.lost() +
           network.lost();
  }
};

} // namespace ncclprobe::plugin
