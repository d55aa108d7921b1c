// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/hang/flight_recorder.h"

#include "analysis/hang/pickle.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <string_view>
#include <tuple>

namespace ncclprobe::analysis::hang {
namespace {

constexpr std::size_t k_most_frames = 16;   // that are kept of a stack
constexpr std::size_t k_most_ranks = 65536; // of a group

std::string text_of(Pickle::Ref value) {
  return std::string(value.text().value_or(""));
}

std::optional<int> number_at_end(std::string_view text) {
  const std::size_t begin = text.find_last_not_of("0123456789") + 1; // npos + 1 is 0
  int number = 0;
  const auto [end, error] = std::from_chars(text.data() + begin, text.data() + text.size(), number);
  if (begin == text.size() || error != std::errc{})
    return std::nullopt;
  return number;
}

// The numbers in "[0, 1, 2]".
std::vector<int> numbers_in(std::string_view text) {
  std::vector<int> numbers;
  const char* at = text.data();
  const char* const end = text.data() + text.size();
  while (at < end && numbers.size() < k_most_ranks) {
    int number = 0;
    const auto [next, error] = std::from_chars(at, end, number);
    if (error == std::errc{} && number >= 0)
      numbers.push_back(number);
    at = next == at ? at + 1 : next;
  }
  return numbers;
}

CallState state_of(Pickle::Ref entry) {
  const std::string_view state = entry.field("state").text().value_or("");
  if (state == "completed")
    return CallState::ended;
  if (state == "started" || entry.field("retired").boolean().value_or(false)) // it timed out
    return CallState::running;
  return state == "scheduled" ? CallState::queued : CallState::unknown;
}

// Elements of a list of tensors' sizes.
std::uint64_t elements_in(Pickle::Ref sizes) {
  std::uint64_t all = 0;
  for (std::size_t tensor = 0; tensor < sizes.size(); ++tensor) {
    std::uint64_t elements = 1;
    for (std::size_t i = 0; i < sizes.item(tensor).size(); ++i)
      elements *= static_cast<std::uint64_t>(sizes.item(tensor).item(i).integer().value_or(0));
    all += elements;
  }
  return all;
}

// Functions of which each rank must give as many elements as the others.
bool has_equal_counts(const std::string& function) {
  static constexpr std::array<std::string_view, 6> these{
      "all_reduce",      "broadcast",          "reduce",
      "all_gather_base", "all_reduce_barrier", "reduce_scatter_base"};
  return std::ranges::find(these, function) != these.end();
}

// The user's frames, innermost first; all if they are all PyTorch's.
std::vector<std::string> frames_of(Pickle::Ref frames) {
  std::vector<std::string> users, all;
  for (std::size_t i = 0; i < frames.size() && users.size() < k_most_frames; ++i) {
    const Pickle::Ref frame = frames.item(i);
    const std::string file = text_of(frame.field("filename"));
    std::string text = fmt::format("{}:{} ({})", file, frame.field("line").integer().value_or(0),
                                   text_of(frame.field("name")));
    if (file.find("/torch/") == std::string::npos && !file.starts_with("torch/"))
      users.push_back(text);
    if (all.size() < k_most_frames)
      all.push_back(std::move(text));
  }
  return users.empty() ? all : users;
}

// "nccl:send 0->1", "nccl:recv 1<-0": the peer, a rank in the group.
std::optional<std::pair<CallKind, int>> message_of(std::string_view name) {
  const bool sends = name.find("send ") != std::string_view::npos;
  if (!sends && name.find("recv ") == std::string_view::npos)
    return std::nullopt;
  const std::optional<int> peer = number_at_end(name);
  if (!peer)
    return std::nullopt;
  return std::pair(sends ? CallKind::send : CallKind::receive, *peer);
}

Call call_of(Pickle::Ref entry) {
  Call call;
  call.state = state_of(entry);
  call.function = function_name(entry.field("profiling_name").text().value_or(""));
  const bool has_input = entry.field("input_sizes").size() > 0;
  call.count = elements_in(entry.field(has_input ? "input_sizes" : "output_sizes"));
  call.data_type = type_name(
      entry.field(has_input ? "input_dtypes" : "output_dtypes").item(0).text().value_or(""));
  call.bytes = call.count * type_bytes(call.data_type);
  call.count_may_differ = !has_equal_counts(call.function);
  call.at_ns = entry.field("time_created_ns").integer().value_or(0);
  call.ended_ns = entry.field("time_discovered_completed_ns").integer().value_or(0);
  call.where = frames_of(entry.field("frames"));
  return call;
}

} // namespace

std::size_t FlightRecorderCalls::group_of(const std::string& name, const std::string& description,
                                          const std::map<std::string, std::vector<int>>& ranks_of) {
  const auto ranks = ranks_of.find(name);
  const std::vector<int> members = ranks == ranks_of.end() ? std::vector<int>() : ranks->second;
  const auto [place, is_new] = groups_.emplace(std::pair(name, members), job_.groups.size());
  if (is_new)
    job_.groups.push_back(
        {"process group",
         description.empty() || description == "undefined" ? name : name + " " + description, name,
         members});
  return place->second;
}

Result<void> FlightRecorderCalls::add(const std::string& file, const Pickle& dump,
                                      std::int64_t written_ns) {
  const std::optional<int> rank = number_at_end(file);
  if (!rank)
    return fail({Errc::protocol, file + ": its name does not end with a rank",
                 "the flight recorder names its files nccl_trace_rank_0, nccl_trace_rank_1, ..."});
  const Pickle::Ref entries = dump.root().field("entries");
  if (!entries.is_list())
    return fail(Errc::protocol, "{} is not a dump of PyTorch's flight recorder: it has no entries",
                file);
  if (std::ranges::find(job_.ranks, *rank, &RankCalls::rank) != job_.ranks.end())
    return fail(Errc::mismatch, "{}: there are two dumps of rank {}", file, *rank);
  std::map<std::string, std::vector<int>> ranks_of; // by group
  const Pickle::Ref config = dump.root().field("pg_config");
  for (std::size_t i = 0; i < config.size(); ++i)
    ranks_of[text_of(config.key(i))] =
        numbers_in(config.item(i).field("ranks").text().value_or(""));
  last_ns_ = std::max(last_ns_, written_ns);
  RankCalls record{.rank = *rank, .host = "", .calls = {}};
  std::map<std::pair<std::size_t, std::uint64_t>, std::uint64_t> of_number; // coalesced operations
  std::map<std::tuple<std::size_t, CallKind, int>, std::uint64_t> messages;
  const std::size_t first = entries.size() > k_most_calls ? entries.size() - k_most_calls : 0;
  for (std::size_t i = first; i < entries.size(); ++i) {
    const Pickle::Ref entry = entries.item(i);
    Call call = call_of(entry);
    const Pickle::Ref group = entry.field("process_group");
    call.group = group_of(text_of(group.item(0)), text_of(group.item(1)), ranks_of);
    last_ns_ = std::max({last_ns_, call.at_ns, call.ended_ns});
    if (const auto message = message_of(entry.field("profiling_name").text().value_or(""))) {
      // Dumps begin anywhere: messages that have not ended are numbered, and they suffice.
      if (call.state == CallState::ended)
        continue;
      std::tie(call.kind, call.peer) = *message;
      call.function = call.kind == CallKind::send ? "send" : "receive";
      call.position = messages[{call.group, call.kind, call.peer}]++;
      call.number = static_cast<std::uint64_t>(entry.field("p2p_seq_id").integer().value_or(0));
    } else if (entry.field("is_p2p").boolean().value_or(false)) {
      continue; // the end of a group of messages
    } else {
      call.number =
          static_cast<std::uint64_t>(entry.field("collective_seq_id").integer().value_or(0));
      const std::uint64_t part = of_number[{call.group, call.number}]++;
      call.position = call.number << 8 | std::min<std::uint64_t>(part, 255);
    }
    record.calls.push_back(std::move(call));
  }
  job_.ranks.push_back(std::move(record));
  return {};
}

Job FlightRecorderCalls::take() {
  std::ranges::sort(job_.ranks, {}, &RankCalls::rank);
  for (RankCalls& rank : job_.ranks)
    rank.known_until_ns = last_ns_;
  // A group of unknown ranks: those that called in it.
  for (std::size_t group = 0; group < job_.groups.size(); ++group)
    if (job_.groups[group].ranks.empty())
      for (const RankCalls& rank : job_.ranks)
        if (std::ranges::find(rank.calls, group, &Call::group) != rank.calls.end())
          job_.groups[group].ranks.push_back(rank.rank);
  return std::move(job_);
}

} // namespace ncclprobe::analysis::hang
