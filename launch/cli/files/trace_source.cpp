// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/cli/files/trace_source.h"

#include "analysis/timeline/clock_inference.h"
#include "analysis/timeline/traced_schedule.h"

namespace ncclprobe::cli {

using namespace analysis::timeline;

namespace {

// Reads one table after the other, until an error.
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

  // Reads only these columns.
  template <typename Row, typename... T>
  void rows(std::vector<Row>& to, T Row::*... fields) {
    to.resize(file_.row_count(rank_, Row::k_table));
    (fill(to, fields), ...);
  }

  const std::optional<Error>& error() const { return error_; }

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
  std::optional<Error> error_;
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
    } else {
      reader.column(&Row::kind, to.kind);
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
  reader.rows(trace.kernel_windows);
  if (pass == Pass::everything) {
    read_device<trace::CopyRow>(reader, pass, trace.copies);
    reader.rows(trace.api, &trace::ApiRow::correlation, &trace::ApiRow::start_ns);
    reader.rows(trace.synchronizations);
    reader.rows(trace.device_events);
    reader.rows(trace.ranges);
    reader.rows(trace.nccl_steps, &trace::NcclStepRow::nccl_operation,
                &trace::NcclStepRow::start_ns);
  }
  if (reader.error())
    return fail(*reader.error());
  return trace;
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
    if (file.row_count(rank, trace::Table::kernel_window) == 0)
      head.kernels = file.row_count(rank, trace::Table::kernel);
    if (reader.error())
      return fail(*reader.error());
    source.ranks.push_back(std::move(head));
  }
  source.texts = file.texts();
  source.load = [file](int rank, Pass pass) { return load(file, rank, pass); };
  if (trial != nullptr) {
    source.participants = [spec = *trial, ranks = source.ranks.size()](int cell, int index) {
      return participants_in(spec, ranks, {cell, index});
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
