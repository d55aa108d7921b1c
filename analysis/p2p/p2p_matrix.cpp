// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/p2p/p2p_matrix.h"

#include "base/units.h"
#include "model/schedule.h"

#include <algorithm>
#include <set>
#include <tuple>

namespace ncclprobe::analysis {
namespace {

using model::P2pDirection;
using model::P2pLabel;
using model::P2pMethod;
using model::P2pTransfer;

// Values of one entry: those of its batches, for each process.
struct Measured {
  std::vector<std::vector<double>> one_way;
  std::vector<std::vector<double>> both_ways;
  model::Outcome outcome;
  DataState data = DataState::checked;
  std::string data_note;
  bool seen = false;
};

using Key = std::tuple<model::P2pMode, P2pMethod, P2pDirection, std::uint64_t>;

struct Gathered {
  Key key;
  std::map<P2pTransfer, Measured> entries;
};

std::uint64_t hops_of(const model::Cell& cell) {
  for (const model::Operation& operation : cell.schedule.operations)
    if (const auto* chase = std::get_if<model::ChaseOp>(&operation.what))
      return chase->hops;
  return 2; // there and back
}

// Time of each rank for one round, by batch.
using BatchTimes = std::map<int, std::map<int, double>>; // rank, batch -> ns

BatchTimes times_of(const model::CellRecord& record) {
  BatchTimes times;
  for (const model::Sample& sample : record.samples)
    if (sample.iterations > 0 && sample.elapsed_ns > 0)
      times[sample.rank][sample.batch] = static_cast<double>(sample.elapsed_ns) / sample.iterations;
  return times;
}

std::vector<double> values_of(const std::map<int, double>& time_ns, double amount, bool latency) {
  std::vector<double> values;
  for (const auto& [batch, ns] : time_ns)
    values.push_back(latency ? ns / amount : amount / ns); // bytes per ns are GB/s
  return values;
}

std::vector<double> sums(const std::vector<double>& a, const std::vector<double>& b) {
  std::vector<double> both;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i)
    both.push_back(a[i] + b[i]);
  return both;
}

void note_outcome(Measured& entry, const model::CellRecord& record) {
  DataState state = data_state(record);
  if (!entry.seen || record.outcome.kind > entry.outcome.kind)
    entry.outcome = record.outcome;
  if (!entry.seen || state == DataState::wrong || entry.data == DataState::checked)
    entry.data = state;
  const std::string& note = state == DataState::wrong       ? record.check.first_wrong
                            : state == DataState::unchecked ? record.check.why_unchecked
                                                            : record.check.first_wrong;
  if (entry.data_note.empty())
    entry.data_note = note;
  entry.seen = true;
}

void gather(const model::Cell& cell, const model::CellRecord& record, const P2pLabel& label,
            std::map<P2pTransfer, Measured>& entries) {
  bool latency = measures_latency(label.method);
  BatchTimes times = is_measured(record) ? times_of(record) : BatchTimes{};
  std::map<int, int> transfers_of_rank;
  for (const P2pTransfer& transfer : label.transfers)
    ++transfers_of_rank[timed_rank(label.method, transfer)];
  std::map<P2pTransfer, std::vector<double>> one_way;
  std::set<int> totals;
  for (const P2pTransfer& transfer : label.transfers) {
    int rank = timed_rank(label.method, transfer);
    int count = transfers_of_rank.at(rank);
    double bytes = static_cast<double>(cell.label.bytes) * count;
    double amount = latency ? static_cast<double>(hops_of(cell)) : bytes;
    std::vector<double> values = values_of(times[rank], amount, latency);
    bool together = label.direction == P2pDirection::together;
    P2pTransfer at = together ? P2pTransfer{{false, rank}, {false, rank}} : transfer;
    if (together && !totals.insert(rank).second)
      continue;
    Measured& entry = entries[at];
    note_outcome(entry, record);
    if (values.empty())
      continue;
    if (label.direction == P2pDirection::bi && count > 1)
      entry.both_ways.push_back(values); // one rank's time for both
    else
      entry.one_way.push_back(values);
    one_way[transfer] = std::move(values);
  }
  if (label.direction == P2pDirection::bi)
    for (const P2pTransfer& transfer : label.transfers)
      if (transfers_of_rank.at(timed_rank(label.method, transfer)) == 1)
        entries[transfer].both_ways.push_back(
            sums(one_way[transfer], one_way[{transfer.to, transfer.from}]));
  if (label.method == P2pMethod::pingpong) // the way back is in the time
    for (const P2pTransfer& transfer : label.transfers)
      entries[{transfer.to, transfer.from}] = entries.at(transfer);
}

std::optional<P2pFigure> figure_of(const std::vector<std::vector<double>>& processes) {
  std::vector<double> medians;
  std::vector<double> all;
  for (const std::vector<double>& batches : processes) {
    if (batches.empty())
      continue;
    medians.push_back(median(batches));
    all.insert(all.end(), batches.begin(), batches.end());
  }
  if (medians.empty())
    return std::nullopt;
  P2pFigure figure;
  figure.value = median(medians);
  figure.lowest = *std::min_element(all.begin(), all.end());
  figure.highest = *std::max_element(all.begin(), all.end());
  figure.batches = all.size();
  return figure;
}

// For one GPU with all others: the widest of its links. They all share the GPU's capacity.
P2pLimit limit_of_rank(const model::RunHeader& header, int rank) {
  P2pLimit widest{std::nullopt, "not known", "together"};
  for (const model::RankPlace& other : header.ranks) {
    if (other.rank == rank)
      continue;
    P2pLimit one = p2p_limit(header, {{false, rank}, {false, other.rank}});
    if (!one.gb_per_s)
      return {std::nullopt, one.derivation, "together"};
    if (one.gb_per_s > widest.gb_per_s)
      widest = one;
  }
  return widest;
}

P2pLimit twice(P2pLimit limit) {
  if (limit.gb_per_s) {
    limit.gb_per_s = 2 * *limit.gb_per_s;
    limit.derivation = "2 x " + limit.derivation;
  }
  return limit;
}

// Over one GPU's link to the host and the other's from it, at best both at once: no faster than the
// slower of them.
P2pLimit through_host(const model::RunHeader& header, const P2pTransfer& transfer,
                      P2pLimit direct) {
  P2pLimit out = p2p_limit(header, {transfer.from, {true, transfer.from.rank}});
  P2pLimit in = p2p_limit(header, {{true, transfer.to.rank}, transfer.to});
  P2pLimit& slower = !out.gb_per_s || (in.gb_per_s && *out.gb_per_s <= *in.gb_per_s) ? out : in;
  slower.derivation += " (through host memory)";
  slower.link_class = std::move(direct.link_class);
  return slower;
}

P2pLimit limit_of(const model::Run& run, const P2pMatrix& matrix, const P2pTransfer& transfer) {
  if (matrix.direction == P2pDirection::together)
    return limit_of_rank(run.header, transfer.from.rank);
  P2pLimit limit = p2p_limit(run.header, transfer);
  if (matrix.method == P2pMethod::staged)
    limit = through_host(run.header, transfer, std::move(limit));
  if (matrix.latency())
    limit.gb_per_s.reset();
  return limit;
}

constexpr double k_least_difference = 0.05;
constexpr double k_noise_factor = 5 * 1.4826;

void mark_outliers(std::vector<P2pFigure*>& figures, bool latency) {
  if (figures.size() < k_least_class)
    return;
  std::vector<double> values;
  for (const P2pFigure* one : figures)
    values.push_back(one->value);
  Summary summary = summarise(values);
  double allowed = std::max(k_least_difference * summary.median,
                            k_noise_factor * summary.median_absolute_deviation.value_or(0));
  for (P2pFigure* one : figures) {
    one->class_median = summary.median;
    double worse = latency ? one->value - summary.median : summary.median - one->value;
    double best = latency ? summary.median - one->lowest : one->highest - summary.median;
    one->outlier = worse > allowed && best < 0;
  }
}

void mark_outliers(P2pMatrix& matrix) {
  // Copies to the host and from it are different; so are copies in a rank's own memory.
  auto class_of = [](const P2pEntry& entry, const P2pFigure& figure) {
    const P2pTransfer& way = entry.transfer;
    return fmt::format("{}{}{}{}", figure.limit.link_class, way.from.host ? " from host" : "",
                       way.to.host ? " to host" : "", way.from == way.to ? " own" : "");
  };
  std::map<std::string, std::vector<P2pFigure*>> one_way;
  std::map<std::string, std::vector<P2pFigure*>> both_ways;
  for (P2pEntry& entry : matrix.entries) {
    if (entry.figure)
      one_way[class_of(entry, *entry.figure)].push_back(&*entry.figure);
    if (entry.both_ways)
      both_ways[class_of(entry, *entry.both_ways)].push_back(&*entry.both_ways);
  }
  for (auto* classes : {&one_way, &both_ways})
    for (auto& [name, figures] : *classes)
      mark_outliers(figures, matrix.latency());
}

P2pMatrix make_matrix(const model::Run& run, Gathered& gathered) {
  P2pMatrix matrix;
  std::tie(matrix.mode, matrix.method, matrix.direction, matrix.bytes) = gathered.key;
  for (auto& [transfer, measured] : gathered.entries) {
    P2pEntry entry;
    entry.transfer = transfer;
    entry.figure = figure_of(measured.one_way);
    entry.both_ways = figure_of(measured.both_ways);
    P2pLimit limit = limit_of(run, matrix, transfer);
    if (entry.figure)
      entry.figure->limit = limit;
    if (entry.both_ways)
      entry.both_ways->limit = twice(limit);
    entry.outcome = std::move(measured.outcome);
    entry.data = measured.data;
    entry.data_note = std::move(measured.data_note);
    matrix.entries.push_back(std::move(entry));
  }
  mark_outliers(matrix);
  return matrix;
}

} // namespace

