// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/job/rebucketed.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

namespace ncclprobe::analysis::job {
namespace {

constexpr std::uint64_t k_small_first_bytes = 2 << 20;

// What becomes of one gradient.
struct GradientFate {
  bool joins_next = false;
  std::uint64_t bytes = 0; // of the whole bucket that it ends
  std::size_t first = 0;   // gradient of the step with which that bucket begins
  std::size_t parts = 1;   // into which it is divided
};

// Of the gradients of a step, in their order.
std::vector<GradientFate> fates(const std::vector<std::uint64_t>& sizes, std::uint64_t wanted) {
  std::vector<GradientFate> out(sizes.size());
  std::uint64_t sum = 0;
  std::size_t first = 0;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    sum += sizes[i];
    const bool stays = i == 0 && sizes.size() > 1 && sizes[i] <= k_small_first_bytes;
    const bool is_full = sum >= wanted || i + 1 == sizes.size() || stays;
    out[i].joins_next = !is_full;
    if (!is_full)
      continue;
    out[i].bytes = sum;
    out[i].first = first;
    if (first == i && !stays)
      out[i].parts =
          std::max<std::size_t>(1, static_cast<std::size_t>(std::llround(
                                       static_cast<double>(sum) / static_cast<double>(wanted))));
    sum = 0;
    first = i + 1;
  }
  return out;
}

class Rebucketing {
public:
  Rebucketing(const StepGraph& graph, StepRun& run, MeasuredRun& measured, const GradientCost& cost,
              std::uint64_t bytes, const std::vector<std::string>& texts)
      : graph_(graph), run_(run), measured_(measured), cost_(cost), bytes_(bytes), texts_(texts) {}

  std::uint64_t change() {
    for (std::size_t rank = 0; rank < run_.ranks.size(); ++rank)
      change(rank);
    return gradients_;
  }

private:
  void change(std::size_t rank) {
    const std::vector<GraphOperation> operations = std::move(run_.ranks[rank]);
    const std::vector<MeasuredOperation> measured = std::move(measured_[rank]);
    run_.ranks[rank].clear();
    measured_[rank].clear();
    std::int64_t carried_ns = 0; // gaps of operations that are left out
    std::vector<std::uint32_t> new_places(operations.size());
    for (std::size_t first = 0, last = 0; first < operations.size(); first = last) {
      std::map<std::uint32_t, std::vector<std::size_t>> gradients; // by communicator
      for (; last < operations.size() && operations[last].step == operations[first].step; ++last)
        if (is_gradient(graph_, operations[last], texts_) && !operations[last].with_previous)
          gradients[operations[last].communicator].push_back(last);
      std::map<std::size_t, std::pair<GradientFate, double>> by_operation; // and its duration
      for (const auto& [communicator, all] : gradients) {
        std::vector<std::uint64_t> sizes;
        for (std::size_t i : all)
          sizes.push_back(operations[i].bytes);
        const std::vector<GradientFate> of_step = fates(sizes, bytes_);
        for (std::size_t k = 0; k < all.size(); ++k) {
          double seen_ns = 0, modelled_ns = 0;
          for (std::size_t part = of_step[k].first; part <= k; ++part) {
            seen_ns += static_cast<double>(measured[all[part]].duration_ns);
            modelled_ns += cost_.of(static_cast<double>(sizes[part]));
          }
          const double whole_ns = cost_.of(static_cast<double>(of_step[k].bytes) /
                                           static_cast<double>(of_step[k].parts));
          const bool is_same = of_step[k].first == k && of_step[k].parts == 1;
          by_operation[all[k]] = {
              of_step[k], is_same || modelled_ns <= 0 ? seen_ns : seen_ns / modelled_ns * whole_ns};
        }
        gradients_ += all.size();
      }
      for (std::size_t i = first; i < last; ++i) {
        GraphOperation operation = operations[i];
        MeasuredOperation one = measured[i];
        new_places[i] = static_cast<std::uint32_t>(measured_[rank].size());
        if (one.slowed.by_ns > 0)
          renumber_waits(one, new_places, new_places[i]);
        const auto fate = by_operation.find(i);
        if (fate != by_operation.end() && fate->second.first.joins_next) {
          carried_ns += one.gap_ns;
          continue;
        }
        one.gap_ns += std::exchange(carried_ns, 0);
        const std::size_t parts = fate == by_operation.end() ? 1 : fate->second.first.parts;
        if (fate != by_operation.end()) {
          operation.bytes = fate->second.first.bytes / parts;
          one.duration_ns = std::llround(fate->second.second);
        }
        const std::int64_t gap_ns = one.gap_ns, slowed_ns = one.slowed.by_ns;
        for (std::size_t part = 0; part < parts; ++part) {
          one.gap_ns = gap_ns / static_cast<std::int64_t>(parts);
          one.slowed.by_ns = slowed_ns / static_cast<std::int64_t>(parts);
          operation.meeting =
              part == 0 ? operations[i].meeting : meeting_of(operations[i].meeting, part);
          run_.ranks[rank].push_back(operation);
          measured_[rank].push_back(one);
        }
      }
    }
  }

