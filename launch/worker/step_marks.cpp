// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/worker/step_marks.h"

#include <algorithm>

namespace ncclprobe::worker {

namespace {

bool is_captured(const model::Schedule& schedule, int operation) {
  return schedule.capture && operation >= schedule.capture->first &&
         operation < schedule.capture->last;
}

bool captures_markers(const model::Schedule& schedule) {
  for (int i = schedule.timed.first; i < schedule.timed.last; ++i)
    if (is_captured(schedule, i) &&
        std::holds_alternative<model::MarkerOp>(schedule.operations[i].what))
      return true;
  return false;
}

} // namespace

StepMarks::Lane& StepMarks::lane(std::size_t local_rank, int operation) {
  auto [found, is_new] = lanes_[local_rank].try_emplace(operation);
  Lane& lane = found->second;
  if (!is_new)
    return lane;
  lane.launch_ = &launch_;
  lane.captured_ = is_captured(schedule_, operation);
  if (lane.captured_) // it is recorded as soon as the graph is created
    lane.events_.push_back(ranks_[local_rank].device->create_event(backend::EventUse::time));
  return lane;
}

std::size_t StepMarks::in_process() const {
  std::size_t all = 0;
  for (const auto& lanes : lanes_)
    all += lanes.size();
  return all;
}

std::size_t StepMarks::most_of_one_rank() const {
  std::size_t most = 0;
  for (const auto& lanes : lanes_)
    most = std::max(most, lanes.size());
  return most;
}

void StepMarks::make_events(int launches) {
  for (std::size_t local_rank = 0; local_rank < lanes_.size(); ++local_rank)
    for (auto& [operation, lane] : lanes_[local_rank])
      while (!lane.captured_ && lane.events_.size() < static_cast<std::size_t>(launches))
        lane.events_.push_back(ranks_[local_rank].device->create_event(backend::EventUse::time));
}

// Within a launch, times count from its first mark: devices report differences with few digits, so
// short ones are exact only between close events.
void StepMarks::read(int batch, int launches, std::vector<model::CellRecord>& results) {
  for (std::size_t local_rank = 0; local_rank < lanes_.size(); ++local_rank) {
    backend::Device& device = *ranks_[local_rank].device;
    backend::Event* first_of_batch = nullptr;
    for (int launch = 0; launch < launches; ++launch) {
      backend::Event* first = nullptr;
      std::int64_t first_ns = 0;
      for (auto& [operation, lane] : lanes_[local_rank]) {
        if (lane.captured_ && launch + 1 < launches)
          continue;
        backend::Event* event =
            lane.events_[lane.captured_ ? 0 : static_cast<std::size_t>(launch)].get();
        if (first_of_batch == nullptr)
          first_of_batch = event;
        if (first == nullptr) {
          first = event;
          first_ns = first == first_of_batch ? 0 : device.elapsed_ns(*first_of_batch, *first);
        }
        std::int64_t since_first_ns = event == first ? 0 : device.elapsed_ns(*first, *event);
        results[local_rank].marks.push_back(
            {ranks_[local_rank].rank, batch, launch, operation, first_ns + since_first_ns});
      }
    }
  }
}

MarkLimits mark_limits(int wanted, std::size_t in_process, std::size_t of_one_rank) {
  auto at_most = [](std::size_t all, std::size_t each) {
    return static_cast<int>(std::clamp<std::size_t>(all / std::max<std::size_t>(each, 1), 1, all));
  };
  MarkLimits limits;
  limits.launches = std::min(wanted, at_most(k_most_events, in_process));
  limits.batches = at_most(k_most_marks, of_one_rank * static_cast<std::size_t>(limits.launches));
  return limits;
}

std::string remark_on_marks(const model::Schedule& schedule, int wanted, const MarkLimits& limits,
                            int batches) {
  std::vector<std::string> remarks;
  if (limits.launches < wanted)
    remarks.push_back(fmt::format("batches of {} steps instead of {}, so that their marks fit",
                                  limits.launches, wanted));
  if (batches > limits.batches)
    remarks.push_back(fmt::format("marks of the first {} batches only", limits.batches));
  if (captures_markers(schedule))
    remarks.push_back("marks within the graph are of the last step of each batch only");
  return fmt::format("{}", fmt::join(remarks, "; "));
}

} // namespace ncclprobe::worker
