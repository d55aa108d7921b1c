// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/hang/hang_words.h"

#include "base/number_list.h"
#include "base/printable.h"
#include "base/readable_bytes.h"
#include "base/text_layout.h"
#include "base/units.h"

#include <algorithm>

namespace ncclprobe::analysis::hang {
namespace {

constexpr std::size_t k_most_blamed = 8;       // ranks of whom evidence is shown
constexpr std::size_t k_most_shown_frames = 4; // of a stack

constexpr FindingKind k_not_called{
    "not_called", Severity::error,
    "{blamed} not called {call} of {group}. {waiting} in it for {wait}."};
constexpr FindingKind k_mismatch{
    "mismatch", Severity::error,
    "{theirs_by} called {theirs}, where {others_by} called {others} of {group}: the {differs} "
    "differs. {waiting} for {wait}."};
constexpr FindingKind k_unmatched_message{
    "unmatched_message", Severity::error,
    "{blamed} not called the {opposite} that matches {call} of {by} in {group}. {waiting} for "
    "{wait}."};
constexpr FindingKind k_order{
    "order", Severity::error,
    "{ranks} have waited for each other in different operations for {wait}: they called "
    "operations of several communicators in different orders. One of these is {call} of {group}."};
constexpr FindingKind k_not_begun{
    "not_begun", Severity::error,
    "All ranks of {group} have called {call}, but the GPU of {by} has not begun it: earlier work "
    "on that GPU has not ended. {waiting} for {wait}."};
constexpr FindingKind k_transfer{
    "transfer", Severity::error,
    "All ranks of {group} have called {call} with equal arguments, but it has not ended on {by} "
    "for {wait}. Look for errors of links, network and GPUs (ncclprobe doctor, NCCL_DEBUG=WARN)."};
constexpr FindingKind k_outside{"outside", Severity::note,
                                "Nothing hangs in NCCL: all ranks are outside NCCL. The last "
                                "operation was called {since} before the end of the record."};
constexpr FindingKind k_in_progress{
    "in_progress", Severity::note,
    "Nothing hangs: operations are in progress, and none of them for long."};
constexpr FindingKind k_ends_unknown{
    "ends_unknown", Severity::note,
    "All ranks have called the same operations. This record does not say when operations end: "
    "record with NCCLPROBE_CAPTURE=kernels."};
constexpr FindingKind k_empty{"empty", Severity::note, "No rank has called an operation."};

std::string ranks_text(const std::vector<int>& ranks) {
  return (ranks.size() == 1 ? "rank " : "ranks ") + base::format_number_list(ranks);
}

std::string capital(std::string text) {
  if (!text.empty() && text.front() >= 'a' && text.front() <= 'z')
    text.front() = static_cast<char>(text.front() - 'a' + 'A');
  return text;
}

std::string group_text(const Job& job, std::size_t group) {
  std::vector<int> ranks;
  for (const int rank : job.groups[group].ranks)
    if (rank >= 0)
      ranks.push_back(rank);
  const std::size_t size = job.groups[group].ranks.size();
  return fmt::format("{} {} ({})", job.groups[group].kind, base::printable(job.groups[group].name),
                     ranks.size() == size ? ranks_text(ranks)
                                          : fmt::format("{} ranks, {} known", size, ranks.size()));
}

// Global ranks where they are known, else ranks in the group.
std::string blamed_text(const Verdict& verdict) {
  std::vector<int> ranks, members;
  for (const Standing& one : verdict.blamed)
    (one.rank >= 0 ? ranks : members).push_back(one.rank >= 0 ? one.rank : one.member);
  std::vector<std::string> texts;
  if (!ranks.empty())
    texts.push_back(ranks_text(ranks));
  if (!members.empty())
    texts.push_back(ranks_text(members) + " of the communicator");
  return base::join(texts, " and ");
}

std::string has_or_have(const Verdict& verdict) {
  return blamed_text(verdict) + (verdict.blamed.size() == 1 ? " has" : " have");
}

std::string waiting_text(const Verdict& verdict) {
  return capital(ranks_text(verdict.waiting)) +
         (verdict.waiting.size() == 1 ? " has waited" : " have waited");
}

std::string argument_text(Argument argument) {
  switch (argument) {
  case Argument::data_type:
    return "data type";
  default:
    return std::string(base::to_string(argument));
  }
}

const Call& call_at(const Job& job, CallPlace place) {
  return job.ranks[place.rank].calls[place.call];
}

std::vector<int> ranks_but(const Job& job, const Mismatch& mismatch) {
  std::vector<int> others;
  for (const int rank : job.groups[mismatch.group].ranks)
    if (rank >= 0 && std::ranges::find(mismatch.ranks, rank) == mismatch.ranks.end())
      others.push_back(rank);
  return others;
}

const FindingKind& kind_of_none(const Job& job, const Verdict& verdict) {
  const bool any =
      std::ranges::any_of(job.ranks, [](const RankCalls& rank) { return !rank.calls.empty(); });
  if (!any)
    return k_empty;
  if (verdict.in_progress)
    return k_in_progress;
  return verdict.ends_known ? k_outside : k_ends_unknown;
}

std::string since_text(const Job& job) {
  std::int64_t least_ns = INT64_MAX;
  for (const RankCalls& rank : job.ranks)
    for (const Call& call : rank.calls)
      least_ns = std::min(least_ns, rank.known_until_ns - call.at_ns);
  return base::format_duration(static_cast<double>(least_ns));
}

std::string state_text(ProcessState state) {
  switch (state) {
  case ProcessState::alive:
    return "is alive";
  case ProcessState::gone:
    return "is gone";
  case ProcessState::unknown:
    break;
  }
  return "is of unknown state";
}

std::string blamed_evidence(const Job& job, const Standing& blamed) {
  const std::string name =
      capital(blamed.rank >= 0 ? ranks_text({blamed.rank})
                               : fmt::format("rank {} of the communicator", blamed.member));
  if (!blamed.of)
    return name + " left no record: it did not begin, or its file is missing.";
  const RankCalls& rank = job.ranks[*blamed.of];
  std::string text = rank.process == 0
                         ? name
                         : fmt::format("{} (process {} on {}) {}", name, rank.process,
                                       base::printable(rank.host), state_text(rank.state));
  if (!blamed.last)
    return text + (rank.process == 0 ? " has" : "; it has") +
           " called no operation of this communicator.";
  const Call& last = call_at(job, *blamed.last);
  text += fmt::format("{} last call there: {}", rank.process == 0 ? ":" : "; its", call_text(last));
  if (last.state == CallState::ended && last.ended_ns > 0)
    text += fmt::format(", which ended {} ago", base::format_duration(static_cast<double>(
                                                    rank.known_until_ns - last.ended_ns)));
  else if (last.state != CallState::ended)
    text += fmt::format(", {}", base::to_string(last.state));
  return text + ".";
}

// How to see what the first living rank does that others wait for.
std::string stack_advice(const Job& job, const Verdict& verdict) {
  if (verdict.cause != Cause::not_called && verdict.cause != Cause::unmatched_message)
    return "";
  for (const Standing& one : verdict.blamed)
    if (one.of && job.ranks[*one.of].state == ProcessState::alive)
      return fmt::format("To see what rank {} does: py-spy dump --pid {}, or gdb -p {} -batch -ex "
                         "'thread apply all bt'",
                         job.ranks[*one.of].rank, job.ranks[*one.of].process,
                         job.ranks[*one.of].process);
  return "";
}

std::string stack_text(const RankCalls& rank, const Call& call) {
  std::vector<std::string> frames(
      call.where.begin(), call.where.begin() + static_cast<std::ptrdiff_t>(std::min(
                                                   call.where.size(), k_most_shown_frames)));
  return fmt::format("Rank {} called {} at {}.", rank.rank, call_name(call),
                     base::printable(base::join(frames, " < ")));
}

} // namespace

std::string call_name(const Call& call) {
  const std::string peer = call.kind == CallKind::send      ? fmt::format(" to {}", call.peer)
                           : call.kind == CallKind::receive ? fmt::format(" from {}", call.peer)
                                                            : "";
  return fmt::format("{} #{}{}", base::printable(call.function), call.number, peer);
}

std::string call_text(const Call& call) {
  std::vector<std::string> parts;
  parts.push_back(base::grouped(call.count) + " " + base::printable(call.data_type));
  if (call.bytes > 0)
    parts.push_back(base::readable_bytes(call.bytes));
  if (call.root >= 0 && (call.function == "broadcast" || call.function == "reduce" ||
                         call.function == "gather" || call.function == "scatter"))
    parts.push_back(fmt::format("root {}", call.root));
  if (!call.algorithm.empty())
    parts.push_back(base::printable(call.algorithm + " " + call.protocol));
  return fmt::format("{} ({})", call_name(call), base::join(parts, ", "));
}

std::string standing_state(const Standing& standing, const Job& job) {
  if (!standing.of)
    return "no record";
  if (!standing.last)
    return "no call";
  return standing.open ? std::string(base::to_string(call_at(job, *standing.open).state))
                       : "outside NCCL";
}

Finding verdict_finding(const Job& job, const Verdict& verdict) {
  if (verdict.cause == Cause::none) {
    const FindingKind& kind = kind_of_none(job, verdict);
    return {&kind, &kind == &k_outside ? Object{{"since", since_text(job)}} : Object{}};
  }
  const Call& call = call_at(job, *verdict.call);
  Object values{{"group", group_text(job, call.group)},
                {"call", call_text(call)},
                {"waiting", waiting_text(verdict)},
                {"wait", base::format_duration(static_cast<double>(verdict.waits_ns))}};
  auto with = [&values](const FindingKind& kind, Object more) {
    std::move(more.begin(), more.end(), std::back_inserter(values));
    return Finding{&kind, std::move(values)};
  };
  switch (verdict.cause) {
  case Cause::none:
    break;
  case Cause::not_called:
    return with(k_not_called, {{"blamed", capital(has_or_have(verdict))}});
  case Cause::mismatch: {
    const Mismatch& mismatch = *verdict.mismatch;
    return with(k_mismatch, {{"theirs_by", capital(ranks_text(mismatch.ranks))},
                             {"others_by", ranks_text(ranks_but(job, mismatch))},
                             {"theirs", call_text(mismatch.theirs)},
                             {"others", call_text(mismatch.others)},
                             {"differs", argument_text(mismatch.argument)}});
  }
  case Cause::unmatched_message:
    return with(k_unmatched_message,
                {{"blamed", capital(has_or_have(verdict))},
                 {"opposite", call.kind == CallKind::send ? "receive" : "send"},
                 {"by", ranks_text({job.ranks[verdict.call->rank].rank})}});
  case Cause::order:
    return with(k_order, {{"ranks", capital(ranks_text(verdict.waiting))}});
  case Cause::not_begun:
    return with(k_not_begun, {{"by", blamed_text(verdict)}});
  case Cause::transfer:
    return with(k_transfer, {{"by", verdict.blamed.empty() ? "all ranks" : blamed_text(verdict)}});
  }
  return {&k_empty, {}};
}

std::vector<std::string> evidence_texts(const Job& job, const Verdict& verdict) {
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < std::min(verdict.blamed.size(), k_most_blamed); ++i)
    texts.push_back(blamed_evidence(job, verdict.blamed[i]));
  if (verdict.blamed.size() > k_most_blamed)
    texts.push_back(fmt::format("And {} more ranks.", verdict.blamed.size() - k_most_blamed));
  if (std::string advice = stack_advice(job, verdict); !advice.empty())
    texts.push_back(std::move(advice));
  if (verdict.mismatch && verdict.mismatch->elsewhere)
    texts.push_back(
        fmt::format("The others call {} {} than {} did: the order differs.",
                    call_name(verdict.mismatch->theirs),
                    *verdict.mismatch->elsewhere > verdict.mismatch->position ? "later" : "earlier",
                    ranks_text(verdict.mismatch->ranks)));
  if (verdict.call)
    if (const Call& call = call_at(job, *verdict.call); !call.where.empty())
      texts.push_back(stack_text(job.ranks[verdict.call->rank], call));
  for (const Standing& one : verdict.blamed)
    if (one.last && texts.size() < 2 * k_most_blamed)
      if (const Call& call = call_at(job, *one.last); !call.where.empty())
        texts.push_back(stack_text(job.ranks[one.last->rank], call));
  return texts;
}

} // namespace ncclprobe::analysis::hang
