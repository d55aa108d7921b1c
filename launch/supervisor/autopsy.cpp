// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/supervisor/autopsy.h"

#include "base/stored_variables.h"
#include "launch/supervisor/trial_outcome.h"
#include "model/survey.h"
#include "wire/message.h"

#include <algorithm>
#include <array>
#include <set>

namespace ncclprobe::launch {
namespace {

constexpr std::size_t k_frames_in_reason = 4;
constexpr std::size_t k_groups_in_reason = 4;
constexpr std::size_t k_longest_line = 200;

// One rank and its worker.
struct Subject {
  const RankReport* rank;
  const WorkerReport* worker;
};

std::vector<Subject> subjects_of(const std::vector<TrialReport>& reports) {
  std::vector<Subject> subjects;
  for (const TrialReport& report : reports)
    for (const WorkerReport& worker : report.workers)
      for (const RankReport& rank : worker.ranks)
        subjects.push_back({&rank, &worker});
  std::ranges::sort(subjects,
                    [](const Subject& a, const Subject& b) { return a.rank->rank < b.rank->rank; });
  return subjects;
}

std::vector<Subject> only(const std::vector<Subject>& all, const std::vector<int>& ranks) {
  std::vector<Subject> some;
  for (const Subject& one : all)
    if (std::ranges::find(ranks, one.rank->rank) != ranks.end())
      some.push_back(one);
  return some;
}

template <typename Holds>
std::vector<int> ranks_where(const std::vector<Subject>& subjects, Holds holds) {
  std::vector<int> ranks;
  for (const Subject& one : subjects)
    if (holds(one))
      ranks.push_back(one.rank->rank);
  return ranks;
}

// A rank that has all its results and only waits to leave blocked nobody.
bool waits_for_others(const WorkerReport& worker) {
  return !worker.waits_in.empty() && worker.waits_in != wire::k_leave_key;
}

// "ranks 0-2: <text>, rank 3: <text>": ranks with the same text together; nothing for empty ones.
template <typename Text>
std::string by_groups(const std::vector<Subject>& subjects, Text text_of) {
  std::vector<std::pair<std::string, std::vector<int>>> groups;
  for (const Subject& one : subjects) {
    std::string text = text_of(one);
    if (text.empty())
      continue;
    auto found =
        std::ranges::find_if(groups, [&](const auto& group) { return group.first == text; });
    if (found == groups.end())
      found = groups.insert(groups.end(), {text, {}});
    found->second.push_back(one.rank->rank);
  }
  std::string words;
  for (std::size_t i = 0; i < std::min(groups.size(), k_groups_in_reason); ++i)
    words += (words.empty() ? "" : ", ") + name_ranks(groups[i].second) + ": " + groups[i].first;
  if (groups.size() > k_groups_in_reason)
    words += ", ...";
  return words;
}

// "a < b < c", innermost first.
std::string top_frames(std::string_view stack) {
  std::string words;
  for (std::size_t frame = 0; frame < k_frames_in_reason && !stack.empty(); ++frame) {
    std::size_t end = std::min(stack.find('\n'), stack.size());
    words +=
        (frame == 0 ? "" : " < ") + std::string(stack.substr(0, std::min(end, k_longest_line)));
    stack.remove_prefix(std::min(end + 1, stack.size()));
  }
  return words;
}

bool before_ready(const Subject& one) {
  return one.rank->phase <= WorkerPhase::started;
}

// What NCCL writes when it finds no way over the network.
std::string network_complaint(std::string_view output) {
  constexpr std::array k_words{"no socket interface found", "Bootstrap : no socket",
                               "Connection refused", "onnection timed out", "No route to host"};
  for (std::string_view words : k_words) {
    std::size_t at = output.find(words);
    if (at == std::string_view::npos)
      continue;
    std::size_t start = output.rfind('\n', at);
    start = start == std::string_view::npos ? 0 : start + 1;
    std::size_t end = std::min(output.find('\n', at), output.size());
    return std::string(output.substr(start, std::min(end - start, k_longest_line)));
  }
  return "";
}

// The first NCCL_ variable that ranks do not agree on, with its values; empty if there is none.
std::string mismatch(const std::vector<Subject>& subjects) {
  std::set<std::string> names;
  for (const Subject& one : subjects)
    for (const model::Setting& setting : one.worker->nccl_settings)
      if (!model::may_differ_between_ranks(setting.name))
        names.insert(setting.name);
  for (const std::string& name : names) {
    auto value_of = [&](const Subject& one) -> std::string {
      for (const model::Setting& setting : one.worker->nccl_settings)
        if (setting.name == name)
          return setting.value.empty() ? "empty" : setting.value;
      return "not set";
    };
    bool same = std::ranges::all_of(
        subjects, [&](const Subject& one) { return value_of(one) == value_of(subjects.front()); });
    auto stored_value_of = [&](const Subject& one) {
      return base::stored_value(name, value_of(one));
    };
    if (!same)
      return fmt::format("{} differs between ranks (mismatch): {}", name,
                         by_groups(subjects, stored_value_of));
  }
  return "";
}

} // namespace

std::string last_nccl_line(std::string_view output) {
  std::size_t at = output.rfind("NCCL ");
  if (at == std::string_view::npos)
    return "";
  std::size_t start = output.rfind('\n', at);
  start = start == std::string_view::npos ? 0 : start + 1;
  std::size_t end = std::min(output.find('\n', at), output.size());
  return std::string(output.substr(start, end - start));
}

std::string phase_in_words(const RankReport& rank, const model::WorkerRecord& worker,
                           const model::TrialSpec& spec) {
  if (rank.phase >= WorkerPhase::teardown)
    return "teardown";
  constexpr std::array k_words{"spawned",           "spawned",   "device ready",
                               "communicator init", "connected", "between cells"};
  std::string words = k_words.at(static_cast<std::size_t>(rank.phase));
  bool in_cell = rank.phase == WorkerPhase::cell && rank.cell >= 0 &&
                 rank.cell < std::ssize(spec.cells) && !rank.results.contains(rank.cell);
  if (in_cell)
    words = describe(spec.cells[rank.cell]);
  if (worker.position.empty())
    return words;
  return worker.position + (in_cell ? " of " : ", ") + words;
}

std::string probable_cause(const Trouble& cause, const std::vector<int>& stuck,
                           const model::TrialSpec& spec, const std::vector<TrialReport>& reports) {
  std::vector<Subject> all = subjects_of(reports);
  std::vector<Subject> victims = only(all, stuck);
  auto in_state = [&](std::string_view state) {
    return ranks_where(all, [&](const Subject& one) { return one.worker->state == state; });
  };
  if (std::vector<int> ranks = in_state("T"); !ranks.empty())
    return name_ranks(ranks) + (ranks.size() == 1 ? " was" : " were") +
           " stopped by a signal (SIGSTOP) or a debugger";
  if (std::vector<int> ranks = in_state("D"); !ranks.empty())
    return name_ranks(ranks) + (ranks.size() == 1 ? " hangs" : " hang") +
           " in the kernel (state D): driver, GPU or file system";
  if (static_cast<int>(all.size()) < spec.ranks && !cause.reason.empty())
    return "the host of the ranks that sent no report, the network to it, or a frozen supervisor "
           "there";
  std::vector<int> unready = ranks_where(victims, before_ready);
  if (!unready.empty())
    return name_ranks(unready) + " never became ready" +
           (unready.size() < all.size() ? ", the others wait" : ": device or driver");
  for (const Subject& one : victims)
    if (std::string line = network_complaint(one.worker->record.output_tail); !line.empty())
      return fmt::format(
          "no connection between ranks, set NCCL_SOCKET_IFNAME to the interface that "
          "reaches all of them (rank {} said: {})",
          one.rank->rank, line);
  if (std::string words = mismatch(all); !words.empty())
    return words;
  std::vector<int> waiting =
      ranks_where(all, [](const Subject& one) { return waits_for_others(*one.worker); });
  std::vector<int> absent =
      ranks_where(victims, [](const Subject& one) { return !waits_for_others(*one.worker); });
  if (!waiting.empty() && !absent.empty())
    return name_ranks(absent) + " did not reach the point where " + name_ranks(waiting) +
           (waiting.size() == 1 ? " waits" : " wait");
  bool in_cell = cause.cell >= 0 && cause.cell < std::ssize(spec.cells);
  if (in_cell && stuck.size() < all.size())
    return fmt::format("{} or {} connection to the others, which finished this operation",
                       name_ranks(stuck), stuck.size() == 1 ? "its" : "their");
  std::set<std::string> hosts;
  for (const Subject& one : all)
    hosts.insert(one.worker->record.host);
  if (hosts.size() > 1 && stuck.size() == all.size())
    return fmt::format(
        "all ranks wait for each other: no data comes through between {} (`ncclprobe "
        "doctor` on the same hosts tries it)",
        fmt::join(hosts, ", "));
  return "unknown: see the stacks of the workers";
}

std::string autopsy(const Trouble& cause, const std::vector<int>& stuck,
                    const model::TrialSpec& spec, const std::vector<TrialReport>& reports) {
  std::vector<Subject> all = subjects_of(reports);
  std::vector<Subject> victims = only(all, stuck);
  std::string words;
  auto add = [&](const char* title, const std::string& text) {
    if (!text.empty())
      words += std::string("; ") + title + text;
  };
  add("", by_groups(all, [&](const Subject& one) {
        return phase_in_words(*one.rank, one.worker->record, spec);
      }));
  add("stack of ",
      by_groups(victims, [](const Subject& one) { return top_frames(one.worker->record.stack); }));
  add("last NCCL line of ", by_groups(victims, [](const Subject& one) {
        return last_nccl_line(one.worker->record.output_tail).substr(0, k_longest_line);
      }));
  add("probable cause: ", probable_cause(cause, stuck, spec, reports));
  return words;
}

} // namespace ncclprobe::launch
