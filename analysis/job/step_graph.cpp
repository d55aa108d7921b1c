// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/job/step_graph.h"

#include "trace/nccl_type.h"

#include "analysis/job/job_operation.h"
#include "analysis/timeline/block_bootstrap.h"
#include "base/hash.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

namespace ncclprobe::analysis::job {

using base::mixed;

namespace {

constexpr std::uint32_t k_steps_of_run = 24; // if not all are kept
constexpr std::uint32_t k_most_of_run = 64;
constexpr std::uint32_t k_fewest_of_run = 3; // of which one has a length and a known beginning

std::uint64_t operations_of_step(const FoundSteps& found, std::uint32_t kind) {
  std::uint64_t operations = 0;
  for (const StepPart& part : found.kinds[kind].parts)
    operations += part.times;
  return std::max<std::uint64_t>(1, operations);
}

// All steps if they are few, otherwise runs of some steps all over the job.
std::vector<StepRun> chosen_runs(const FoundSteps& found, std::uint64_t ranks, std::size_t most,
                                 bool& all) {
  std::uint64_t sum = 0;
  for (const StepBatch& batch : found.batches)
    sum += batch.steps * operations_of_step(found, batch.kind) * ranks;
  all = sum <= most;
  std::vector<StepRun> runs;
  for (const StepBatch& batch : found.batches)
    for (std::uint32_t first = 0; first + k_fewest_of_run <= batch.steps;) {
      std::uint32_t steps = std::min(all ? k_most_of_run : k_steps_of_run, batch.steps - first);
      if (batch.steps - first - steps < k_fewest_of_run)
        steps = batch.steps - first;
      runs.push_back({.kind = batch.kind, .first = batch.first + first, .steps = steps});
      first += steps;
    }
  if (all)
    return runs;
  // Each kind gets the same part of what may be kept.
  std::vector<StepRun> chosen;
  for (std::uint32_t kind = 0; kind < found.kinds.size(); ++kind) {
    std::vector<StepRun> of_kind;
    std::ranges::copy_if(runs, std::back_inserter(of_kind),
                         [&](const StepRun& run) { return run.kind == kind; });
    const std::uint64_t each =
        k_steps_of_run * operations_of_step(found, kind) * std::max<std::uint64_t>(1, ranks);
    const std::size_t keep = std::max<std::size_t>(1, most / found.kinds.size() / each);
    const std::size_t every = std::max<std::size_t>(1, (of_kind.size() + keep - 1) / keep);
    for (std::size_t stretch = 0; stretch * every < of_kind.size(); ++stretch)
      chosen.push_back(of_kind[timeline::drawn_of_stretch(stretch, every, of_kind.size())]);
  }
  std::ranges::sort(chosen, {}, &StepRun::first);
  return chosen;
}

// Sizes that nearly always differ, as in exchanges of experts, do not tell operations apart.
struct SizesOfClass {
  std::set<std::uint64_t> different;
  std::size_t operations = 0;
  void add(std::uint64_t bytes) {
    ++operations;
    if (different.size() < 1024)
      different.insert(bytes);
  }
  bool are_chance() const { return different.size() >= 32 && 4 * different.size() > operations; }
};

void move_to_reference(timeline::Spans& spans, const timeline::ClockModel& host) {
  for (timeline::Span& span : spans)
    span = {host.to_reference(static_cast<std::uint64_t>(span.begin)),
            host.to_reference(static_cast<std::uint64_t>(span.end))};
}

} // namespace

StepGraphBuilder::StepGraphBuilder(std::shared_ptr<const FoundSteps> found, std::vector<int> ranks,
                                   std::vector<std::string> texts, std::size_t most)
    : found_(std::move(found)), texts_(std::move(texts)), names_(texts_), input_ranges_(texts_),
      raw_(ranks.size()) {
  for (const std::string& text : texts_)
    type_bytes_.push_back(trace::bytes_of_nccl_type(text));
  graph_.runs = chosen_runs(*found_, ranks.size(), most, graph_.has_all_steps);
  graph_.ranks = std::move(ranks);
  graph_.gpus.resize(graph_.ranks.size());
  graph_.hosts.resize(graph_.ranks.size());
}

const StepRun* StepGraphBuilder::run_of(std::uint32_t step) const {
  auto after = std::ranges::upper_bound(graph_.runs, step, {}, &StepRun::first);
  if (after == graph_.runs.begin())
    return nullptr;
  const StepRun& run = *--after;
  return step < run.first + run.steps ? &run : nullptr;
}

void StepGraphBuilder::add(std::size_t rank, const timeline::RankReading& reading,
                           const std::optional<timeline::ClockModel>& host) {
  if (!host)
    return;
  const timeline::RankTrace& trace = reading.trace;
  const timeline::Spans loading = input_ranges_.of(trace, reading.operations);
  add_gpu(rank, reading, *host, loading);
  graph_.hosts[rank] = {spans_of_phases(trace, reading.operations, names_), loading};
  move_to_reference(graph_.hosts[rank].loading, *host);
  for (auto& [phase, spans] : graph_.hosts[rank].phases)
    move_to_reference(spans, *host);
  std::unordered_map<std::uint16_t, const trace::CommunicatorRow*> communicators;
  for (const trace::CommunicatorRow& row : trace.communicators)
    communicators[row.id] = &row;
  auto on_reference = [&](std::int64_t own_ns) {
    return host->to_reference(static_cast<std::uint64_t>(own_ns));
  };
  std::vector<Raw>& operations = raw_[rank];
  std::vector<std::pair<std::uint32_t, std::size_t>> by_id; // in the order of the calls
  const timeline::NcclTimes& times = reading.nccl_times;
  for (std::size_t i = 0; i < trace.nccl_operations.size(); ++i) {
    const trace::NcclOperationRow& row = trace.nccl_operations[i];
    if (i >= times.spans.size() || !times.on_rank_clock[i] || times.heard[i])
      continue;
    const std::uint32_t index = reading.operations.step_of(row.operation);
    const auto in = communicators.find(row.communicator);
    if (index == timeline::k_no_step || in == communicators.end())
      continue;
    const timeline::StepKey& key = reading.operations.steps()[index];
    if (key.batch < 0 || static_cast<std::size_t>(key.batch) >= found_->batches.size())
      continue;
    Raw raw;
    raw.operation.step = found_->batches[static_cast<std::size_t>(key.batch)].first + key.iteration;
    if (run_of(raw.operation.step) == nullptr)
      continue;
    raw.operation.begin_ns = on_reference(times.spans[i].begin);
    raw.operation.end_ns = on_reference(times.spans[i].end);
    raw.operation.enqueued_ns =
        on_reference(static_cast<std::int64_t>(std::max(row.enqueue_ns, row.enqueued_ns)));
    raw.operation.bytes =
        row.count * (row.data_type.id < type_bytes_.size() ? type_bytes_[row.data_type.id] : 0);
    raw.hash = in->second->hash;
    raw.key = meeting_key(row, *in->second);
    raw.function = row.function.id;
    raw.kind = row.kind;
    raw.direction = row.kind == trace::NcclKind::collective ? 0 : row.peer - in->second->rank;
    by_id.emplace_back(row.id, operations.size());
    operations.push_back(raw);
  }
  if (!std::ranges::is_sorted(by_id)) {
    std::ranges::stable_sort(by_id);
    std::vector<Raw> ordered;
    for (const auto& [id, at] : by_id)
      ordered.push_back(operations[at]);
    operations = std::move(ordered);
  }
}

void StepGraphBuilder::add_gpu(std::size_t rank, const timeline::RankReading& reading,
                               const timeline::ClockModel& host, const timeline::Spans& loading) {
  if (reading.trace.kernel_windows.empty())
    return;
  GpuUse& gpu = graph_.gpus[rank];
  auto on_reference = [&](std::int64_t own_ns) {
    return host.to_reference(static_cast<std::uint64_t>(own_ns));
  };
  timeline::Spans all, busy; // busy: with communication, on the rank's own clock
  for (const timeline::DeviceActivity& one : reading.activities.all) {
    const timeline::Span span{on_reference(one.start_ns), on_reference(one.end_ns)};
    busy.push_back({one.start_ns, one.end_ns});
    if (one.kind == timeline::Class::compute)
      gpu.computing.push_back(span);
    else if (one.kind == timeline::Class::memory)
      gpu.copies.push_back(span);
    else
      continue;
    all.push_back(span);
  }
  gpu.computing = timeline::unite(std::move(gpu.computing));
  gpu.copies = timeline::subtract(timeline::unite(std::move(gpu.copies)), gpu.computing);
  all = timeline::unite(std::move(all));
  gpu.input = timeline::input_waits(reading.trace, timeline::unite(std::move(busy)), loading);
  move_to_reference(gpu.input, host);
  gpu.input = timeline::subtract(timeline::unite(std::move(gpu.input)), all);
  // Work that was launched before the window was not recorded, and runs before what was.
  for (const trace::KernelWindowRow& window : reading.trace.kernel_windows) {
    const std::int64_t end_ns = on_reference(static_cast<std::int64_t>(window.end_ns));
    const auto first = std::ranges::lower_bound(
        all, on_reference(static_cast<std::int64_t>(window.start_ns)), {}, &timeline::Span::begin);
    if (first != all.end() && first->begin < end_ns)
      gpu.known.push_back({first->begin, end_ns});
  }
}

// By steps; within them, in the order of the calls.
void StepGraphBuilder::order(std::vector<Raw>& operations) const {
  std::ranges::stable_sort(operations, {}, [](const Raw& raw) { return raw.operation.step; });
  for (std::size_t i = 1; i < operations.size(); ++i) {
    const Raw& before = operations[i - 1];
    operations[i].operation.with_previous =
        before.hash == operations[i].hash &&
        operations[i].operation.begin_ns < before.operation.end_ns &&
        before.operation.step == operations[i].operation.step;
  }
}

std::uint32_t StepGraphBuilder::class_of(const Raw& raw) {
  const GraphCommunicator& in = graph_.communicators[raw.operation.communicator];
  const OperationClass wanted{in.role, in.size, raw.function, raw.kind};
  const auto found = std::ranges::find(graph_.classes, wanted);
  const auto number = static_cast<std::uint32_t>(found - graph_.classes.begin());
  if (found == graph_.classes.end())
    graph_.classes.push_back(wanted);
  return number;
}

// Gives each operation its slot.
void StepGraphBuilder::place(std::vector<std::vector<Raw>>& ranks) {
  std::vector<std::vector<std::uint32_t>> class_of_raw(ranks.size());
  std::vector<SizesOfClass> sizes;
  for (std::size_t r = 0; r < ranks.size(); ++r)
    for (const Raw& raw : ranks[r]) {
      const std::uint32_t group = class_of(raw);
      class_of_raw[r].push_back(group);
      sizes.resize(graph_.classes.size());
      sizes[group].add(raw.operation.bytes);
    }
  std::vector<bool> by_size;
  for (const SizesOfClass& one : sizes)
    by_size.push_back(!one.are_chance());
  auto symbol_of = [&](std::size_t r, std::size_t i) {
    const Raw& raw = ranks[r][i];
    const std::uint32_t group = class_of_raw[r][i];
    base::Hash hash;
    hash.step(group).step(static_cast<std::uint32_t>(raw.direction));
    return hash.step(by_size[group] ? raw.operation.bytes : 0).value();
  };
  std::unordered_map<std::uint64_t, std::uint32_t> numbers;
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    const std::vector<Raw>& all = ranks[r];
    auto step_at = [&](std::size_t i) { return all[i].operation.step; };
    std::map<std::uint32_t, std::map<std::uint64_t, std::size_t>> sequences; // by kind
    for (std::size_t first = 0, last = 0; first < all.size(); first = last) {
      base::Hash sequence;
      for (; last < all.size() && step_at(last) == step_at(first); ++last)
        sequence.step(symbol_of(r, last));
      ++sequences[run_of(step_at(first))->kind][sequence.value()];
    }
    std::map<std::uint32_t, std::uint64_t> usual; // the most frequent sequence
    for (const auto& [kind, of_kind] : sequences)
      usual[kind] =
          std::ranges::max_element(of_kind, {}, [](const auto& one) { return one.second; })->first;
    for (std::size_t first = 0, last = 0; first < all.size(); first = last) {
      std::unordered_map<std::uint64_t, std::uint32_t> seen; // in this step
      const std::uint32_t kind = run_of(step_at(first))->kind;
      for (; last < all.size() && step_at(last) == step_at(first); ++last) {
        const std::uint64_t symbol = symbol_of(r, last);
        const std::uint64_t slot =
            base::Hash().step(kind).step(usual[kind]).step(symbol).step(seen[symbol]++).value();
        const auto [at, is_new] =
            numbers.try_emplace(mixed(slot), static_cast<std::uint32_t>(graph_.slots.size()));
        if (is_new)
          graph_.slots.push_back({kind, class_of_raw[r][last]});
        ranks[r][last].operation.slot = at->second;
      }
    }
  }
}