  // Operations that waited beside its gap have other places now. What is joined with it does not
  // wait.
  static void renumber_waits(MeasuredOperation& one, const std::vector<std::uint32_t>& new_places,
                             std::uint32_t own) {
    std::vector<std::uint32_t> beside;
    for (std::uint32_t i : one.slowed.beside)
      if (new_places[i] < own && (beside.empty() || beside.back() < new_places[i]))
        beside.push_back(new_places[i]);
    if (beside.empty())
      one.set_gap(one.undisturbed_gap_ns());
    else
      one.slowed.beside = std::move(beside);
  }

  std::uint32_t meeting_of(std::uint32_t whole, std::size_t part) {
    const auto [at, is_new] =
        parts_.try_emplace({whole, part}, static_cast<std::uint32_t>(run_.meetings.size()));
    if (is_new)
      run_.meetings.push_back(run_.meetings[whole]);
    return at->second;
  }

  const StepGraph& graph_;
  StepRun& run_;
  MeasuredRun& measured_;
  const GradientCost& cost_;
  std::uint64_t bytes_;
  const std::vector<std::string>& texts_;
  std::map<std::pair<std::uint32_t, std::size_t>, std::uint32_t> parts_; // their meetings
  std::uint64_t gradients_ = 0;
};

} // namespace

bool is_gradient(const StepGraph& graph, const GraphOperation& operation,
                 const std::vector<std::string>& texts) {
  const OperationClass& of = graph.classes[graph.slots[operation.slot].group];
  return of.role == Role::data && of.function < texts.size() && texts[of.function] == "AllReduce" &&
         operation.bytes > k_control_bytes;
}

GradientCost gradient_cost(const StepGraph& graph, const StepModel& model) {
  std::map<std::uint64_t, std::pair<double, double>> sizes; // sum and number of usual durations
  for (const StepRun& run : graph.runs)
    for (const auto& operations : run.ranks)
      for (const GraphOperation& one : operations)
        if (graph.classes[graph.slots[one.slot].group].role == Role::data &&
            one.bytes > k_control_bytes)
          if (const auto usual = model.typical.usual_duration[one.slot]) {
            sizes[one.bytes].first += *usual;
            ++sizes[one.bytes].second;
          }
  double n = 0, x = 0, y = 0, xx = 0, xy = 0;
  for (const auto& [bytes, sum] : sizes) {
    const auto at = static_cast<double>(bytes);
    const double ns = sum.first / sum.second;
    ++n, x += at, y += ns, xx += at * at, xy += at * ns;
  }
  GradientCost cost;
  if (x <= 0)
    return cost;
  const double spread = n * xx - x * x;
  if (n > 1 && spread > 0) {
    cost.ns_per_byte = std::max(0.0, (n * xy - x * y) / spread);
    cost.latency_ns = std::max(0.0, (y - cost.ns_per_byte * x) / n);
  }
  if (n == 1 || cost.latency_ns == 0) // of one size, nobody knows the latency
    cost.ns_per_byte = y / x;
  return cost;
}

std::uint64_t rebucket(const StepGraph& graph, StepRun& run, MeasuredRun& measured,
                       const GradientCost& cost, std::uint64_t bytes,
                       const std::vector<std::string>& texts) {
  return Rebucketing(graph, run, measured, cost, bytes, texts).change();
}

} // namespace ncclprobe::analysis::job