const P2pEntry* P2pMatrix::at(const P2pTransfer& transfer) const {
  auto found = std::find_if(entries.begin(), entries.end(),
                            [&](const P2pEntry& entry) { return entry.transfer == transfer; });
  return found == entries.end() ? nullptr : &*found;
}

bool is_mirrored(const P2pMatrix& matrix, const P2pTransfer& transfer) {
  bool symmetric = matrix.direction == P2pDirection::bi || matrix.method == P2pMethod::pingpong;
  return symmetric && transfer.to < transfer.from && matrix.at({transfer.to, transfer.from});
}

bool is_p2p(const model::Run& run) {
  return std::any_of(run.trials.begin(), run.trials.end(), [](const model::TrialRecord& trial) {
    return !trial.spec.cells.empty() && trial.spec.cells.front().label.p2p() != nullptr;
  });
}

std::vector<P2pMatrix> p2p_matrices(const model::Run& run) {
  std::vector<Gathered> all;
  for (const model::TrialRecord& trial : run.trials)
    for (std::size_t c = 0; c < std::min(trial.spec.cells.size(), trial.cells.size()); ++c) {
      const model::Cell& cell = trial.spec.cells[c];
      const auto* label = cell.label.p2p();
      if (!label)
        continue;
      Key key{label->mode, label->method, label->direction, cell.label.bytes};
      auto found =
          std::find_if(all.begin(), all.end(), [&](const Gathered& one) { return one.key == key; });
      if (found == all.end())
        found = all.insert(all.end(), {key, {}});
      gather(cell, trial.cells[c], *label, found->entries);
    }
  std::vector<P2pMatrix> matrices;
  for (Gathered& one : all)
    matrices.push_back(make_matrix(run, one));
  return matrices;
}

