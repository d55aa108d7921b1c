// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/imports/nccl_tests_rows.h"

#include "analysis/results/bandwidth.h"
#include "base/printable.h"
#include "base/text_files.h"
#include "base/text_layout.h"
#include "base/units.h"
#include "model/collective.h"
#include "workload/nccl_version.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

namespace ncclprobe::analysis::imports {
namespace {

using model::Collective;

constexpr std::array<std::pair<std::string_view, Collective>, 11> k_programs{{
    {"all_reduce_perf", Collective::all_reduce},
    {"all_gather_perf", Collective::all_gather},
    {"reduce_scatter_perf", Collective::reduce_scatter},
    {"broadcast_perf", Collective::broadcast},
    {"reduce_perf", Collective::reduce},
    {"alltoall_perf", Collective::all_to_all},
    {"alltoallv_perf", Collective::all_to_all_v},
    {"gather_perf", Collective::gather},
    {"scatter_perf", Collective::scatter},
    {"sendrecv_perf", Collective::send_recv},
    {"hypercube_perf", Collective::hypercube},
}};

// Printed bandwidths have two decimals; from here on they are exact to 1%.
constexpr double k_least_telling_gb_per_s = 1.0;
constexpr double k_fit = 0.03;

const NcclTestsRow* fastest(const std::vector<NcclTestsRow>& rows) {
  auto most = std::ranges::max_element(rows, {}, &NcclTestsRow::busbw_gb_per_s);
  return most == rows.end() || most->busbw_gb_per_s < k_least_telling_gb_per_s ? nullptr : &*most;
}

// Whether size and time of the row give the bus bandwidth that it prints.
bool fits(Collective collective, const NcclTestsRow& row, int ranks) {
  const auto factor = busbw_factor(collective, ranks);
  const auto algbw = algbw_gb_per_s(row.bytes, row.time_us * 1e3);
  if (!factor || !algbw)
    return false;
  return std::abs(*factor * *algbw / row.busbw_gb_per_s - 1) < k_fit;
}

bool has_value(const std::string& column, std::string_view none) {
  return !column.empty() && column != none;
}

std::vector<Collective> possible(const NcclTestsRow& row, int ranks) {
  std::vector<Collective> all;
  for (const auto& [program, collective] : k_programs)
    if (model::reduces(collective) == has_value(row.op, "none") &&
        model::has_root(collective) == has_value(row.root, "-1") && fits(collective, row, ranks))
      all.push_back(collective);
  return all;
}

Error unknown_collective(const std::string& why) {
  return {Errc::invalid_argument, "the log does not say which collective was measured" + why,
          "name it with --collective, such as --collective all_reduce"};
}

Result<Collective> find_collective(ImportedProcess& process, const std::vector<NcclTestsRow>& rows,
                                   std::optional<Collective> named) {
  const auto ranks = static_cast<int>(process.ranks.size());
  const NcclTestsRow* row = fastest(rows);
  if (named) {
    if (row && ranks > 1 && !fits(*named, *row, ranks))
      return fail({Errc::invalid_argument,
                   fmt::format("the bandwidths are not those of {} on {} ranks: {} bytes in {} us "
                               "are not {} GB/s on the bus",
                               model::to_string(*named), ranks, row->bytes, row->time_us,
                               row->busbw_gb_per_s),
                   "check --collective and --ranks"});
    return *named;
  }
  if (!row || ranks < 2)
    return fail(unknown_collective(", and no bandwidth is high enough to tell"));
  const std::vector<Collective> all = possible(*row, ranks);
  if (all.size() != 1) {
    std::string names;
    for (Collective one : all)
      names += fmt::format("{}{}", names.empty() ? "" : ", ", model::to_string(one));
    return fail(unknown_collective(all.empty() ? ", and the bandwidths fit none"
                                               : fmt::format("; its bandwidths fit {}", names)));
  }
  process.remarks.push_back(
      fmt::format("The log does not name the collective: only {} has these columns and bandwidths.",
                  model::to_string(all.front())));
  return all.front();
}

Result<model::CellLabel> label_of(const NcclTestsRow& row, Collective collective,
                                  const NcclTestsSetup& setup) {
  model::CellLabel label{.bytes = row.bytes, .type = row.type, .placement = row.placement};
  label.what = model::CollectiveLabel{.collective = collective,
                                      .launch = setup.graph_launches > 0 ? model::Launch::graph
                                                                         : model::Launch::direct,
                                      .offset = setup.unaligned_elements};
  if (model::reduces(collective)) {
    const auto op = nccl_tests_op(row.op);
    if (!op)
      return fail(Errc::invalid_argument, "'{}' is not a reduction of nccl-tests",
                  base::printable(row.op));
    label.op = *op;
  }
  if (model::has_root(collective)) {
    const auto root = base::number_of<int>(row.root);
    if (!root || *root < 0)
      return fail(Errc::invalid_argument, "'{}' is not a root rank", base::printable(row.root));
    label.root = *root;
  }
  return label;
}

// Elements that nccl-tests looks at for this row: what all ranks receive.
std::uint64_t checked_elements(const NcclTestsRow& row, Collective collective, int ranks) {
  const auto [send, receive] = model::block_counts(collective, ranks);
  const auto blocks = static_cast<std::uint64_t>(std::max(send, receive));
  const std::uint64_t of_rank =
      row.bytes / model::size_bytes(row.type) / blocks * static_cast<std::uint64_t>(receive);
  return of_rank * static_cast<std::uint64_t>(ranks);
}

void add_check(model::CellRecord& record, const NcclTestsRow& row, std::uint64_t elements,
               const NcclTestsSetup& setup) {
  model::CheckResult& check = record.check;
  if (!row.wrong) {
    if (!check.checked)
      check.why_unchecked = row.why_unchecked;
    return;
  }
  const auto checks = static_cast<std::uint64_t>(std::max(setup.checks.value_or(1), 1));
  check.checked = true;
  check.why_unchecked.clear();
  check.method = "extra launches after the timed ones, by nccl-tests";
  check.launches += checks;
  check.elements += elements * checks;
  check.wrong += *row.wrong;
  if (*row.wrong > 0) {
    check.first_wrong = "position not given by nccl-tests";
    record.outcome = {model::OutcomeKind::wrong_data,
                      fmt::format("nccl-tests counted {} wrong elements", check.wrong),
                      {}};
  }
}

} // namespace

std::optional<Collective> collective_of_program(std::string_view program) {
  program.remove_prefix(std::min(program.rfind('/') + 1, program.size()));
  for (const auto& [name, collective] : k_programs)
    if (program.starts_with(name))
      return collective;
  return std::nullopt;
}

std::optional<model::DataType> nccl_tests_type(std::string_view name) {
  using enum model::DataType;
  constexpr std::array<std::pair<std::string_view, model::DataType>, 14> k_types{
      {{"float", f32},
       {"half", f16},
       {"bfloat16", bf16},
       {"double", f64},
       {"int8", i8},
       {"uint8", u8},
       {"int32", i32},
       {"uint32", u32},
       {"int64", i64},
       {"uint64", u64},
       {"f8e4m3", f8e4m3},
       {"f8e5m2", f8e5m2},
       {"char", i8},
       {"int", i32}}};
  for (const auto& [word, type] : k_types)
    if (word == name)
      return type;
  return std::nullopt;
}

std::optional<model::ReduceOp> nccl_tests_op(std::string_view name) {
  using enum model::ReduceOp;
  constexpr std::array<std::pair<std::string_view, model::ReduceOp>, 7> k_ops{
      {{"sum", sum},
       {"prod", prod},
       {"max", max},
       {"min", min},
       {"avg", avg},
       {"mulsum", premul_sum},
       {"none", sum}}};
  for (const auto& [word, op] : k_ops)
    if (word == name)
      return op;
  return std::nullopt;
}

std::string nccl_version_of_code(int code) {
  // Before 2.9 the macro counted a digit less: 2804 was 2.8.4 (nccl.h, NCCL_VERSION).
  if (code < 10'000)
    return fmt::format("{}.{}.{}", code / 1000, code / 100 % 10, code % 100);
  return workload::nccl_version_text(code);
}

int NcclTestsSetup::iterations_per_sample() const {
  const std::int64_t all =
      std::int64_t{iterations.value_or(1)} * operations_per_iteration * std::max(graph_launches, 1);
  return all >= 1 && all <= std::numeric_limits<int>::max() ? static_cast<int>(all) : 1;
}

Result<void> check_ranks(ImportedProcess& process, const ImportHints& hints) {
  if (process.ranks.empty() && !hints.ranks)
    return fail({Errc::invalid_argument, "there is no list of ranks (lines \"#  Rank  0 ...\")",
                 "say how many ranks it measured: --ranks N"});
  if (std::ranges::any_of(process.ranks, [](const ImportedRank& one) { return one.group != 0; }))
    return fail(Errc::invalid_argument,
                "its ranks are split into groups (NCCL_TESTS_SPLIT), and a row does not say which "
                "group it measured");
  const auto count = hints.ranks ? static_cast<std::size_t>(*hints.ranks) : process.ranks.size();
  if (process.ranks.size() > count)
    return fail(Errc::invalid_argument, "{} ranks are listed, which is more than --ranks {}",
                process.ranks.size(), count);
  if (process.ranks.size() < count && !process.ranks.empty())
    process.remarks.push_back(
        fmt::format("{} of {} ranks are listed.", process.ranks.size(), count));
  std::ranges::sort(process.ranks, {}, &ImportedRank::rank);
  for (std::size_t rank = 0; rank < count; ++rank) {
    if (rank == process.ranks.size())
      process.ranks.push_back({.rank = static_cast<int>(rank), .device = static_cast<int>(rank)});
    if (process.ranks[rank].rank != static_cast<int>(rank))
      return fail({Errc::invalid_argument,
                   fmt::format("the list of ranks lacks rank {} or has it twice", rank),
                   "say how many ranks it measured: --ranks N"});
  }
  return {};
}

Result<void> add_rows(ImportedProcess& process, const std::vector<NcclTestsRow>& rows,
                      const NcclTestsSetup& setup, std::optional<Collective> named) {
  if (setup.cpu_time)
    return fail({Errc::invalid_argument,
                 "its times are CPU times (option -C of nccl-tests), not times of the operation",
                 "measure again without -C"});
  NCCLPROBE_TRY_ASSIGN(const Collective collective, find_collective(process, rows, named));
  const auto ranks = static_cast<int>(process.ranks.size());
  const int iterations = setup.iterations_per_sample();
  CellList cells(process.cells);
  std::size_t unusable = 0;
  for (const NcclTestsRow& row : rows) {
    NCCLPROBE_TRY_ASSIGN(const model::CellLabel label, label_of(row, collective, setup));
    ImportedCell& cell = cells.at(label);
    const auto sample =
        sample_of(0, static_cast<int>(cell.record.samples.size()), iterations, row.time_us * 1e3);
    if (!sample) {
      ++unusable;
      continue;
    }
    cell.record.samples.push_back(*sample);
    cell.timing = {.warmups = setup.warmups,
                   .iterations = iterations,
                   .batches = static_cast<int>(cell.record.samples.size())};
    add_check(cell.record, row, checked_elements(row, collective, ranks), setup);
  }
  std::erase_if(process.cells, [](const ImportedCell& one) { return one.record.samples.empty(); });
  if (unusable > 0)
    process.remarks.push_back(fmt::format("{} without a time above zero {} left out.",
                                          base::count_of(unusable, "row", "rows"), were(unusable)));
  process.times =
      setup.iterations
          ? fmt::format("A time is nccl-tests' mean over {} launches and, unless it ran with -a, "
                        "over all ranks.",
                        iterations)
          : "A time is nccl-tests' mean over launches; the log does not say over how many.";
  if (setup.blocking)
    process.remarks.push_back("nccl-tests waited after each launch (-z), so its times include the "
                              "launch: compare them only with times measured in the same way.");
  return {};
}

} // namespace ncclprobe::analysis::imports
