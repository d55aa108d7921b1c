// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/timeline/collectives.h"
#include "analysis/timeline/nccl_join.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

// Sends and their matching receives.
namespace ncclprobe::analysis::timeline {

// The same on both sides of a message, and unique in a trace.
struct MessageKey {
  std::uint64_t where = 0; // communicator, sender and receiver; of a schedule cell and batch too
  std::uint64_t which = 0; // its number in that direction
  auto operator<=>(const MessageKey&) const = default;
};

// One rank's side of a message.
struct MessageHalf {
  MessageKey key;
  bool sends = false;
  std::uint64_t amount = 0;   // bytes, or elements of `type`
  std::uint32_t type = 0;     // text; 0: bytes
  std::uint32_t activity = 0; // index
  // For people.
  int peer = -1;
  std::uint64_t number =
      0; // number in that direction, in the step or since the communicator's creation
};

struct MessageHalves {
  std::vector<MessageHalf> all; // by activity
  // Kernels that send or receive without a known peer.
  std::uint64_t kernels_untold = 0;
  // Sends and receives that NCCL reported, without a kernel or channel.
  std::uint64_t without_kernel = 0;
};

// Those of the steps, if there are any. From NCCL if its plugin was active, else from the schedule.
MessageHalves message_halves(const RankTrace& trace, int rank, const Activities& activities,
                             const Joined& joined, const OperationIndex& operations,
                             const TextTraits& traits, const TraceSource& source);

// The state of one side. matched: its other side was found. alone: not found. contradicted: the
// other side has another size. repeated: one of the two occurs more than once.
enum class MatchState : std::uint8_t { matched, alone, contradicted, repeated };
inline constexpr std::size_t k_match_states = 4;

// Sides of all ranks' messages; aligned times of their kernels.
class MessageTable {
public:
  struct Half {
    MessageKey key;
    Span span;
    std::uint64_t amount = 0;
    std::uint32_t type = 0;
    int rank = -1;
    bool sends = false;
  };
  struct Other {
    MatchState match = MatchState::alone;
    const Half* half = nullptr; // if they met
  };

  void add(const MessageHalf& half, Span aligned, int rank);
  void seal(); // after the last addition, before the first query
  Other other_half(const MessageHalf& half) const;
  std::size_t size() const { return halves_.size(); }

private:
  std::vector<Half> halves_;
};

} // namespace ncclprobe::analysis::timeline
