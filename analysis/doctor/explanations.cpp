// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/doctor/explanations.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>

namespace ncclprobe::analysis::doctor {
namespace {

// Messages of CUDA, NCCL and the system that a check's finding explains.
struct Trace {
  std::string_view id;
  std::string_view kind; // of the finding, or how it begins
  std::string_view words;
};
constexpr auto k_traces = std::to_array<Trace>({
    {"D04", "", "driver version is insufficient"},
    {"D04", "", "unsupported toolchain"},
    {"D05", "", "no kernel image is available"},
    {"D07", "gpu_shared_by_ranks", "Duplicate GPU detected"},
    {"D08", "compute_prohibited", "devices are busy or unavailable"},
    {"D09", "", "system not yet initialized"},
    {"D11", "uncorrected_errors", "uncorrectable ECC error"},
    {"D11", "nvlink_", "uncorrectable NVLink error"},
    {"D15", "shm_", "No space left on device"},
    {"D15", "shm_", "/dev/shm"},
    {"D16", "memlock_limited", "ibv_reg_mr"},
    {"D16", "few_open_files", "Too many open files"},
    {"D18", "socket_ifname_matches_none", "no socket interface found"},
    {"D18", "no_interface", "no socket interface found"},
    {"D18", "same_address", "Connection refused"},
    {"D18", "ranks_cannot_connect", "Connection refused"},
    {"D18", "ranks_cannot_connect", "No route to host"},
    {"D20", "memory_short", "out of memory"},
    {"D32", "nccl_differs", "Mismatched NCCL versions"},
});

// Findings that can cause a failure whose message does not name them.
struct Possible {
  std::string_view id;
  CheckStatus least; // of the finding
  Symptom symptom;
};
constexpr auto k_possible = std::to_array<Possible>({
    {"D09", CheckStatus::fail, Symptom::hung},
    {"D11", CheckStatus::fail, Symptom::hung},
    {"D11", CheckStatus::fail, Symptom::wrong_data},
    {"D12", CheckStatus::fail, Symptom::hung},
    {"D13", CheckStatus::warn, Symptom::hung},
    {"D13", CheckStatus::warn, Symptom::wrong_data},
    {"D14", CheckStatus::fail, Symptom::did_not_start},
    {"D14", CheckStatus::fail, Symptom::failed},
    {"D14", CheckStatus::fail, Symptom::hung},
    {"D14", CheckStatus::fail, Symptom::wrong_data},
    {"D18", CheckStatus::fail, Symptom::did_not_start},
    {"D18", CheckStatus::fail, Symptom::hung},
    {"D32", CheckStatus::fail, Symptom::did_not_start},
    {"D32", CheckStatus::fail, Symptom::hung},
});

bool contains_words(std::string_view text, std::string_view words) {
  auto same = [](unsigned char a, unsigned char b) { return std::tolower(a) == std::tolower(b); };
  return std::search(text.begin(), text.end(), words.begin(), words.end(), same) != text.end();
}

bool shows(const CheckResult& failure, std::string_view words) {
  return std::ranges::any_of(failure.evidence,
                             [&](const std::string& line) { return contains_words(line, words); });
}

bool names(const CheckResult& failure, const CheckResult& cause) {
  for (const std::string& words : cause.shows_as)
    if (shows(failure, words))
      return true;
  return std::ranges::any_of(k_traces, [&](const Trace& trace) {
    return trace.id == cause.id && cause.what.kind.starts_with(trace.kind) &&
           shows(failure, trace.words);
  });
}

bool could_explain(const CheckResult& cause, const CheckResult& failure) {
  return std::ranges::any_of(k_possible, [&](const Possible& possible) {
    return possible.id == cause.id && cause.status >= possible.least &&
           possible.symptom == failure.symptom;
  });
}

bool is_failure(const CheckResult& finding) {
  return finding.symptom != Symptom::none && finding.status >= CheckStatus::unknown;
}

// The same message in both: one cause stopped both.
bool share_evidence(const CheckResult& one, const CheckResult& other) {
  return std::ranges::any_of(one.evidence, [&](const std::string& line) {
    return !line.empty() && std::ranges::find(other.evidence, line) != other.evidence.end();
  });
}

void explain_one(CheckResult& failure, const std::vector<CheckResult>& all) {
  for (const CheckResult& cause : all) {
    if (cause.symptom != Symptom::none || cause.status < CheckStatus::warn)
      continue;
    if (names(failure, cause)) {
      failure.follows_from = as_cause(cause);
      failure.may_be_of.clear();
      return;
    }
    if (could_explain(cause, failure))
      failure.may_be_of.push_back(as_cause(cause));
  }
}

// A trial that ended before its own work began shows what prevents the collective.
void join_starts(std::vector<CheckResult>& findings) {
  for (CheckResult& failure : findings) {
    if (failure.symptom != Symptom::did_not_start || failure.id == "D27")
      continue;
    for (const CheckResult& collective : findings)
      if (collective.id == "D27" && is_failure(collective) && share_evidence(failure, collective)) {
        failure.follows_from =
            collective.follows_from ? collective.follows_from : as_cause(collective);
        failure.may_be_of.clear();
      }
  }
}

bool explains_another(const CheckResult& cause, const std::vector<CheckResult>& all) {
  return std::ranges::any_of(
      all, [&](const CheckResult& failure) { return failure.follows_from == as_cause(cause); });
}

} // namespace

Cause as_cause(const CheckResult& finding) {
  return {finding.id, std::string(finding.what.kind), finding.what.text};
}

std::string in_words(const Cause& cause) {
  return cause.id + ": " + cause.what;
}

std::string in_words(const std::vector<Cause>& causes) {
  std::string words;
  for (const Cause& one : causes)
    words += (words.empty() ? "" : ", or by ") + in_words(one);
  return words;
}

void explain(std::vector<CheckResult>& findings) {
  for (CheckResult& finding : findings)
    if (is_failure(finding))
      explain_one(finding, findings);
  join_starts(findings);
  // A feature that could not start because of another finding was not tested.
  for (CheckResult& finding : findings)
    if (finding.symptom == Symptom::did_not_start && finding.id != "D27" && finding.follows_from)
      finding.status = CheckStatus::unknown;
  auto place = [&](const CheckResult& finding) {
    return finding.follows_from ? 2 : explains_another(finding, findings) ? 0 : 1;
  };
  std::vector<std::pair<int, CheckResult>> ranked;
  for (const CheckResult& finding : findings)
    ranked.emplace_back(place(finding), finding);
  std::stable_sort(ranked.begin(), ranked.end(), [](const auto& a, const auto& b) {
    return a.second.status != b.second.status ? a.second.status > b.second.status
                                              : a.first < b.first;
  });
  for (std::size_t i = 0; i < findings.size(); ++i)
    findings[i] = std::move(ranked[i].second);
}

} // namespace ncclprobe::analysis::doctor
