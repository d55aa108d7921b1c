// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "jobs.h"

#include <algorithm>

namespace ncclprobe::analysis::hang {
namespace {

constexpr std::int64_t k_second_ns = 1'000'000'000;

} // namespace

MadeJob::MadeJob(int ranks) {
  std::vector<int> all;
  for (int rank = 0; rank < ranks; ++rank) {
    all.push_back(rank);
    job.ranks.push_back({.rank = rank,
                         .host = "node",
                         .process = 100 + rank,
                         .state = ProcessState::alive,
                         .known_until_ns = 100 * k_second_ns,
                         .calls = {}});
  }
  group("world", all);
}

std::size_t MadeJob::group(const std::string& name, std::vector<int> ranks) {
  job.groups.push_back({"communicator", name, name, std::move(ranks)});
  return job.groups.size() - 1;
}

RankCalls& MadeJob::of(int rank) {
  return *std::ranges::find(job.ranks, rank, &RankCalls::rank);
}

Call& MadeJob::collective(const std::vector<int>& ranks, CallState state,
                          const std::string& function, std::size_t group, std::uint64_t count) {
  for (const int rank : ranks) {
    RankCalls& record = of(rank);
    Call call;
    call.group = group;
    call.state = state;
    call.function = function;
    call.number = numbers_[{group, rank, function}]++;
    call.position = positions_[{group, rank}]++;
    call.data_type = "float32";
    call.count = count;
    call.bytes = 4 * count;
    call.root = 0;
    call.at_ns = static_cast<std::int64_t>(record.calls.size() + 1) * k_second_ns;
    call.ended_ns = state == CallState::ended ? call.at_ns + k_second_ns / 2 : 0;
    record.calls.push_back(call);
  }
  return of(ranks.back()).calls.back();
}

Call& MadeJob::message(int rank, CallKind kind, int peer, CallState state, std::size_t group) {
  const std::string function = kind == CallKind::send ? "send" : "receive";
  Call& call = collective({rank}, state, function, group, 7);
  --positions_[{group, rank}];
  call.kind = kind;
  call.peer = peer;
  call.number = call.position = numbers_[{group, rank, function + std::to_string(peer)}]++;
  return call;
}

void MadeJob::forget(int rank) {
  std::erase_if(job.ranks, [&](const RankCalls& one) { return one.rank == rank; });
}

} // namespace ncclprobe::analysis::hang
