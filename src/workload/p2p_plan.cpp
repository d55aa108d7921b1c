// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "workload/p2p_plan.h"

#include "workload/p2p_benchmark.h"
#include "workload/schedule_rules.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace ncclprobe::workload {
namespace {

using namespace model;
using enum P2pMethod;

constexpr std::uint64_t k_mib = std::uint64_t{1} << 20;

bool is_message(P2pMethod method) {
  return method == sendrecv || method == pingpong;
}
bool is_with_host(P2pMethod method) {
  return method == host || method == pageable;
}

std::uint64_t default_size(const P2pRequest& request, P2pMethod method) {
  if (request.backend == "host")
    return 4 * k_mib;
  switch (method) {
  case staged:
  case pageable:
    return 64 * k_mib;
  case host:
    return 128 * k_mib;
  default:
    return 512 * k_mib;
  }
}

class Planner {
public:
  explicit Planner(const P2pRequest& request)
      : request_(request), ranks_(static_cast<int>(request.host_of_rank.size())) {
    std::map<int, std::vector<int>> by_host;
    for (int rank = 0; rank < ranks_; ++rank)
      by_host[request.host_of_rank[rank]].push_back(rank);
    for (auto& [number, ranks] : by_host) {
      most_on_a_host_ = std::max(most_on_a_host_, static_cast<int>(ranks.size()));
      hosts_.push_back(std::move(ranks));
    }
  }

  Result<Plan> make() {
    std::vector<P2pMethod> methods = request_.methods;
    if (methods.empty())
      methods = default_p2p_methods(request_);
    std::erase_if(methods, [&](P2pMethod method) { return !keeps(method); });
    // Direct paths are disabled for it, and enabled again for what follows.
    std::stable_partition(methods.begin(), methods.end(),
                          [](P2pMethod method) { return method == staged; });
    for (P2pMethod method : methods) {
      if (measures_latency(method))
        add_latency(method);
      else
        for (std::uint64_t bytes : sizes(method))
          add_bandwidth(method, bytes);
    }
    if (cells_.empty())
      return fail(
          Error{Errc::invalid_argument,
                plan_.notes.empty() ? "there is nothing to measure" : plan_.notes.front(),
                ranks_ < 2 ? "a pair needs two ranks" : "see `ncclprobe p2p --help` for methods"});
    for (Cell& cell : cells_) {
      cell.deadline_ns = request_.cell_deadline_ns;
      NCCLPROBE_TRY(check_schedule(cell.schedule, ranks_));
    }
    for (int replicate = 0; replicate < request_.repeats; ++replicate)
      add_trial(replicate);
    return std::move(plan_);
  }

private:
  bool leave_out(P2pMethod method, const std::string& why) {
    plan_.notes.push_back(fmt::format("{}: {}", model::to_string(method), why));
    return false;
  }

  bool keeps(P2pMethod method) {
    bool message = is_message(method);
    if (request_.backend == "host" && !message)
      return leave_out(method, is_with_host(method) ? "CPU ranks only have the host's memory"
                                                    : "CPU processes can only exchange messages");
    if (message && ranks_ < 2)
      return leave_out(method, "there is only one rank");
    if (request_.mode == P2pMode::ipc && (method == staged || is_with_host(method)))
      return leave_out(method, "it does not depend on the mode: measured with --mode direct");
    if (method == staged && hosts_.size() > 1)
      return leave_out(method, "NCCL connects the hosts and uses the direct paths itself");
    if (!message && !is_with_host(method) && method != latency && most_on_a_host_ < 2)
      return leave_out(method, "no host has two of the GPUs");
    return true;
  }

  std::vector<std::uint64_t> sizes(P2pMethod method) {
    std::vector<std::uint64_t> sizes = request_.sizes;
    if (!sizes.empty())
      return sizes;
    std::uint64_t bytes = default_size(request_, method);
    if (request_.memory_bytes) // two buffers, and space for other allocations there
      while (bytes > k_mib && 4 * bytes > *request_.memory_bytes)
        bytes /= 2;
    return {bytes};
  }

