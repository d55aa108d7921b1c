// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/worker/data_check.h"

#include "launch/worker/guard_bands.h"

#include <algorithm>
#include <set>

namespace ncclprobe::worker {

using namespace model;

namespace {

// Buffers that an operation writes; `uses` adds all that it accesses.
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
  } else if (const auto* chase = std::get_if<ChaseOp>(&operation.what)) {
    uses.insert({chase->through.buffer, chase->result.buffer});
    return {chase->result.buffer};
  } else if (const auto* gemm = std::get_if<GemmOp>(&operation.what)) {
    uses.insert({gemm->a.buffer, gemm->b.buffer, gemm->c.buffer});
    return {gemm->c.buffer};
  } else if (const auto* convert = std::get_if<ConvertOp>(&operation.what)) {
    uses.insert({convert->from.buffer, convert->into.buffer});
    return {convert->into.buffer};
  } else if (const auto* optimizer = std::get_if<OptimizerOp>(&operation.what)) {
    uses.insert({optimizer->gradients.buffer, optimizer->weights.buffer, optimizer->state.buffer});
    return {optimizer->weights.buffer, optimizer->state.buffer};
  }
  return {};
}

std::vector<const ChaseOp*> chases_of(const Schedule& schedule) {
  std::vector<const ChaseOp*> chases;
  for (const Operation& operation : schedule.operations)
    if (const auto* chase = std::get_if<ChaseOp>(&operation.what))
      chases.push_back(chase);
  return chases;
}

} // namespace

