// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/cli/export/export_command.h"

#include "analysis/export/chrome.h"
#include "analysis/export/csv.h"
#include "analysis/export/perfetto.h"
#include "analysis/export/rank_events.h"
#include "analysis/timeline/channel_times.h"
#include "analysis/timeline/clocks.h"
#include "analysis/timeline/trace_window.h"
#include "analysis/timeline/traced_schedule.h"
#include "base/console.h"
#include "base/exit_code.h"
#include "base/log.h"
#include "base/printable.h"
#include "base/text_layout.h"
#include "launch/cli/files/chosen_trace.h"
#include "launch/cli/files/report_files.h"
#include "launch/cli/files/trace_source.h"

namespace ncclprobe::cli {
namespace {

namespace fs = std::filesystem;
using analysis::trace_export::Alignment;
using analysis::trace_export::EventSink;
using analysis::trace_export::RankRows;

// The selected ranks, with one clock for all.
class Selection {
public:
  static Result<Selection> make(const store::TraceFile& trace, const ExportOptions& options) {
    Selection selection(trace, options);
    NCCLPROBE_TRY(check_ranks(trace, options.ranks));
    for (int rank : trace.ranks())
      if (std::uint64_t bytes = trace.origin(rank).bytes_left_out; bytes > 0)
        spdlog::warn("the trace of rank {} lacks its last {} bytes: its process was killed", rank,
                     bytes);
    NCCLPROBE_TRY_ASSIGN(const auto source, trace_source(trace, nullptr));
    selection.clocks_ = analysis::timeline::fit_clocks(source.ranks);
    if (selection.clocks_.inferred_hosts > 0)
      spdlog::warn("{} never compared; {} aligned by collectives, to +- {:.1f} us between hosts",
                   selection.clocks_.inferred_hosts + 1 == selection.clocks_.hosts
                       ? "the hosts' clocks were"
                       : fmt::format("the clocks of {} were",
                                     base::count_of(
                                         static_cast<std::size_t>(selection.clocks_.inferred_hosts),
                                         "host", "hosts")),
                   selection.clocks_.inferred_hosts + 1 == selection.clocks_.hosts ? "they are"
                                                                                   : "those are",
                   selection.clocks_.worst_host_error_ns() / 1e3);
    selection.find_first();
    if (options.window)
      NCCLPROBE_TRY(selection.find_window());
    return selection;
  }

  const std::vector<int>& ranks() const { return ranks_; }

  Alignment alignment_of(int rank) const {
    const auto& of_rank = clocks_.ranks.at(rank);
    // A clock that was never compared counts from the begin of the trace.
    std::int64_t own = of_rank.host ? 0 : own_offset(rank);
    auto host = [this, &of_rank, own](std::uint64_t ns) -> std::optional<std::int64_t> {
      return of_rank.host ? of_rank.host->to_reference(ns) - first_ns_
                          : static_cast<std::int64_t>(ns) - own;
    };
    auto gpu = [&of_rank, host](std::uint64_t ns) -> std::optional<std::int64_t> {
      if (!of_rank.gpu)
        return std::nullopt;
      return host(static_cast<std::uint64_t>(of_rank.gpu->to_reference(ns)));
    };
    return {host, gpu, from_ns_, until_ns_};
  }
  // The error if nothing was written.
  Error nothing() const {
    return options_.window ? empty_window(*options_.window, extent_)
                           : Error{Errc::not_found, "the trace holds no events", ""};
  }

  // The window on the rank's own clock, widened by the drift of the clocks.
  store::TraceWindow window_of(int rank) const {
    constexpr std::int64_t k_room_ns = 100'000'000;
    std::uint64_t any = trace_.first_ns(rank);
    if (any == UINT64_MAX)
      return {};
    std::int64_t own_begin = static_cast<std::int64_t>(any) - *alignment_of(rank).of_host(any);
    store::TraceWindow window;
    if (from_ns_ > 0)
      window.from_ns =
          static_cast<std::uint64_t>(std::max<std::int64_t>(0, own_begin + from_ns_ - k_room_ns));
    if (until_ns_ < INT64_MAX)
      window.until_ns = static_cast<std::uint64_t>(own_begin + until_ns_ + k_room_ns);
    return window;
  }