std::vector<std::string> beyond_limits(const std::vector<P2pMatrix>& matrices) {
  std::vector<std::string> found;
  for (const P2pMatrix& matrix : matrices)
    for (const P2pEntry& entry : matrix.entries)
      for (const auto* figure : {&entry.figure, &entry.both_ways})
        if (*figure && (*figure)->beyond_limit() &&
            !(figure == &entry.both_ways && is_mirrored(matrix, entry.transfer)))
          found.push_back(fmt::format("{}: {:.1f} GB/s{}, but the link's rate is {:.1f} ({})",
                                      describe(matrix, entry), (*figure)->value,
                                      figure == &entry.both_ways ? " both ways" : "",
                                      *(*figure)->limit.gb_per_s, (*figure)->limit.derivation));
  return found;
}

std::string describe(const P2pMatrix& matrix) {
  static const std::map<P2pMethod, std::string> k_methods{
      {P2pMethod::ce, "copy engine of the source (ce)"},
      {P2pMethod::ce_read, "copy engine of the target (ce_read)"},
      {P2pMethod::sm_write, "kernel of the source (sm_write)"},
      {P2pMethod::sm_read, "kernel of the target (sm_read)"},
      {P2pMethod::staged, "direct path disabled, through host memory (staged)"},
      {P2pMethod::host, "pinned host memory (host)"},
      {P2pMethod::pageable, "pageable host memory (pageable)"},
      {P2pMethod::latency, "pointer chase by the row's GPU through the column's memory (latency)"},
      {P2pMethod::sendrecv, "messages (sendrecv)"},
      {P2pMethod::pingpong, "messages there and back, half the time (pingpong)"}};
  static const std::map<P2pDirection, std::string> k_directions{
      {P2pDirection::uni, "one way"},
      {P2pDirection::bi, "both ways at once"},
      {P2pDirection::all, "all at once, each rank to one other"},
      {P2pDirection::together, "every pair at once, total of each rank"}};
  std::string text = k_methods.at(matrix.method);
  if (!matrix.latency())
    text += ", " + k_directions.at(matrix.direction);
  if (matrix.method != P2pMethod::latency)
    text += ", " + base::format_bytes(matrix.bytes);
  if (matrix.mode == model::P2pMode::ipc)
    text += ", between processes (CUDA IPC)";
  return text;
}

std::string describe(const P2pMatrix& matrix, const P2pEntry& entry) {
  std::string where = matrix.direction == P2pDirection::together
                          ? "rank " + to_string(entry.transfer.from)
                          : to_string(entry.transfer.from) + " to " + to_string(entry.transfer.to);
  return fmt::format("{}, {}, {}, {}", model::to_string(matrix.method),
                     model::to_string(matrix.direction), base::format_bytes(matrix.bytes), where);
}

} // namespace ncclprobe::analysis
