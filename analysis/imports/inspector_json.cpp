// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/imports/inspector_json.h"

#include "analysis/imports/json_access.h"
#include "base/document_limits.h"
#include "base/text_layout.h"
#include "model/collective.h"

#include <algorithm>
#include <array>
#include <map>
#include <tuple>

namespace ncclprobe::analysis::imports {
namespace {

using model::Collective;

constexpr std::size_t k_most_records = 5'000'000;
constexpr std::int64_t k_most_ranks = 1'000'000;

// Names as ncclFuncToString() gives them (inspector.cc).
std::optional<Collective> collective_named(std::string_view name) {
  constexpr std::array<std::pair<std::string_view, Collective>, 6> k_names{{
      {"AllReduce", Collective::all_reduce},
      {"AllGather", Collective::all_gather},
      {"ReduceScatter", Collective::reduce_scatter},
      {"Broadcast", Collective::broadcast},
      {"Reduce", Collective::reduce},
      {"All2All", Collective::all_to_all},
  }};
  for (const auto& [known, collective] : k_names)
    if (known == name)
      return collective;
  return std::nullopt;
}

struct Record {
  Collective collective = Collective::all_reduce;
  std::uint64_t bytes = 0; // S of algbw
  int rank = 0;
  std::int64_t number = 0; // of the operation in its communicator
  double time_us = 0;
};

struct Communicator {
  std::string id;
  std::string name;
  int ranks = 0;
  std::vector<Record> records;
  std::map<int, ImportedRank> known_ranks;
};

// Everything in the texts.
struct Contents {
  std::map<std::string, Communicator> communicators; // by id
  std::string version;
  std::size_t records = 0, messages = 0, not_by_gpu = 0;
};

// The size that Inspector counts is that of a rank's part (inspector.cc, inspectorComputeOpBw).
std::uint64_t message_bytes(Collective collective, std::int64_t bytes, int ranks) {
  const bool of_all = collective == Collective::all_gather ||
                      collective == Collective::reduce_scatter ||
                      collective == Collective::all_to_all;
  return static_cast<std::uint64_t>(bytes) * (of_all ? static_cast<std::uint64_t>(ranks) : 1);
}

// False if the line is no record.
bool take(const Json& line, Contents& contents) {
  const Json& header = member(line, "header");
  const Json& metadata = member(line, "metadata");
  if (line.contains("p2p_perf")) {
    ++contents.messages;
    return true;
  }
  const Json& operation = member(line, "coll_perf");
  const auto collective = collective_named(text_in(member(operation, "coll")));
  const auto rank = integer_in(member(header, "rank"));
  const auto ranks = integer_in(member(header, "n_ranks"));
  const auto bytes = integer_in(member(operation, "coll_msg_size_bytes"));
  const auto number = integer_in(member(operation, "coll_sn"));
  const auto time_us = number_in(member(operation, "coll_exec_time_us"));
  if (!collective || !rank || !ranks || !bytes || !number || !time_us || *ranks < 1 ||
      *ranks > k_most_ranks || *rank < 0 || *rank >= *ranks || *bytes < 0 || *bytes > (1LL << 44))
    return false;
  // Absent in versions before 2.29, which fell back without saying so.
  const std::string source = text_in(member(operation, "coll_timing_source"));
  contents.not_by_gpu += !source.empty() && source != "kernel_gpu";
  const std::string id = text_in(member(header, "id"));
  Communicator& one = contents.communicators[id];
  one.id = id;
  one.name = text_in(member(header, "comm_name"));
  one.ranks = std::max(one.ranks, static_cast<int>(*ranks));
  const int of_rank = static_cast<int>(*rank);
  if (!one.known_ranks.contains(of_rank))
    one.known_ranks[of_rank] = {.rank = of_rank,
                                .hostname = text_in(member(metadata, "hostname")),
                                .pid = static_cast<std::int32_t>(
                                    integer_in(member(metadata, "pid")).value_or(0) & 0x7FFFFFFF)};
  one.records.push_back({*collective, message_bytes(*collective, *bytes, static_cast<int>(*ranks)),
                         of_rank, *number, *time_us});
  ++contents.records;
  if (contents.version.empty())
    contents.version = text_in(member(metadata, "inspector_output_format_version"));
  return true;
}

Result<Contents> read_lines(const std::vector<std::string_view>& texts, Omissions& omitted) {
  Contents contents;
  for (std::string_view text : texts)
    for (std::size_t at = 0, number = 1; at < text.size(); ++number) {
      const std::size_t end = std::min(text.find('\n', at), text.size());
      std::string_view line = text.substr(at, end - at);
      at = end + 1;
      line = line.substr(0, line.find_last_not_of(" \r") + 1);
      if (line.empty())
        continue;
      if (contents.records == k_most_records)
        return fail({Errc::invalid_argument,
                     fmt::format("there are more than {} records", k_most_records),
                     "import a part of the lines"});
      if (!base::check_json_limits(line, "the line")) {
        omitted.add(number, "it is nested too deeply");
        continue;
      }
      const Json json = Json::parse(line, nullptr, false);
      if (json.is_discarded() || !take(json, contents))
        omitted.add(number, json.is_discarded() ? "it is not JSON, or cut off"
                                                : "it is not a record of a known collective");
    }
  return contents;
}

Result<const Communicator*> choose(const Contents& contents, const std::string& wanted) {
  const Communicator* chosen = nullptr;
  std::string names;
  for (const auto& [id, one] : contents.communicators) {
    names += fmt::format("{}{} ({}, {})", names.empty() ? "" : ", ", id, one.name,
                         base::count_of(static_cast<std::size_t>(one.ranks), "rank", "ranks"));
    if (wanted.empty() ? !chosen || one.records.size() > chosen->records.size()
                       : wanted == id || wanted == one.name)
      chosen = &one;
  }
  if (!chosen && contents.communicators.empty())
    return fail(Errc::invalid_argument, "it has no record of a collective (\"coll_perf\")");
  if (!chosen)
    return fail({Errc::invalid_argument, fmt::format("there is no communicator '{}'", wanted),
                 fmt::format("there are: {}", names)});
  return chosen;
}

// Cells in the order of size and collective; batches are the operations in their order.
void add_cells(ImportedProcess& process, std::vector<Record> records) {
  std::ranges::sort(records, [](const Record& a, const Record& b) {
    return std::tuple(a.collective, a.bytes, a.number, a.rank) <
           std::tuple(b.collective, b.bytes, b.number, b.rank);
  });
  CellList cells(process.cells);
  const Record* before = nullptr;
  for (const Record& record : records) {
    model::CellLabel label{.bytes = record.bytes, .type = model::DataType::u8};
    label.what = model::CollectiveLabel{.collective = record.collective};
    ImportedCell& cell = cells.at(label);
    const bool same_cell =
        before && before->collective == record.collective && before->bytes == record.bytes;
    if (!same_cell) {
      cell.timing = {
          .warmups = 0, .iterations = 1, .batches = 0, .mode = model::TimingMode::latency};
      cell.record.check.why_unchecked = "NCCL Inspector does not check data";
    }
    if (!same_cell || before->number != record.number)
      ++cell.timing.batches;
    before = &record;
    if (const auto sample =
            sample_of(record.rank, cell.timing.batches - 1, 1, record.time_us * 1e3))
      cell.record.samples.push_back(*sample);
  }
}

void add_ranks(ImportedProcess& process, const Communicator& chosen) {
  std::map<std::string, int> on_host;
  for (int rank = 0; rank < chosen.ranks; ++rank) {
    const auto known = chosen.known_ranks.find(rank);
    ImportedRank one =
        known == chosen.known_ranks.end() ? ImportedRank{.rank = rank} : known->second;
    one.device = on_host[one.hostname]++;
    process.ranks.push_back(std::move(one));
  }
}

} // namespace

Result<ImportedProcess> read_inspector(const std::vector<std::string_view>& texts,
                                       const ImportHints& hints) {
  Omissions omitted;
  NCCLPROBE_TRY_ASSIGN(const Contents contents, read_lines(texts, omitted));
  NCCLPROBE_TRY_ASSIGN(const Communicator* chosen, choose(contents, hints.communicator));
  ImportedProcess process;
  process.version = contents.version;
  add_ranks(process, *chosen);
  add_cells(process, chosen->records);
  process.times = "A time is that of one launch on the GPU, in whole microseconds, in the "
                  "application that ran.";
  auto& remarks = process.remarks;
  remarks.push_back(
      "NCCL Inspector does not record the element type, reduction, root and placement: they "
      "are shown as u8, sum, 0 and out of place. It does not record the GPUs either; "
      "the ranks of a host are numbered.");
  if (chosen->known_ranks.size() < static_cast<std::size_t>(chosen->ranks))
    remarks.push_back(fmt::format("Only {} of {} ranks have records.", chosen->known_ranks.size(),
                                  chosen->ranks));
  if (contents.communicators.size() > 1)
    remarks.push_back(fmt::format(
        "Communicator {} ({}) was imported; {} with {} {} left out.", chosen->id, chosen->name,
        base::count_of(contents.communicators.size() - 1, "other", "others"),
        base::count_of(contents.records - chosen->records.size(), "record", "records"),
        were(contents.communicators.size() - 1)));
  if (contents.not_by_gpu > 0)
    remarks.push_back(fmt::format("{} of all records were timed by the CPU.", contents.not_by_gpu));
  if (contents.messages > 0)
    remarks.push_back(fmt::format("{} between two ranks {} left out.",
                                  base::count_of(contents.messages, "message", "messages"),
                                  were(contents.messages)));
  omitted.tell(remarks);
  return process;
}

} // namespace ncclprobe::analysis::imports