void StepGraphBuilder::meet(const std::vector<std::vector<Raw>>& ranks) {
  std::unordered_map<std::uint64_t, std::uint32_t> numbers; // of a run's meetings
  std::vector<std::size_t> at(ranks.size());
  for (StepRun& run : graph_.runs) {
    numbers.clear();
    run.ranks.resize(ranks.size());
    for (std::size_t r = 0; r < ranks.size(); ++r)
      for (; at[r] < ranks[r].size() && ranks[r][at[r]].operation.step < run.first + run.steps;
           ++at[r]) {
        const Raw& raw = ranks[r][at[r]];
        const auto [number, is_new] =
            numbers.try_emplace(raw.key, static_cast<std::uint32_t>(run.meetings.size()));
        if (is_new)
          run.meetings.emplace_back();
        Meeting& meeting = run.meetings[number->second];
        GraphOperation operation = raw.operation;
        operation.meeting = number->second;
        ++meeting.members;
        if (operation.begin_ns > meeting.last_begin_ns) {
          meeting.second_last_begin_ns = meeting.last_begin_ns;
          meeting.last_begin_ns = operation.begin_ns;
          meeting.last_rank = static_cast<std::uint32_t>(r);
          meeting.last_operation = static_cast<std::uint32_t>(run.ranks[r].size());
        } else if (operation.begin_ns > meeting.second_last_begin_ns) {
          meeting.second_last_begin_ns = operation.begin_ns;
        }
        const int size = raw.kind == trace::NcclKind::collective
                             ? graph_.communicators[operation.communicator].size
                             : 2;
        meeting.is_complete = meeting.members == static_cast<std::uint32_t>(size);
        run.ranks[r].push_back(operation);
      }
  }
}

StepGraph StepGraphBuilder::take() {
  std::vector<std::uint64_t> steps;
  for (const StepKind& kind : found_->kinds)
    steps.push_back(kind.steps);
  std::unordered_map<std::uint64_t, std::uint32_t> numbers;
  for (const auto& [hash, one] : found_->communicators) {
    numbers[hash] = static_cast<std::uint32_t>(graph_.communicators.size());
    graph_.communicators.push_back({hash, role_of(one, steps), one.size, {}});
    for (const auto& [own, rank] : one.ranks)
      graph_.communicators.back().ranks.push_back(rank);
  }
  for (std::vector<Raw>& operations : raw_) {
    for (Raw& raw : operations)
      raw.operation.communicator = numbers.at(raw.hash);
    order(operations);
  }
  place(raw_);
  meet(raw_);
  raw_.clear();
  return std::move(graph_);
}

} // namespace ncclprobe::analysis::job