  bool wants(P2pDirection direction) const {
    const auto& all = request_.directions;
    return all.empty() || std::ranges::find(all, direction) != all.end();
  }

  void add(P2pMethod method, P2pDirection direction, std::vector<P2pTransfer> transfers,
           std::uint64_t bytes) {
    if (transfers.empty())
      return;
    P2pCellRequest cell;
    cell.label = {request_.mode, method, direction, std::move(transfers)};
    cell.bytes = bytes;
    cell.ranks = ranks_;
    if (request_.mode == P2pMode::ipc && !is_message(method))
      cell.shared_bytes = shared_bytes();
    cells_.push_back(make_p2p_cell(cell));
  }

  // As large as the largest cell needs, so they are mapped once.
  std::uint64_t shared_bytes() {
    std::uint64_t largest = k_chain_bytes;
    for (P2pMethod method : {ce, ce_read, sm_write, sm_read})
      for (std::uint64_t bytes : sizes(method))
        largest = std::max(largest, bytes);
    return largest;
  }

  // The transfers between the ranks at two positions on a host, on all hosts that have both.
  std::vector<P2pTransfer> between(int from, int to) const {
    std::vector<P2pTransfer> transfers;
    for (const std::vector<int>& ranks : hosts_)
      if (std::max(from, to) < std::ssize(ranks))
        transfers.push_back({{false, ranks[from]}, {false, ranks[to]}});
    return transfers;
  }

  using Pairs = std::vector<std::vector<P2pTransfer>>;
  // Each with the transfers that run beside it on other hosts.
  Pairs ordered_pairs(P2pMethod method) const {
    Pairs pairs;
    if (is_message(method)) {
      for (int from = 0; from < ranks_; ++from)
        for (int to = 0; to < ranks_; ++to)
          if (from != to)
            pairs.push_back({{{false, from}, {false, to}}});
      return pairs;
    }
    for (int from = 0; from < most_on_a_host_; ++from)
      for (int to = 0; to < most_on_a_host_; ++to)
        if (from != to)
          pairs.push_back(between(from, to));
    return pairs;
  }

  static std::vector<P2pTransfer> both_ways(const std::vector<P2pTransfer>& transfers) {
    std::vector<P2pTransfer> both;
    for (const P2pTransfer& one : transfers) {
      both.push_back(one);
      both.push_back({one.to, one.from});
    }
    return both;
  }

  // Round `distance`: each rank sends to the one that many positions after it.
  std::vector<P2pTransfer> round(P2pMethod method, int distance) const {
    std::vector<P2pTransfer> transfers;
    auto add_ring = [&](const std::vector<int>& ranks) {
      int size = static_cast<int>(ranks.size());
      for (int i = 0; distance < size && i < size; ++i)
        transfers.push_back({{false, ranks[i]}, {false, ranks[(i + distance) % size]}});
    };
    if (is_message(method)) {
      std::vector<int> all(ranks_);
      std::iota(all.begin(), all.end(), 0);
      add_ring(all);
    } else {
      for (const std::vector<int>& ranks : hosts_)
        add_ring(ranks);
    }
    return transfers;
  }

  void add_bandwidth(P2pMethod method, std::uint64_t bytes) {
    if (is_with_host(method))
      return add_with_host(method, bytes);
    Pairs pairs = ordered_pairs(method);
    if (wants(P2pDirection::uni))
      for (const auto& pair : pairs)
        add(method, P2pDirection::uni, pair, bytes);
    if (wants(P2pDirection::bi))
      for (const auto& pair : pairs)
        if (pair.front().from < pair.front().to)
          add(method, P2pDirection::bi, both_ways(pair), bytes);
    if (!wants(P2pDirection::all))
      return;
    int others = (is_message(method) ? ranks_ : most_on_a_host_) - 1;
    std::vector<P2pTransfer> together;
    for (int distance = 1; distance <= others; ++distance) {
      std::vector<P2pTransfer> transfers = round(method, distance);
      together.insert(together.end(), transfers.begin(), transfers.end());
      if (others > 1) // with two ranks it is the same as both ways
        add(method, P2pDirection::all, std::move(transfers), bytes);
    }
    // Blocks as large as the receiver's buffer allows, in whole cache lines.
    std::uint64_t block = bytes / static_cast<std::uint64_t>(ranks_) / 128 * 128;
    if (others > 1 && block > 0)
      add(method, P2pDirection::together, std::move(together), block);
  }

