// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/steps/step_builder.h"

#include "support/run_builder.h"

#include <map>

namespace ncclprobe::analysis_test {

using namespace support;

namespace {

using model::Activity;
using model::MarkerEdge;
using model::StepParts;

enum Stream { k_compute, k_communication, k_copy };

class ScheduleBuilder {
public:
  explicit ScheduleBuilder(const std::vector<int>& ranks) : ranks_(ranks) {
    schedule_.streams = {{"compute"}, {"communication"}, {"input copy"}};
    schedule_.communicators = {{"training", ranks}};
  }
  void point(const char* label) { add(model::MarkerOp{k_compute, label}); }
  void stretch(int stream, const char* label, Activity activity) {
    add(model::MarkerOp{stream, label, activity, MarkerEdge::begin});
    if (activity == Activity::communication)
      add(model::CollectiveOp{.stream = stream, .count = 256});
    else
      add(model::SpinOp{.stream = stream});
    add(model::MarkerOp{stream, label, activity, MarkerEdge::end});
  }
  void event(int from, int to) {
    add(model::RecordEventOp{from, next_event_});
    add(model::WaitEventOp{to, next_event_++});
  }
  model::Schedule take() {
    schedule_.timed = {0, static_cast<int>(schedule_.operations.size())};
    return std::move(schedule_);
  }

private:
  template <typename Op>
  void add(Op op) {
    schedule_.operations.push_back({std::move(op), ranks_});
  }
  model::Schedule schedule_;
  std::vector<int> ranks_;
  int next_event_ = 0;
};

} // namespace

model::Schedule step_schedule(const std::vector<int>& ranks, StepParts parts, InputCopied copied) {
  ScheduleBuilder step(ranks);
  auto compute = [&](const char* label, Activity activity) {
    if (parts == StepParts::all || parts == StepParts::compute)
      step.stretch(k_compute, label, activity);
  };
  auto communicate = [&](const char* label) {
    if (parts != StepParts::all && parts != StepParts::communication)
      return;
    step.event(k_compute, k_communication);
    step.stretch(k_communication, label, Activity::communication);
  };
  step.point("step");
  if (copied == InputCopied::yes) {
    step.event(k_compute, k_copy);
    step.stretch(k_copy, "input copy", Activity::host_copy);
  }
  compute("forward", Activity::forward);
  compute("backward 1", Activity::backward);
  communicate("bucket 0");
  compute("backward 2", Activity::backward);
  communicate("bucket 1");
  step.event(k_communication, k_compute);
  compute("optimizer", Activity::optimizer);
  if (copied == InputCopied::yes)
    step.event(k_copy, k_compute);
  step.point("step end");
  return step.take();
}

void add_step(std::vector<model::Mark>& marks, const model::Schedule& schedule, int rank, int batch,
              int iteration, const StepLengths& lengths) {
  const std::map<std::string, std::int64_t> lengths_ns{
      {"forward", lengths.forward},       {"backward 1", lengths.backward_1},
      {"backward 2", lengths.backward_2}, {"bucket 0", lengths.bucket_0},
      {"bucket 1", lengths.bucket_1},     {"optimizer", lengths.optimizer},
      {"input copy", lengths.copy}};
  std::int64_t begin_ns = 0;
  for (const model::Mark& mark : marks)
    if (mark.rank == rank && mark.batch == batch)
      begin_ns = std::max(begin_ns, mark.at_ns);
  std::map<int, std::int64_t> now_ns{
      {k_compute, begin_ns}, {k_communication, begin_ns}, {k_copy, begin_ns}};
  std::map<int, std::int64_t> events_ns;
  for (std::size_t i = 0; i < schedule.operations.size(); ++i) {
    const auto& what = schedule.operations[i].what;
    if (auto* record = std::get_if<model::RecordEventOp>(&what))
      events_ns[record->event] = now_ns[record->stream];
    else if (auto* wait = std::get_if<model::WaitEventOp>(&what))
      now_ns[wait->stream] = std::max(now_ns[wait->stream], events_ns[wait->event]);
    auto* marker = std::get_if<model::MarkerOp>(&what);
    if (!marker)
      continue;
    if (marker->edge == MarkerEdge::end)
      now_ns[marker->stream] += lengths_ns.at(marker->label);
    if (marker->label == "step end")
      now_ns[marker->stream] += lengths.idle;
    marks.push_back({rank, batch, iteration, static_cast<int>(i), now_ns[marker->stream]});
  }
}

void add_step_cell(model::TrialRecord& trial, const StepCellArguments& arguments) {
  constexpr int k_steps = 2;
  model::Cell cell;
  cell.label = {.what = arguments.label, .bytes = arguments.bytes};
  cell.schedule =
      step_schedule(arguments.label.ranks, arguments.label.parts,
                    arguments.label.copies_input() ? InputCopied::yes : InputCopied::no);
  cell.timing.mode = model::TimingMode::steps;
  model::CellRecord record;
  if (arguments.label.communicates() || arguments.label.copies_input()) {
    record.check.checked = true;
    record.check.elements = 1024;
  } else {
    record.check.checked = false;
    record.check.why_unchecked = "the schedule does not describe its results";
  }
  for (std::size_t i = 0; i < arguments.label.ranks.size(); ++i)
    for (int batch = 0; batch < arguments.batches; ++batch) {
      for (int iteration = 0; iteration < k_steps; ++iteration)
        add_step(record.marks, cell.schedule, arguments.label.ranks[i], batch, iteration,
                 i < arguments.lengths.size() ? arguments.lengths[i] : StepLengths{});
      record.samples.push_back({.rank = arguments.label.ranks[i],
                                .batch = batch,
                                .iterations = k_steps,
                                .elapsed_ns = record.marks.back().at_ns});
    }
  add_cell(trial, std::move(cell), std::move(record));
}

} // namespace ncclprobe::analysis_test
