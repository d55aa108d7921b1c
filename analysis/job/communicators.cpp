// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/job/communicators.h"

#include "analysis/job/step_numbers.h"

#include <algorithm>
#include <unordered_map>

namespace ncclprobe::analysis::job {
namespace {

constexpr std::size_t k_most_sizes = 256; // of a communicator's functions; further ones count as 0
constexpr std::uint64_t k_many_of_a_step = 16;
constexpr double k_nearly_all = 0.8;

struct Sums {
  double operations = 0;
  double bytes = 0;
  std::uint64_t largest = 0;
  double of_usual_size = 0; // operations of the most frequent size
};

Sums sums_of(const CommunicatorUse& use, std::string_view function) {
  Sums sums;
  for (const auto& [what, one] : use.operations) {
    if (what.first != function)
      continue;
    const auto operations = static_cast<double>(one.operations);
    sums.operations += operations;
    sums.bytes += operations * static_cast<double>(what.second);
    sums.largest = std::max(sums.largest, what.second);
    sums.of_usual_size = std::max(sums.of_usual_size, operations);
  }
  return sums;
}

double bytes_of(const CommunicatorUse& use) {
  double bytes = 0;
  for (const auto& [what, one] : use.operations)
    bytes += static_cast<double>(one.operations) * static_cast<double>(what.second);
  return bytes;
}

// By the sends: to oneself, or to many others, is an exchange of all with all. To the next and the
// previous rank only, without those that close a ring, is a pipeline.
Role role_of_messages(const CommunicatorUse& use, int size) {
  if (use.distances.contains(0) || (size > 3 && use.distances.size() > 2))
    return Role::expert;
  const bool are_neighbours =
      std::ranges::all_of(use.distances, [](int by) { return by == 1 || by == -1; });
  return are_neighbours && !use.distances.empty() ? Role::pipeline : Role::unknown;
}

} // namespace

void add_use(JobCommunicators& to, int rank, const timeline::RankTrace& trace,
             std::span<const JobOperation> operations, std::span<const std::uint32_t> kinds,
             const std::vector<std::string>& texts) {
  struct Own {
    JobCommunicator* communicator = nullptr;
    int rank = 0;
    std::uint32_t last_function = 0;
  };
  std::unordered_map<std::uint16_t, Own> by_id;
  auto text = [&](trace::TextId id) { return id.id < texts.size() ? texts[id.id] : ""; };
  for (const trace::CommunicatorRow& row : trace.communicators) {
    JobCommunicator& one = to[row.hash];
    one.name = text(row.name);
    one.size = row.ranks;
    one.ranks[row.rank] = rank;
    by_id[row.id] = {&one, row.rank, 0};
  }
  for (std::size_t i = 0; i < operations.size(); ++i) {
    if (kinds[i] == k_outside)
      continue;
    const trace::NcclOperationRow& row = trace.nccl_operations[operations[i].row];
    Own& own = by_id.at(row.communicator);
    CommunicatorUse& use = own.communicator->uses[kinds[i]];
    const std::string function = text(row.function);
    std::pair key{function, operations[i].bytes};
    if (use.operations.size() >= k_most_sizes && !use.operations.contains(key))
      key.second = 0;
    OperationUse& sum = use.operations[key];
    ++sum.operations;
    if (operations[i].on_gpu)
      sum.busy_ns += operations[i].end_ns - operations[i].begin_ns;
    if (row.kind == trace::NcclKind::send)
      use.distances.insert(row.peer - own.rank);
    use.gathers_in_a_row += function == "AllGather" && own.last_function == row.function.id;
    own.last_function = row.function.id;
  }
}

Role role_of(const JobCommunicator& communicator, const std::vector<std::uint64_t>& steps) {
  const CommunicatorUse* use = nullptr;
  double most_bytes = -1, rank_steps = 1;
  for (const auto& [kind, one] : communicator.uses)
    if (const double bytes = bytes_of(one); bytes > most_bytes) {
      use = &one;
      most_bytes = bytes;
      rank_steps = static_cast<double>(std::max<std::uint64_t>(1, steps[kind])) *
                   static_cast<double>(std::max<std::size_t>(1, communicator.ranks.size()));
    }
  if (use == nullptr || communicator.size < 2)
    return Role::unknown;
  const Sums reductions = sums_of(*use, "AllReduce"), gathers = sums_of(*use, "AllGather"),
             scatters = sums_of(*use, "ReduceScatter"), sends = sums_of(*use, "Send"),
             exchanges = sums_of(*use, "AlltoAll");
  if (std::ranges::all_of(use->operations,
                          [](const auto& one) { return one.first.second <= k_control_bytes; }))
    return Role::control;
  if (exchanges.bytes > k_nearly_all * most_bytes)
    return Role::expert;
  if (2 * sends.bytes + exchanges.bytes > k_nearly_all * most_bytes)
    return role_of_messages(*use, communicator.size);
  // Layers of equal size: many equal operations, where gradients come in few or in different ones.
  if (reductions.bytes > k_nearly_all * most_bytes)
    return reductions.of_usual_size >= k_nearly_all * reductions.operations &&
                   reductions.operations >= static_cast<double>(k_many_of_a_step) * rank_steps
               ? Role::tensor
               : Role::data;
  // Shards are gathered layer by layer in the forward pass; sequences of tensor-parallel layers in
  // turns with what scatters them.
  if (gathers.operations > 0 && scatters.operations > 0 &&
      gathers.bytes + scatters.bytes > k_nearly_all * most_bytes) {
    const auto in_a_row = static_cast<double>(use->gathers_in_a_row);
    return in_a_row >= 0.2 * gathers.operations || gathers.operations <= 2 * rank_steps
               ? Role::sharded_data
               : Role::tensor;
  }
  return Role::unknown;
}

} // namespace ncclprobe::analysis::job
