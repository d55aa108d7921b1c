// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/hang/verdict.h"

#include <map>
#include <string>
#include <tuple>
#include <vector>

namespace ncclprobe::analysis::hang {

// A job of made-up calls. Each call is one second after the rank's last one; the record ends at 100
// s.
class MadeJob {
public:
  explicit MadeJob(int ranks);

  std::size_t group(const std::string& name, std::vector<int> ranks); // group 0 has all ranks
  // On these ranks; the call that was added last is returned.
  Call& collective(const std::vector<int>& ranks, CallState state,
                   const std::string& function = "all_reduce", std::size_t group = 0,
                   std::uint64_t count = 1024);
  Call& message(int rank, CallKind kind, int peer, CallState state, std::size_t group = 0);
  // The rank leaves no record.
  void forget(int rank);

  Verdict judged() const { return judge(job, 5'000'000'000); }
  Job job;

private:
  RankCalls& of(int rank);
  std::map<std::tuple<std::size_t, int, std::string>, std::uint64_t> numbers_;
  std::map<std::pair<std::size_t, int>, std::uint64_t> positions_;
};

} // namespace ncclprobe::analysis::hang