  bool is_aligned(int rank) const { return clocks_.ranks.at(rank).host.has_value(); }

private:
  Selection(const store::TraceFile& trace, const ExportOptions& options)
      : trace_(trace), options_(options) {
    for (int rank : trace.ranks())
      if (options.ranks.empty() || std::ranges::count(options.ranks, rank) > 0)
        ranks_.push_back(rank);
  }

  std::int64_t own_offset(int rank) const {
    std::uint64_t first = trace_.first_ns(rank);
    return first == UINT64_MAX ? 0 : static_cast<std::int64_t>(first);
  }

  void find_first() {
    std::int64_t first = INT64_MAX;
    for (int rank : trace_.ranks()) {
      std::uint64_t own = trace_.first_ns(rank);
      if (own == UINT64_MAX)
        continue;
      if (is_aligned(rank))
        first = std::min(first, clocks_.ranks.at(rank).host->to_reference(own));
      else
        spdlog::warn("the clock of rank {}'s host was not compared with the others: its events "
                     "begin at 0",
                     rank);
    }
    first_ns_ = first == INT64_MAX ? 0 : first;
  }

  // With a window, times count from the begin of the timed part, or of the window if that is
  // earlier.
  Result<void> find_window() {
    NCCLPROBE_TRY_ASSIGN(const auto source, trace_source(trace_, nullptr));
    NCCLPROBE_TRY_ASSIGN(extent_, extent_of(source, clocks_));
    extent_.first_ns = std::min(extent_.first_ns, first_ns_);
    NCCLPROBE_TRY_ASSIGN(const auto window, resolve(*options_.window, extent_));
    first_ns_ = std::max(extent_.first_ns, std::min(extent_.timed_ns, window.begin));
    from_ns_ = std::max<std::int64_t>(0, window.begin - first_ns_);
    until_ns_ = window.end == INT64_MAX ? INT64_MAX : window.end - first_ns_;
    return {};
  }