  void add_with_host(P2pMethod method, std::uint64_t bytes) {
    std::vector<P2pTransfer> all_to_devices;
    std::vector<P2pTransfer> all_to_hosts;
    auto on_all_hosts = [&](int place, bool to_device) {
      std::vector<P2pTransfer> transfers = between(place, place);
      for (P2pTransfer& one : transfers)
        (to_device ? one.from : one.to).host = true;
      return transfers;
    };
    for (int place = 0; place < most_on_a_host_; ++place)
      for (bool to_device : {true, false}) {
        auto transfers = on_all_hosts(place, to_device);
        auto& all = to_device ? all_to_devices : all_to_hosts;
        all.insert(all.end(), transfers.begin(), transfers.end());
        if (wants(P2pDirection::uni))
          add(method, P2pDirection::uni, std::move(transfers), bytes);
      }
    if (method == pageable) // the host copies part of the data itself, one transfer after the other
      return;
    if (wants(P2pDirection::bi))
      for (int place = 0; place < most_on_a_host_; ++place)
        add(method, P2pDirection::bi, both_ways(on_all_hosts(place, true)), bytes);
    if (wants(P2pDirection::all) && most_on_a_host_ > 1) {
      add(method, P2pDirection::all, std::move(all_to_devices), bytes);
      add(method, P2pDirection::all, std::move(all_to_hosts), bytes);
    }
  }

  void add_latency(P2pMethod method) {
    if (method == pingpong) {
      for (const auto& pair : ordered_pairs(method))
        if (pair.front().from < pair.front().to)
          add(method, P2pDirection::uni, pair, sizeof(std::uint64_t));
      return;
    }
    for (int place = 0; place < most_on_a_host_; ++place) // its own memory, for comparison
      add(method, P2pDirection::uni, between(place, place), k_chain_bytes);
    for (const auto& pair : ordered_pairs(method))
      add(method, P2pDirection::uni, pair, k_chain_bytes);
    if (request_.mode == P2pMode::direct)
      for (int place = 0; place < most_on_a_host_; ++place) {
        auto transfers = between(place, place);
        for (P2pTransfer& one : transfers)
          one.to.host = true;
        add(method, P2pDirection::uni, std::move(transfers), k_chain_bytes);
      }
  }

  void add_trial(int replicate) {
    TrialSpec trial;
    trial.id = static_cast<int>(plan_.trials.size());
    trial.name = "p2p";
    trial.replicate = replicate;
    trial.backend = request_.backend;
    trial.ranks = ranks_;
    trial.seed = request_.seed;
    trial.libraries = request_.libraries;
    trial.cells = cells_;
    trial.startup_deadline_ns = request_.startup_deadline_ns;
    plan_.trials.push_back(std::move(trial));
  }

  const P2pRequest& request_;
  int ranks_;
  int most_on_a_host_ = 0;
  std::vector<std::vector<int>> hosts_; // ranks of each
  std::vector<Cell> cells_;
  Plan plan_;
};

} // namespace

std::vector<P2pMethod> default_p2p_methods(const P2pRequest& request) {
  if (request.backend == "host")
    return {sendrecv, pingpong};
  std::vector<P2pMethod> methods{ce, ce_read, sm_write, sm_read, latency};
  if (request.mode == P2pMode::direct) {
    methods.push_back(host);
    methods.push_back(staged);
  }
  if (std::ranges::any_of(request.host_of_rank,
                          [&](int one) { return one != request.host_of_rank.front(); })) {
    std::erase(methods, staged); // NCCL connects the hosts, and keeps the direct paths enabled
    methods.push_back(sendrecv);
    methods.push_back(pingpong);
  }
  return methods;
}

Result<Plan> make_p2p_plan(const P2pRequest& request) {
  if (request.host_of_rank.empty())
    return fail(Errc::invalid_argument, "there is no rank");
  return Planner(request).make();
}

} // namespace ncclprobe::workload
