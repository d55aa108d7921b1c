// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "plugin/tuner/abi.h"
#include "tuning/lookup.h"

#include <cstdint>
#include <optional>
#include <span>

// Decides for NCCL's interfaces. There are two implementations: the choice of the running cell in a
// worker (chosen.cpp), and a table in any other program (table_tuner/). Each is linked with
// exports.cpp.
namespace ncclprobe::plugin {

// A call about which NCCL asks.
struct TunedCall {
  int collective = 0; // ncclFunc_t, an index of tuning::k_tuned_collectives
  std::uint64_t bytes = 0;
  int operations = 1; // of the group, which NCCL runs as one
  std::span<float> costs;
  int protocols = 0;       // columns of `costs`
  int* channels = nullptr; // 0: NCCL's number

  // Null if this NCCL does not know the algorithm or the protocol.
  float* cost(tuning::Algorithm algorithm, tuning::Protocol protocol) const {
    const auto column = static_cast<std::size_t>(protocol);
    const std::size_t width = static_cast<std::size_t>(protocols);
    const std::size_t at = static_cast<std::size_t>(algorithm) * width + column;
    return column < width && at < costs.size() ? &costs[at] : nullptr;
  }
};

// A communicator's context. Null: NCCL shall not create it; the reason was logged. `interface`: the
// version by which NCCL calls.
void* open_tuned_communicator(int interface, const tuning::Shape& shape, tuner_abi::Logger log);
// Changes the costs and the channels of the call, or nothing. Never fails, because NCCL would pass
// the failure on to the collective. Allocates nothing and does not wait.
void decide(void* context, const TunedCall& call) noexcept;
// `context` may be null: NCCL also closes what it could not open.
void close_tuned_communicator(void* context);

} // namespace ncclprobe::plugin