std::string_view in_words(CheckMethod method) {
  switch (method) {
  case CheckMethod::none:
    break;
  case CheckMethod::every_launch:
    return "every launch";
  case CheckMethod::every_batch:
    return "every batch, results poisoned before it";
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
  for (const ChaseOp* chase : chases_of(schedule)) {
    inputs.insert(chase->through.buffer);
    results.insert(chase->result.buffer);
  }
  flow.results.assign(results.begin(), results.end());
  auto is_input = [&](int buffer) { return inputs.contains(buffer); };
  if (std::ranges::any_of(results, is_input))
    flow.repeatable = false;
  for (int i = 0; i < std::ssize(schedule.operations); ++i) {
    std::set<int> uses;
    std::vector<int> written = written_by(schedule.operations[i], uses);
    if (std::ranges::any_of(written, is_input))
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
  if (mode == TimingMode::events)
    return CheckMethod::every_batch;
  bool last = flow.repeatable && flow.self_contained && slots == Slots::there;
  return last ? CheckMethod::last_launch : CheckMethod::separate_launch;
}

namespace {

// For an integer type the number in the bits, for a float the encoded number.
std::string in_words(DataType type, std::uint64_t bits, const Number& number) {
  if (is_float(type))
    return fmt::format("{}", value_of(number));
  int unused = 64 - 8 * static_cast<int>(size_bytes(type));
  return is_unsigned(type) ? fmt::format("{}", bits)
                           : fmt::format("{}", static_cast<std::int64_t>(bits << unused) >> unused);
}

std::string first_wrong(int global_rank, const model::DataCheck& one, const Expectation& expected,
                        const Pattern& pattern, const backend::Mismatch& found) {
  Number number = expected.number(pattern, one.type, found.first);
  std::uint64_t bits = encode(one.type, number);
  return fmt::format("rank {} element {}: bits {:#x} instead of {:#x} ({})", global_rank,
                     found.first, found.first_bits, bits, in_words(one.type, bits, number));
}

// Each link holds the offset of the next, in bytes from the start of the chain: independent of the
// mapping's address.
void write_chain(const ChaseOp& chase, backend::Buffer& buffer) {
  std::vector<std::uint64_t> words(chase.bytes / sizeof(std::uint64_t));
  std::uint64_t step = chase.stride_bytes / sizeof(std::uint64_t);
  for (std::uint64_t at = 0; at < words.size(); at += step)
    words[at] = (at + step) % words.size() * sizeof(std::uint64_t);
  buffer.write(place_in(buffer, chase.through, chase.through_rank).offset,
               std::as_bytes(std::span(words)));
}

void compare_position(const ChaseOp& chase, backend::Buffer& buffer, DataComparison& finding) {
  std::uint64_t position = 0;
  buffer.read(place_in(buffer, chase.result, chase.rank).offset,
              std::as_writable_bytes(std::span(&position, std::size_t{1})));
  ++finding.elements;
  if (position == chase.last_position())
    return;
  ++finding.wrong;
  if (finding.first_wrong.empty())
    finding.first_wrong =
        fmt::format("rank {}: {} hops through memory of rank {} ended at byte {} instead of {}",
                    chase.rank, chase.hops, chase.through_rank, position, chase.last_position());
}

} // namespace

CellData::CellData(const Schedule& schedule, const std::vector<LocalRankState>& local_ranks,
                   const std::vector<LocalCommunicator*>& communicators, int world_size,
                   std::uint64_t seed)
    : schedule_(schedule), ranks_(local_ranks), communicators_(communicators),
      world_size_(world_size), seed_(seed), flow_(data_flow(schedule)) {}

CellData::Group CellData::group(int communicator, const std::vector<int>& ranks) const {
  Group group;
  if (communicator == k_all_ranks) {
    group.size = world_size_;
    for (std::size_t local_rank = 0; local_rank < ranks_.size(); ++local_rank)
      group.members.push_back({local_rank, ranks_[local_rank].rank});
  } else {
    const LocalCommunicator& local = *communicators_[communicator];
    group.size = static_cast<int>(local.ranks.size());
    for (std::size_t i = 0; i < local.local_ranks.size(); ++i)
      group.members.push_back({local.local_ranks[i], local.members[i]->rank()});
  }
  std::erase_if(group.members, [&](const Group::Member& member) {
    return !names_rank(ranks, ranks_[member.local_rank].rank);
  });
  return group;
}

// Communicators have different data, so data in the wrong communicator is detected.
std::uint64_t CellData::seed_of(int communicator) const {
  return seed_ + 0xD1B54A32D192ED03 * static_cast<std::uint64_t>(communicator);
}

Pattern CellData::input_pattern(const Fill& fill, int ranks) const {
  return pattern_for(seed_of(fill.communicator), fill.collective, fill.type, fill.op, ranks,
                     fill.signs);
}

void CellData::guard(const LocalBuffers& buffers) const {
  for (std::size_t local_rank = 0; local_rank < buffers.size(); ++local_rank)
    for (std::size_t index = 0; index < schedule_.buffers.size(); ++index) {
      std::uint64_t bytes = schedule_.buffers[index].bytes.at(ranks_[local_rank].rank);
      if (bytes == 0)
        continue;
      buffers[local_rank][index]->poison_bytes(0, k_guard_bytes);
      buffers[local_rank][index]->poison_bytes(k_guard_bytes + bytes, k_guard_bytes);
    }
}

void CellData::fill(const LocalBuffers& buffers) const {
  for (int index = 0; index < std::ssize(schedule_.buffers); ++index)
    poison(buffers, index);
  for (const Fill& fill : schedule_.fills) {
    Group of = group(fill.communicator, fill.ranks);
    for (auto [local_rank, rank] : of.members) {
      if (!has_input(fill, rank, ranks_[local_rank].rank))
        continue;
      backend::Buffer& buffer = *buffers[local_rank][fill.slice.buffer];
      buffer.fill(place_in(buffer, fill.slice, rank).offset, fill.type,
                  input_pattern(fill, of.size), rank, fill.count);
    }
  }
  for (const ChaseOp* chase : chases_of(schedule_))
    for (std::size_t local_rank = 0; local_rank < ranks_.size(); ++local_rank)
      if (ranks_[local_rank].rank == chase->through_rank)
        write_chain(*chase, *buffers[local_rank][chase->through.buffer]);
}

void CellData::poison_results(const LocalBuffers& buffers) const {
  for (int index : flow_.results)
    poison(buffers, index);
}

// The size that this schedule declares: a buffer may be larger, from an earlier cell.
void CellData::poison(const LocalBuffers& buffers, int index) const {
  auto at = static_cast<std::size_t>(index);
  for (std::size_t local_rank = 0; local_rank < buffers.size(); ++local_rank) {
    backend::Buffer& buffer = *buffers[local_rank][at];
    buffer.poison_bytes(data_begin(buffer),
                        schedule_.buffers[at].bytes.at(ranks_[local_rank].rank));
  }
}

std::vector<DataComparison> CellData::compare(const LocalBuffers& buffers) const {
  std::vector<DataComparison> findings(ranks_.size());
  for (const model::DataCheck& one : schedule_.checks) {
    Group of = group(one.communicator, one.ranks);
    Pattern pattern =
        pattern_for(seed_of(one.communicator), one.collective, one.type, one.op, of.size);
    for (auto [local_rank, rank] : of.members) {
      Expectation expected = expectation_for(one.collective, one.op, one.root, one.count, rank,
                                             of.size, {one.distance, one.first_index});
      backend::Buffer& buffer = *buffers[local_rank][one.slice.buffer];
      backend::Mismatch found =
          buffer.compare(place_in(buffer, one.slice, rank).offset, one.type, pattern, expected);
      findings[local_rank].elements += found.elements;
      findings[local_rank].wrong += found.wrong;
      if (found.wrong > 0 && findings[local_rank].first_wrong.empty())
        findings[local_rank].first_wrong =
            first_wrong(ranks_[local_rank].rank, one, expected, pattern, found);
    }
  }
  for (const ChaseOp* chase : chases_of(schedule_))
    for (std::size_t local_rank = 0; local_rank < ranks_.size(); ++local_rank)
      if (ranks_[local_rank].rank == chase->rank)
        compare_position(*chase, *buffers[local_rank][chase->result.buffer], findings[local_rank]);
  return findings;
}

// Text about overwritten bytes of a region; "" if there are none.
std::string CellData::overwritten(const UntouchedRegion& region, std::size_t local_rank,
                                  backend::Buffer& buffer) const {
  const BufferDecl& declared = schedule_.buffers[region.buffer];
  auto say = [&](const backend::Mismatch& found, std::uint64_t begin, std::uint64_t size,
                 const char* unit, const char* which) {
    if (found.wrong == 0)
      return std::string();
    auto at = static_cast<std::int64_t>(begin + found.first * size - k_guard_bytes);
    int rank = ranks_[local_rank].rank;
    return fmt::format(
        "rank {}: {} {}{} {} overwritten, the first at byte {} of buffer '{}' ({} bytes)", rank,
        found.wrong, unit, found.wrong == 1 ? "" : "s", which, at, declared.name,
        declared.bytes.at(rank));
  };
  if (region.fill < 0)
    return say(buffer.compare_poison(region.begin, region.end - region.begin), region.begin, 1,
               "byte", "outside all results");
  const Fill& fill = schedule_.fills[region.fill];
  Group of = group(fill.communicator, {ranks_[local_rank].rank});
  int rank = of.members.front().rank;
  std::uint64_t size = size_bytes(fill.type);
  std::uint64_t start = place_in(buffer, fill.slice, rank).offset;
  // Only elements that are entirely in the region.
  std::uint64_t first = (region.begin - start + size - 1) / size;
  std::uint64_t end = (region.end - start) / size;
  if (first >= end)
    return "";
  Expectation expected{false, fill.op, of.size, rank, first, end - first, end - first};
  std::uint64_t begin = start + first * size;
  return say(buffer.compare(begin, fill.type, input_pattern(fill, of.size), expected), begin, size,
             "element", "of an input");
}

std::vector<std::string> CellData::compare_untouched(const LocalBuffers& buffers,
                                                     const std::vector<int>& which) const {
  std::vector<std::string> findings(ranks_.size());
  for (std::size_t local_rank = 0; local_rank < ranks_.size(); ++local_rank)
    for (const UntouchedRegion& region :
         untouched_memory(schedule_, world_size_, ranks_[local_rank].rank)) {
      bool meant = std::ranges::find(which, region.buffer) != which.end();
      if (meant && findings[local_rank].empty())
        findings[local_rank] = overwritten(region, local_rank, *buffers[local_rank][region.buffer]);
    }
  return findings;
}

} // namespace ncclprobe::worker
