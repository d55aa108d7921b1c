// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "cli/trace_source.h"

#include "analysis/schedule_messages.h"
#include "analysis/timeline/clock_inference.h"
#include "workload/step_label.h"

#include <map>
#include <set>
#include <tuple>

namespace ncclprobe::cli {

using namespace analysis::timeline;
using base::Result;

namespace {

// One after the other, until the first that cannot be read.
class Reader {
public:
  Reader(const store::TraceFile& file, int rank) : file_(file), rank_(rank) {}

  template <typename Row, typename T>
  void column(T Row::*field, std::vector<T>& to) {
    if (error_)
      return;
    auto values = file_.column(rank_, field);
    if (values)
      to = std::move(*values);
    else
      error_ = values.error();
  }

  template <typename Row>
  void rows(std::vector<Row>& to) {
    if (error_)
      return;
    auto all = file_.rows<Row>(rank_);
    if (all)
      to = std::move(*all);
    else
      error_ = all.error();
  }

  // Only these columns.
  template <typename Row, typename... T>
  void rows(std::vector<Row>& to, T Row::*... fields) {
    to.resize(file_.row_count(rank_, Row::k_table));
    (fill(to, fields), ...);
  }

  const std::optional<base::Error>& error() const { return error_; }

private:
  template <typename Row, typename T>
  void fill(std::vector<Row>& to, T Row::*field) {
    std::vector<T> values;
    column(field, values);
    for (std::size_t i = 0; i < values.size(); ++i)
      to[i].*field = values[i];
  }

