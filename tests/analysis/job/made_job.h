// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/timeline/rank_trace.h"

#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <vector>

// Captured jobs made by hand: what each rank asked NCCL for, one operation after the other.
namespace ncclprobe::analysis::job {

inline constexpr std::uint64_t k_mib = 1 << 20;
inline constexpr std::int64_t k_ms = 1'000'000;
inline constexpr int k_simulated_steps = 50; // enough to know what is usual

// From 0 on, below `most`.
inline std::int64_t noise_ns(std::mt19937_64& random, std::int64_t most) {
  return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(most));
}

class MadeJob {
public:
  explicit MadeJob(int ranks) : ranks_(static_cast<std::size_t>(ranks)) {}

  // Of these ranks (ascending); returns its number.
  int communicator(std::vector<int> ranks);
  // Its ranks compute for this long, each since its last operation.
  void compute(std::int64_t ns) {
    for (Rank& rank : ranks_)
      rank.now_ns += ns;
  }
  // One rank computes alone.
  void compute(int rank, std::int64_t ns) { of(rank).now_ns += ns; }
  // On all ranks of a communicator: it begins on each when that has come, and ends on all together.
  void collective(int communicator, const char* function, std::uint64_t bytes);
  // The same at these times, on each of its ranks.
  struct Part {
    std::int64_t enqueued_ns = 0, begin_ns = 0, end_ns = 0;
  };
  void collective(int communicator, const char* function, std::uint64_t bytes,
                  const std::vector<Part>& parts);
  // As the first, beside computing, which goes on at once. Operations of a communicator follow each
  // other.
  void collective_beside(int communicator, const char* function, std::uint64_t bytes);
  // Its ranks compute only after what runs beside computing.
  void wait(int communicator);
  // Ranks within the communicator. It takes this much longer than usual.
  void message(int communicator, int from, int to, std::uint64_t bytes, std::int64_t longer_ns = 0);

  // As CUPTI records them. All work that begins in a window must be added.
  void kernels_recorded(int rank, std::int64_t from_ns, std::int64_t to_ns);
  void computing_kernel(int rank, std::int64_t from_ns, std::int64_t to_ns);
  void copy(int rank, std::int64_t from_ns, std::int64_t to_ns,
            trace::CopyKind kind = trace::CopyKind::device_to_device);

  // An NVTX range of the rank's host.
  void range(int rank, const char* name, std::int64_t from_ns, std::int64_t to_ns, int level = 0);

  timeline::TraceSource source() const;
  std::int64_t now_ns(int rank) const { return ranks_[static_cast<std::size_t>(rank)].now_ns; }

private:
  struct Rank {
    timeline::RankTrace trace;
    std::int64_t now_ns = 1'000'000;
  };
  void collective_at(int communicator, const char* function, std::uint64_t bytes,
                     const std::vector<Part>& ready);
  Rank& of(int rank) { return ranks_[static_cast<std::size_t>(rank)]; }
  void add(int rank, int communicator, const std::string& function, std::uint64_t bytes, int peer,
           std::uint64_t sequence, const Part& part);
  std::uint32_t text(const std::string& text);

  std::vector<Rank> ranks_;
  std::vector<std::vector<int>> communicators_;
  std::map<int, std::int64_t> free_ns_; // by communicator: what runs beside computing ends
  std::map<std::pair<int, std::string>, std::uint64_t> sequences_;
  std::vector<std::string> texts_{""};
};

// Two pipelines of two stages (communicators 0 and 1), whose stages are data-parallel (2 and 3).
// In every fifth step the first stage of pipeline 0 is late, or its messages are slow.
MadeJob pipelines(std::int64_t late_ns, std::int64_t slow_ns);

} // namespace ncclprobe::analysis::job
