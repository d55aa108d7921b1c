// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

// D21, D23, D25, D27: a real kernel and a real collective.
#include "analysis/doctor/check_results.h"
#include "analysis/doctor/facts.h"
#include "base/readable_bytes.h"
#include "base/text_layout.h"
#include "workload/nccl_version.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <tuple>

namespace ncclprobe::analysis::doctor {
namespace {

using model::OutcomeKind;

// The large message may not fit in the remaining memory.
bool is_base(const SmokeTestCell& cell) {
  bool left_out = cell.outcome.kind == OutcomeKind::skipped && cell.label.bytes >= k_measured_bytes;
  return !is_graph(cell) && cell.label.type == model::DataType::f32 && !left_out;
}

std::string text_of(const SmokeTest& smoke_test, const SmokeTestCell& cell) {
  std::string text = fmt::format("{}, {} backend: {} of {} bytes in {}{}", smoke_test.name,
                                 smoke_test.backend, cell.label.workload(), cell.label.bytes,
                                 to_string(cell.label.type), is_graph(cell) ? " from a graph" : "");
  if (cell.outcome.ok())
    return fmt::format("{}: {} elements right", text, cell.elements);
  text += fmt::format(": {}", to_string(cell.outcome.kind));
  if (!cell.outcome.reason.empty())
    text += ", " + cell.outcome.reason;
  if (cell.outcome.reason.find(cell.first_wrong) == std::string::npos)
    text += ", " + cell.first_wrong;
  return text;
}

// "on all ranks (4 ranks)"
std::string where_it_ran(const SmokeTest& smoke_test) {
  const std::string ranks =
      base::count_of(static_cast<std::size_t>(smoke_test.ranks), "rank", "ranks");
  if (smoke_test.name == ranks)
    return "on " + ranks;
  return fmt::format("{} {} ({})", smoke_test.name == k_load ? "under" : "on", smoke_test.name,
                     ranks);
}

// On the CPU, no GPU kernel takes part.
std::string what_ran(const SmokeTest& smoke_test) {
  return smoke_test.backend == "nvidia" ? "a kernel and an all-reduce ran"
                                        : "an all-reduce ran without a GPU";
}

// The base cell decides whether collectives work; each further feature has its own check.
void check_end_to_end(const SmokeTest& smoke_test, CheckResults& into) {
  std::vector<std::string> seen;
  model::Outcome worst = smoke_test.cells.empty() ? smoke_test.outcome : model::Outcome{};
  for (const SmokeTestCell& cell : smoke_test.cells)
    if (is_base(cell)) {
      seen.push_back(text_of(smoke_test, cell));
      worst = model::worse(worst, cell.outcome);
    }
  bool crashed_elsewhere = smoke_test.outcome.kind == OutcomeKind::crashed && worst.ok();
  if (crashed_elsewhere)
    worst = smoke_test.outcome;
  if (worst.ok()) {
    into.add({"D27", CheckStatus::ok,
              What("all_reduce_ran", "{what} {where}",
                   {{"what", what_ran(smoke_test)}, {"where", where_it_ran(smoke_test)}}),
              seen});
    return;
  }
  if (worst.kind == OutcomeKind::not_run) {
    into.add({"D27",
              CheckStatus::unknown,
              {"collective_not_run", "the collective was not run"},
              {worst.reason}});
    return;
  }
  if (seen.empty() || !smoke_test.outcome.reason.empty())
    seen.push_back(smoke_test.outcome.reason);
  seen.insert(seen.end(), smoke_test.last_words.begin(), smoke_test.last_words.end());
  bool wrong = worst.kind == OutcomeKind::wrong_data;
  CheckResult finding{
      "D27",
      CheckStatus::fail,
      wrong ? What("all_reduce_wrong", "an all-reduce delivers wrong data ({test})",
                   {{"test", smoke_test.name}})
            : What("all_reduce_fails", "an all-reduce does not run ({test}): {outcome}",
                   {{"test", smoke_test.name}, {"outcome", worst.kind}}),
      seen,
      wrong ? "every result of this machine is in doubt"
            : "collectives do not run here with these libraries and this environment",
      "NCCL_DEBUG=INFO ncclprobe run --collectives all_reduce --sizes 1M --no-sweep "
      "2>&1 | ncclprobe doctor --log -",
      worst.ranks};
  finding.symptom =
      ended_before_its_cells(smoke_test) ? Symptom::did_not_start : symptom_of(worst.kind);
  into.add(std::move(finding));
}

// Further features.
struct Capability {
  const char* id;
  const char* what;
  int least_nccl; // the version that introduced it; 0: all have it
  bool (*is_it)(const SmokeTestCell&);
};
const Capability k_capabilities[] = {
    {"D21", "an all-reduce captured in a CUDA graph", 0, is_graph},
    {"D25", "a reduction in bf16", 21003,
     [](const SmokeTestCell& cell) { return cell.label.type == model::DataType::bf16; }},
    {"D25", "a reduction in fp8", 22403,
     [](const SmokeTestCell& cell) { return cell.label.type == model::DataType::f8e4m3; }},
};

// `nccl`: its version, if known. Only a version that is too old is given as the reason.
CheckResult failure_of(const Capability& capability, const std::optional<int>& nccl) {
  Object values{{"feature", capability.what}};
  const bool too_old = nccl && *nccl < capability.least_nccl;
  if (too_old)
    values.emplace_back("least_nccl", workload::nccl_version_text(capability.least_nccl));
  return {capability.id,
          CheckStatus::warn,
          What("feature_fails", "{feature} does not work", std::move(values)),
          {},
          "programs that use it fail, or fall back",
          too_old ? "it needs NCCL {least_nccl} or later"
                  : "the library's own message is shown above; NCCL_DEBUG=WARN ncclprobe doctor "
                    "shows more of it"};
}

void check_capability(const SmokeTest& smoke_test, const Capability& capability,
                      const std::optional<int>& nccl, CheckResults& into) {
  for (const SmokeTestCell& cell : smoke_test.cells) {
    if (!capability.is_it(cell))
      continue;
    // If the ranks stopped before any cell, this cell's needs are unknown.
    if (!cell.outcome.ok() && cell.outcome == smoke_test.cells.front().outcome)
      continue;
    const char* id = capability.id;
    std::string seen = text_of(smoke_test, cell);
    if (cell.outcome.ok())
      into.add({id,
                CheckStatus::ok,
                What("feature_works", "{feature} works", {{"feature", capability.what}}),
                {seen}});
    else if (cell.outcome.kind == OutcomeKind::skipped) // its reason says what is missing
      into.add({id,
                CheckStatus::info,
                What("feature_unavailable", "{feature} is not available here",
                     {{"feature", capability.what}}),
                {seen}});
    else if (cell.outcome.kind != OutcomeKind::not_run) {
      CheckResult failure = failure_of(capability, nccl);
      failure.evidence = {seen};
      failure.ranks = cell.outcome.ranks;
      into.add(std::move(failure));
    }
  }
}

// The algorithms that NCCL chose for the sizes that ran, according to its log.
void check_algorithms(const SmokeTest& smoke_test, CheckResults& into) {
  std::map<std::tuple<std::string, std::uint64_t, std::string>, std::string> by_size; // one line
  for (const ChosenAlgorithm& one : smoke_test.algorithms) {
    if (!is_named(one))
      continue;
    std::string algorithm =
        one.protocol.empty() ? one.algorithm : fmt::format("{}/{}", one.algorithm, one.protocol);
    by_size[{one.function, one.bytes, algorithm}] =
        fmt::format("{} of {} bytes: {}{}", one.function, one.bytes, algorithm,
                    one.channels > 0 ? ", " + base::count_of(static_cast<std::size_t>(one.channels),
                                                             "channel", "channels")
                                     : std::string());
  }
  if (by_size.empty())
    return;
  std::vector<std::string> choices;
  std::vector<std::string> seen;
  std::string before;
  for (const auto& [choice, line] : by_size) {
    const auto& [function, bytes, algorithm] = choice;
    choices.push_back(fmt::format("{}{} {}", function == before ? "" : function + " ",
                                  base::readable_bytes(bytes), algorithm));
    before = function;
    seen.push_back(line);
  }
  into.add({"D23", CheckStatus::info,
            What("algorithms", "NCCL chose, {where}: {choices}",
                 {{"where", where_it_ran(smoke_test)}, {"choices", choices}}),
            seen, "", "ncclprobe run --proof shows it for every size"});
}

} // namespace

void check_smoke_tests(const Case& one, CheckResults& into) {
  // A backend that was chosen automatically has a reason; one that the user requested but cannot
  // have has none.
  bool refused = !one.backend.empty() && one.backend_reason.empty();
  if (one.smoke_tests.empty() && refused)
    into.add({"D27",
              CheckStatus::fail,
              What("backend_unavailable", "the requested {backend} backend cannot run here",
                   {{"backend", one.backend}}),
              {one.not_tested},
              "no run with this backend can start",
              "ncclprobe doctor without --backend chooses one that works on this host"});
  else if (one.smoke_tests.empty())
    into.add({"D27",
              CheckStatus::unknown,
              {"no_collective", "no collective was run"},
              {one.not_tested}});
  for (const SmokeTest& smoke_test : one.smoke_tests) {
    if (smoke_test.name == k_copies)
      continue;
    check_end_to_end(smoke_test, into);
    check_algorithms(smoke_test, into);
    std::optional<int> nccl;
    if (smoke_test.backend == "nvidia" && !one.surveys.empty())
      nccl = nccl_place(one, one.surveys.front()).version;
    for (const Capability& capability : k_capabilities)
      check_capability(smoke_test, capability, nccl, into);
  }
}

} // namespace ncclprobe::analysis::doctor