  const store::TraceFile& file_;
  int rank_;
  std::optional<base::Error> error_;
};

template <typename Row>
void read_device(Reader& reader, Pass pass, DeviceColumns& to) {
  reader.column(&Row::start_ns, to.start_ns);
  reader.column(&Row::duration_ns, to.duration_ns);
  reader.column(&Row::operation, to.operation);
  reader.column(&Row::stream, to.stream);
  reader.column(&Row::flags, to.flags);
  if constexpr (requires(Row row) { row.name; })
    reader.column(&Row::name, to.name);
  if (pass == Pass::everything) {
    reader.column(&Row::correlation, to.correlation);
    if constexpr (requires(Row row) { row.grid; }) {
      reader.column(&Row::grid, to.grid);
      reader.column(&Row::graph_node, to.graph_node);
    }
  }
}

Result<RankTrace> load(const store::TraceFile& file, int rank, Pass pass) {
  using trace::OperationRow;
  RankTrace trace;
  Reader reader(file, rank);
  read_device<trace::KernelRow>(reader, pass, trace.kernels);
  reader.rows(trace.long_durations);
  reader.rows(trace.operations, &OperationRow::id, &OperationRow::cell, &OperationRow::batch,
              &OperationRow::iteration, &OperationRow::index, &OperationRow::kind,
              &OperationRow::start_ns);
  reader.rows(trace.communicators);
  reader.rows(trace.nccl_operations);
  reader.rows(trace.nccl_channels);
  if (pass == Pass::everything) {
    read_device<trace::CopyRow>(reader, pass, trace.copies);
    reader.rows(trace.api, &trace::ApiRow::correlation, &trace::ApiRow::start_ns);
    reader.rows(trace.synchronizations);
    reader.rows(trace.device_events);
    reader.rows(trace.nccl_steps, &trace::NcclStepRow::nccl_operation,
                &trace::NcclStepRow::start_ns);
  }
  if (reader.error())
    return base::fail(*reader.error());
  return trace;
}

std::uint32_t participants_in(const model::TrialSpec& trial, std::size_t ranks, int cell,
                              int operation_index) {
  auto in = [](int index, std::size_t size) {
    return index >= 0 && static_cast<std::size_t>(index) < size;
  };
  if (!in(cell, trial.cells.size()))
    return 0;
  const model::Schedule& schedule = trial.cells[static_cast<std::size_t>(cell)].schedule;
  if (!in(operation_index, schedule.operations.size()))
    return 0;
  const auto* collective = std::get_if<model::CollectiveOp>(
      &schedule.operations[static_cast<std::size_t>(operation_index)].what);
  if (collective == nullptr || !in(collective->communicator, schedule.communicators.size()))
    return 0;
  std::size_t named =
      schedule.communicators[static_cast<std::size_t>(collective->communicator)].ranks.size();
  return static_cast<std::uint32_t>(named == 0 ? ranks : named);
}

// By cell, operation and rank.
using Transfers = std::map<std::tuple<int, int, int>, std::vector<DeclaredTransfers>>;

Transfers transfers_in(const model::TrialSpec& trial) {
  Transfers out;
  for (std::size_t cell = 0; cell < trial.cells.size(); ++cell) {
    const model::Schedule& schedule = trial.cells[cell].schedule;
    const auto sides = analysis::message_sides(schedule, trial.ranks);
    for (const auto& [launch, kernels] : analysis::messages_by_launch(schedule, sides)) {
      auto& declared = out[{static_cast<int>(cell), launch.first, launch.second}];
      for (const std::vector<analysis::MessageSide>& kernel : kernels) {
        declared.emplace_back();
        for (const analysis::MessageSide& side : kernel)
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

// The operations of the schedule that are of one kind.
std::vector<int> operations_of_kind(const model::Schedule& schedule, std::size_t kind) {
  std::vector<int> out;
  for (std::size_t i = 0; i < schedule.operations.size(); ++i)
    if (schedule.operations[i].what.index() == kind)
      out.push_back(static_cast<int>(i));
  return out;
}

using AlonePlaces = std::map<std::pair<int, int>, OperationPlace>;

// The schedule of a step's computation alone is that of the step with the rest left out, and so is
// that of its communication: the n-th operation of a kind is the same one in both, if both have as
// many of it.
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

AlonePlaces alone_places(const model::TrialSpec& trial) {
  using workload::StepParts;
  std::vector<std::optional<workload::StepLabel>> labels;
  for (const model::Cell& cell : trial.cells)
    labels.push_back(workload::read_step_label(cell.label));
  AlonePlaces places;
  for (std::size_t step = 0; step < labels.size(); ++step)
    for (std::size_t part = 0; part < labels.size(); ++part) {
      if (!labels[step] || !labels[part] || labels[step]->parts != StepParts::all ||
          (labels[part]->parts != StepParts::compute &&
           labels[part]->parts != StepParts::communication) ||
          trial.cells[step].label.type != trial.cells[part].label.type)
        continue;
      workload::StepLabel same = *labels[part];
      same.parts = StepParts::all;
      if (same == *labels[step])
        add_places(trial, step, part, places);
    }
  return places;
}

} // namespace

Result<TraceSource> trace_source(const store::TraceFile& file, const model::TrialSpec* trial) {
  TraceSource source;
  for (int rank : file.ranks()) {
    RankHead head;
    head.rank = rank;
    const store::TraceOrigin& origin = file.origin(rank);
    head.host = origin.boot_id.empty() ? origin.host : origin.boot_id;
    Reader reader(file, rank);
    reader.rows(head.clocks);
    reader.rows(head.losses);
    if (reader.error())
      return base::fail(*reader.error());
    source.ranks.push_back(std::move(head));
  }
  source.texts = file.texts();
  source.load = [file](int rank, Pass pass) { return load(file, rank, pass); };
  if (trial != nullptr) {
    source.participants = [spec = *trial, ranks = source.ranks.size()](int cell, int index) {
      return participants_in(spec, ranks, cell, index);
    };
    source.transfers = [transfers = transfers_in(*trial)](int cell, int index, int rank) {
      auto found = transfers.find({cell, index, rank});
      return found == transfers.end() ? std::vector<DeclaredTransfers>() : found->second;
    };
  }
  if (trial != nullptr)
    source.alone = [places = alone_places(*trial)](const OperationPlace& place) {
      auto found = places.find({place.cell, place.index});
      return found == places.end() ? std::nullopt : std::optional(found->second);
    };
  infer_clocks(source);
  return source;
}

} // namespace ncclprobe::cli