  const store::TraceFile& trace_;
  const ExportOptions& options_;
  std::vector<int> ranks_;
  analysis::timeline::Clocks clocks_;
  std::int64_t first_ns_ = 0;              // origin of times
  analysis::timeline::TraceExtent extent_; // with a window
  std::int64_t from_ns_ = 0;               // since first_ns_
  std::int64_t until_ns_ = INT64_MAX;
};

Result<RankRows> read_rank(const store::TraceFile& trace, int rank,
                           const store::TraceWindow& window) {
  RankRows rows{.rank = rank};
  Result<void> result;
  auto read = [&]<typename Row>(std::vector<Row>& into, const store::TraceWindow& of) {
    if (!result)
      return;
    if (auto some = trace.rows<Row>(rank, of))
      into = std::move(*some);
    else
      result = fail(std::move(some.error()));
  };
  read(rows.spans, window);
  read(rows.copies, window);
  read(rows.calls, window);
  read(rows.synchronizations, window);
  read(rows.overheads, window);
  read(rows.ranges, window);
  read(rows.nccl_steps, window);
  read(rows.nccl_network, window);
  const store::TraceWindow all; // rows that show which events belong together
  read(rows.kernels, all);
  read(rows.nccl_channels, all);
  read(rows.operations, all);
  read(rows.nccl_operations, all);
  read(rows.communicators, all);
  read(rows.streams, all);
  read(rows.long_durations, all);
  NCCLPROBE_TRY(std::move(result));
  (void)analysis::timeline::forget_overwritten(rows.nccl_operations, rows.nccl_channels);
  return rows;
}

using analysis::trace_export::BytesOf;
using analysis::trace_export::HostPicture;

// The bytes that an operation of the trial's schedule moves on a rank, for traces that do not
// record them.
using BytesOnRank = std::function<std::uint64_t(int rank, const trace::OperationRow&)>;
BytesOnRank bytes_of_schedule(const ChosenTrace& chosen) {
  const model::TrialRecord* trial = chosen.trial();
  if (trial == nullptr)
    return [](int, const trace::OperationRow&) { return std::uint64_t{0}; };
  return [spec = &trial->spec, transfers = analysis::timeline::transfers_in(trial->spec)](
             int rank, const trace::OperationRow& row) {
    return analysis::timeline::bytes_on_rank(*spec, transfers,
                                             {row.cell, static_cast<int>(row.index)}, rank);
  };
}

Result<void> write_events(const ChosenTrace& chosen, const Selection& selection, EventSink& sink,
                          const base::Destination& to) {
  const store::TraceFile& trace = chosen.file;
  NCCLPROBE_TRY_ASSIGN(base::OutputFile file, base::OutputFile::open(to));
  std::map<std::pair<std::string, std::string>, HostPicture> hosts; // by name and clock
  analysis::trace_export::TextOf text_of = [&](trace::TextId id) -> std::string_view {
    return trace.text(id);
  };
  const BytesOnRank bytes_on_rank = bytes_of_schedule(chosen);
  std::size_t slices = 0;
  for (int rank : selection.ranks()) {
    NCCLPROBE_TRY_ASSIGN(RankRows rows, read_rank(trace, rank, selection.window_of(rank)));
    const store::TraceOrigin& origin = trace.origin(rank);
    HostPicture& host = hosts[{origin.host, origin.boot_id}];
    if (host.process == 0) {
      host.process = static_cast<int>(hosts.size());
      host.name = selection.is_aligned(rank) ? origin.host : origin.host + " (clock not compared)";
    }
    BytesOf bytes_of = [&](const trace::OperationRow& row) { return bytes_on_rank(rank, row); };
    slices += add_rank(rows, selection.alignment_of(rank), text_of, bytes_of, host, sink);
    NCCLPROBE_TRY(file.write(sink.take()));
  }
  if (slices == 0)
    return fail(selection.nothing());
  NCCLPROBE_TRY(file.write(sink.finish()));
  return file.finish();
}

template <typename Row>
fs::path table_path(const fs::path& folder) {
  return folder / fmt::format("{}.csv", trace::name_of(Row::k_table));
}

// A table without rows gets no file. Adds the rows that have a time.
template <typename Row>
Result<void> write_table(const store::TraceFile& trace, const Selection& selection,
                         const base::Destination& to, std::size_t& timed_rows) {
  auto has_rows = [&](int rank) { return trace.row_count(rank, Row::k_table) > 0; };
  if (std::ranges::none_of(selection.ranks(), has_rows))
    return {};
  NCCLPROBE_TRY_ASSIGN(base::OutputFile file,
                       base::OutputFile::open({table_path<Row>(to.file), to.overwrite}));
  NCCLPROBE_TRY(file.write(analysis::trace_export::csv_heading<Row>()));
  for (int rank : selection.ranks()) {
    NCCLPROBE_TRY_ASSIGN(std::vector<Row> rows, trace.rows<Row>(rank, selection.window_of(rank)));
    const Alignment alignment = selection.alignment_of(rank);
    if constexpr (requires(Row row) { row.start_ns; }) {
      std::erase_if(rows, [&](const Row& row) {
        std::int64_t start = *alignment.of_host(row.start_ns);
        std::int64_t end = *alignment.of_host(store::end_ns(row));
        if constexpr (requires { row.duration_ns; })
          end = start + static_cast<std::int64_t>(trace.duration_ns(rank, row));
        return start >= alignment.until_ns ||
               (end <= alignment.from_ns && start < alignment.from_ns);
      });
      timed_rows += rows.size();
    }
    std::string text;
    auto begin_of = [&](const Row& row) -> std::optional<std::int64_t> {
      if constexpr (!trace::Timed<Row>)
        return std::nullopt;
      else if (std::uint64_t begin = store::begin_ns(row); begin == 0)
        return std::nullopt;
      else if constexpr (std::is_same_v<Row, trace::ClockRow>)
        return row.kind == trace::ClockKind::globaltimer ? alignment.of_gpu(begin)
                                                         : alignment.of_host(begin);
      else
        return alignment.of_host(begin);
    };
    analysis::trace_export::append_csv(
        text, rank, rows, [&](trace::TextId id) { return trace.text(id); }, begin_of);
    NCCLPROBE_TRY(file.write(base::escape_unsafe(text)));
  }
  return file.finish();
}

// Stops at the first error. `each` gets a row of the table's type.
template <typename Each>
Result<void> for_each_table(Each each) {
  Result<void> result;
  std::apply([&](auto... row) { ((result = result ? each(row) : std::move(result)), ...); },
             trace::AllRows{});
  return result;
}

// `to`: the folder.
Result<void> write_tables(const store::TraceFile& trace, const Selection& selection,
                          const base::Destination& to) {
  std::error_code trouble;
  fs::create_directories(to.file, trouble);
  if (trouble)
    return fail(Errc::io, "cannot create {}: {}", to.file.string(), trouble.message());
  std::size_t timed_rows = 0;
  NCCLPROBE_TRY(for_each_table([&]<typename Row>(const Row&) {
    return write_table<Row>(trace, selection, to, timed_rows);
  }));
  return timed_rows > 0 ? Result<void>() : fail(selection.nothing());
}

// A missing folder is created later.
Result<void> check_tables(const ExportOptions& options) {
  std::error_code ignored;
  if (options.csv_folder.empty() || !fs::is_directory(options.csv_folder, ignored))
    return {};
  return for_each_table([&]<typename Row>(const Row&) {
    return base::check_output_file({table_path<Row>(options.csv_folder), options.overwrite});
  });
}

// No output may overwrite an input or another output.
Result<void> check_outputs(const ExportOptions& options) {
  const std::vector<std::pair<const char*, fs::path>> files{{"--perfetto", options.perfetto},
                                                            {"--chrome", options.chrome}};
  for (const auto& [option, path] : files)
    NCCLPROBE_TRY(check_output({path, options.overwrite}, {options.path}, option));
  NCCLPROBE_TRY(check_tables(options));
  std::error_code ignored;
  auto is_same = [&](const fs::path& a, const fs::path& b) {
    return !a.empty() && fs::weakly_canonical(a, ignored) == fs::weakly_canonical(b, ignored);
  };
  if (is_same(options.perfetto, options.chrome))
    return fail({Errc::invalid_argument,
                 fmt::format("--perfetto and --chrome are both {}", options.chrome.string()),
                 "name two files"});
  return {};
}

constexpr const char* k_export_command = "ncclprobe export";

} // namespace

int export_trace(const ExportOptions& options) {
  if (auto distinct = check_outputs(options); !distinct)
    return complain_of_output(k_export_command, distinct.error());
  auto chosen = choose_trace(options.path, options.trial);
  if (!chosen)
    return complain_of_input(k_export_command, chosen.error());
  const store::TraceFile& trace = chosen->file;
  auto selection = Selection::make(trace, options);
  if (!selection)
    return complain_of_output(k_export_command, selection.error());
  struct Wanted {
    const fs::path& path;
    std::function<Result<void>(const base::Destination&)> write;
  };
  auto events = [&](std::unique_ptr<EventSink> sink, const base::Destination& to) {
    return write_events(*chosen, *selection, *sink, to);
  };
  const std::vector<Wanted> all{
      {options.perfetto,
       [&](const auto& to) { return events(analysis::trace_export::make_perfetto_sink(), to); }},
      {options.chrome,
       [&](const auto& to) { return events(analysis::trace_export::make_chrome_sink(), to); }},
      {options.csv_folder, [&](const auto& to) { return write_tables(trace, *selection, to); }}};
  for (const Wanted& one : all) {
    if (one.path.empty())
      continue;
    if (auto written = one.write({one.path, options.overwrite}); !written)
      return complain_of_output(k_export_command, written.error());
    std::string what = selection->ranks().size() == 1
                           ? fmt::format("rank {}", selection->ranks().front())
                           : fmt::format("{} ranks", selection->ranks().size());
    if (int trial = trace.identity().trial; trial >= 0)
      what += fmt::format(" of trial {}", trial);
    base::print(base::StandardStream::out, fmt::format("{}: {}\n", what, one.path.string()));
  }
  return base::k_exit_ok;
}

} // namespace ncclprobe::cli
