// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/timeline/traced_schedule.h"

#include "analysis/timeline/schedule_messages.h"
#include "model/cell_label.h"

#include <set>

namespace ncclprobe::analysis::timeline {
namespace {

const model::Operation* operation_at(const model::TrialSpec& trial, const OperationPlace& place) {
  auto in = [](int index, std::size_t size) {
    return index >= 0 && static_cast<std::size_t>(index) < size;
  };
  if (!in(place.cell, trial.cells.size()))
    return nullptr;
  const auto& operations = trial.cells[static_cast<std::size_t>(place.cell)].schedule.operations;
  return in(place.index, operations.size()) ? &operations[static_cast<std::size_t>(place.index)]
                                            : nullptr;
}

// The operations of one kind in the schedule.
std::vector<int> operations_of_kind(const model::Schedule& schedule, std::size_t kind) {
  std::vector<int> out;
  for (std::size_t i = 0; i < schedule.operations.size(); ++i)
    if (schedule.operations[i].what.index() == kind)
      out.push_back(static_cast<int>(i));
  return out;
}

// The schedule of a step's computation alone is that of the step without the rest, and the same
// holds for its communication: the n-th operation of a kind is the same in both, if both have
// equally many.
void add_places(const model::TrialSpec& trial, std::size_t step, std::size_t part,
                AlonePlaces& places) {
  const model::Schedule& whole = trial.cells[step].schedule;
  const model::Schedule& alone = trial.cells[part].schedule;
  std::set<std::size_t> kinds;
  for (const model::Operation& operation : alone.operations)
    kinds.insert(operation.what.index());
  for (std::size_t kind : kinds) {
    const std::vector<int> of_whole = operations_of_kind(whole, kind);
    const std::vector<int> of_alone = operations_of_kind(alone, kind);
    for (std::size_t i = 0; of_whole.size() == of_alone.size() && i < of_whole.size(); ++i)
      places.try_emplace({static_cast<int>(step), of_whole[i]},
                         OperationPlace{static_cast<int>(part), of_alone[i]});
  }
}

} // namespace

std::uint32_t participants_in(const model::TrialSpec& trial, std::size_t ranks,
                              const OperationPlace& place) {
  const model::Operation* operation = operation_at(trial, place);
  const auto* collective = operation ? std::get_if<model::CollectiveOp>(&operation->what) : nullptr;
  if (!collective)
    return 0;
  const auto& communicators =
      trial.cells[static_cast<std::size_t>(place.cell)].schedule.communicators;
  const auto communicator = static_cast<std::size_t>(collective->communicator);
  if (collective->communicator < 0 || communicator >= communicators.size())
    return 0;
  const std::size_t named = communicators[communicator].ranks.size();
  return static_cast<std::uint32_t>(named == 0 ? ranks : named);
}

TransfersByPlace transfers_in(const model::TrialSpec& trial) {
  TransfersByPlace out;
  for (std::size_t cell = 0; cell < trial.cells.size(); ++cell) {
    const model::Schedule& schedule = trial.cells[cell].schedule;
    const auto sides = message_sides(schedule, trial.ranks);
    for (const auto& [launch, kernels] : messages_by_launch(schedule, sides)) {
      auto& declared = out[{static_cast<int>(cell), launch.first, launch.second}];
      for (const std::vector<MessageSide>& kernel : kernels) {
        declared.emplace_back();
        for (const MessageSide& side : kernel)
          declared.back().push_back({.communicator = side.communicator,
                                     .from = side.from,
                                     .to = side.to,
                                     .number = side.number,
                                     .bytes = side.bytes,
                                     .sends = side.sends});
      }
    }
  }
  return out;
}

std::uint64_t bytes_on_rank(const model::TrialSpec& trial, const TransfersByPlace& transfers,
                            const OperationPlace& place, int rank) {
  const model::Operation* operation = operation_at(trial, place);
  if (!operation)
    return 0;
  if (const auto* one = std::get_if<model::CollectiveOp>(&operation->what))
    return one->count * model::size_bytes(one->type);
  std::uint64_t bytes = 0;
  if (auto found = transfers.find({place.cell, place.index, rank}); found != transfers.end())
    for (const DeclaredTransfers& kernel : found->second)
      for (const DeclaredTransfer& message : kernel)
        bytes += message.bytes;
  return bytes;
}

AlonePlaces alone_places(const model::TrialSpec& trial) {
  using model::StepParts;
  std::vector<const model::StepLabel*> labels;
  for (const model::Cell& cell : trial.cells)
    labels.push_back(cell.label.step());
  AlonePlaces places;
  for (std::size_t step = 0; step < labels.size(); ++step)
    for (std::size_t part = 0; part < labels.size(); ++part) {
      if (!labels[step] || !labels[part] || labels[step]->parts != StepParts::all ||
          (labels[part]->parts != StepParts::compute &&
           labels[part]->parts != StepParts::communication))
        continue;
      model::StepLabel same = *labels[part];
      same.parts = StepParts::all;
      if (same == *labels[step])
        add_places(trial, step, part, places);
    }
  return places;
}

} // namespace ncclprobe::analysis::timeline
