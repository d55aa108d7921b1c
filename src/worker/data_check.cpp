// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "worker/data_check.h"

#include <algorithm>
#include <set>

namespace ncclprobe::worker {

using namespace model;

namespace {

// Buffers that an operation writes; `uses` takes all that it touches.
std::vector<int> written_by(const Operation& operation, std::set<int>& uses) {
  if (const auto* op = std::get_if<CollectiveOp>(&operation.what)) {
    uses.insert({op->send.buffer, op->receive.buffer});
    return {op->receive.buffer};
  }
  if (const auto* send = std::get_if<SendOp>(&operation.what)) {
    uses.insert(send->from.buffer);
  } else if (const auto* receive = std::get_if<RecvOp>(&operation.what)) {
    uses.insert(receive->into.buffer);
    return {receive->into.buffer};
  } else if (const auto* copy = std::get_if<CopyOp>(&operation.what)) {
    uses.insert({copy->from.buffer, copy->to.buffer});
    return {copy->to.buffer};
  }
  return {};
}

} // namespace

std::string_view in_words(CheckMethod method) {
  switch (method) {
  case CheckMethod::none:
    break;
  case CheckMethod::every_launch:
    return "every launch";
  case CheckMethod::last_launch:
    return "last launch of every batch";
  case CheckMethod::separate_launch:
    return "a separate launch after every batch, inputs restored";
  }
  return "";
}

DataFlow data_flow(const Schedule& schedule) {
  DataFlow flow;
  std::set<int> inputs;
  std::set<int> results;
  for (const Fill& fill : schedule.fills)
    inputs.insert(fill.slice.buffer);
  for (const model::DataCheck& check : schedule.checks)
    results.insert(check.slice.buffer);
  flow.results.assign(results.begin(), results.end());
  auto is_input = [&](int buffer) { return inputs.contains(buffer); };
  if (std::any_of(results.begin(), results.end(), is_input))
    flow.repeatable = false;
  for (int i = 0; i < static_cast<int>(schedule.operations.size()); ++i) {
    std::set<int> uses;
    std::vector<int> written = written_by(schedule.operations[static_cast<std::size_t>(i)], uses);
    if (std::any_of(written.begin(), written.end(), is_input))
      flow.repeatable = false;
    bool timed = i >= schedule.timed.first && i < schedule.timed.last;
    if (!timed && !uses.empty())
      flow.self_contained = false;
  }
  return flow;
}

CheckMethod choose_method(const DataFlow& flow, TimingMode mode, Slots slots) {
  if (flow.results.empty())
    return CheckMethod::none;
  if (mode == TimingMode::latency)
    return CheckMethod::every_launch;
  bool last = flow.repeatable && flow.self_contained && slots == Slots::there;
  return last ? CheckMethod::last_launch : CheckMethod::separate_launch;
}

namespace {

std::string first_wrong(int global_rank, const model::DataCheck& one, const Expectation& expected,
                        const Pattern& pattern, const backend::Mismatch& found) {
  double value = expected.value(pattern, one.type, found.first);
  return fmt::format("rank {} element {}: bits {:#x} instead of {:#x} ({})", global_rank,
                     found.first, found.first_bits, encode(one.type, value), value);
}

} // namespace

CellData::CellData(const Schedule& schedule, const std::vector<SeatState>& seats,
                   const std::vector<LocalCommunicator*>& communicators, std::uint64_t seed)
    : schedule_(schedule), seats_(seats), communicators_(communicators), seed_(seed),
      flow_(data_flow(schedule)) {}

// Communicators have data of their own, so that what strays from one to another is seen.
std::uint64_t CellData::seed_of(int communicator) const {
  return seed_ + 0xD1B54A32D192ED03 * static_cast<std::uint64_t>(communicator);
}

void CellData::fill(const SeatBuffers& buffers) const {
  for (int index = 0; index < static_cast<int>(schedule_.buffers.size()); ++index)
    poison(buffers, index);
  for (const Fill& fill : schedule_.fills) {
    const LocalCommunicator& local = *communicators_[static_cast<std::size_t>(fill.communicator)];
    auto size = static_cast<int>(local.ranks.size());
    Pattern pattern =
        pattern_for(seed_of(fill.communicator), fill.collective, fill.type, fill.op, size);
    bool only_root =
        fill.collective == Collective::broadcast || fill.collective == Collective::scatter;
    for (std::size_t i = 0; i < local.seats.size(); ++i) {
      int rank = local.members[i]->rank();
      if (only_root && rank != fill.root)
        continue;
      backend::Buffer& buffer =
          *buffers[local.seats[i]][static_cast<std::size_t>(fill.slice.buffer)];
      buffer.fill(fill.slice.offset(rank), fill.type, pattern, rank, fill.count);
    }
  }
}

void CellData::poison_results(const SeatBuffers& buffers) const {
  for (int index : flow_.results)
    poison(buffers, index);
}

// What this schedule declares: a buffer may be larger, from an earlier cell.
void CellData::poison(const SeatBuffers& buffers, int index) const {
  auto at = static_cast<std::size_t>(index);
  for (std::size_t seat = 0; seat < buffers.size(); ++seat)
    buffers[seat][at]->poison_first(schedule_.buffers[at].bytes.at(seats_[seat].rank));
}

std::vector<Finding> CellData::compare(const SeatBuffers& buffers) const {
  std::vector<Finding> findings(seats_.size());
  for (const model::DataCheck& one : schedule_.checks) {
    const LocalCommunicator& local = *communicators_[static_cast<std::size_t>(one.communicator)];
    auto size = static_cast<int>(local.ranks.size());
    Pattern pattern =
        pattern_for(seed_of(one.communicator), one.collective, one.type, one.op, size);
    for (std::size_t i = 0; i < local.seats.size(); ++i) {
      std::size_t seat = local.seats[i];
      int rank = local.members[i]->rank();
      Expectation expected = expectation_for(one.collective, one.op, one.root, one.count, rank,
                                             size, {one.distance, one.first_index});
      backend::Buffer& buffer = *buffers[seat][static_cast<std::size_t>(one.slice.buffer)];
      backend::Mismatch found = buffer.compare(one.slice.offset(rank), one.type, pattern, expected);
      findings[seat].elements += found.elements;
      findings[seat].wrong += found.wrong;
      if (found.wrong > 0 && findings[seat].first_wrong.empty())
        findings[seat].first_wrong = first_wrong(seats_[seat].rank, one, expected, pattern, found);
    }
  }
  return findings;
}

} // namespace ncclprobe::worker
