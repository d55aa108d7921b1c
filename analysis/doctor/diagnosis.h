// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/doctor/check_result.h"
#include "analysis/survey/case.h"

#include <optional>
#include <string>
#include <vector>

namespace ncclprobe::analysis::doctor {

// One question of the decision tree. Each question assumes that the earlier ones were answered with
// yes.
struct Step {
  enum class Answer { yes, no, unknown, not_asked };
  std::string question;
  std::vector<std::string> checks; // that answer it
  Answer answer = Answer::not_asked;
  std::string because; // what was found
};
constexpr auto enum_names(Step::Answer) {
  using enum Step::Answer;
  return std::to_array<std::pair<Step::Answer, std::string_view>>(
      {{yes, "yes"}, {no, "NO"}, {unknown, "unknown"}, {not_asked, "not asked"}});
}
NCCLPROBE_FIELDS(Step, question, checks, answer, because)

struct Diagnosis {
  enum class Overall { works, works_without_gpu, not_tried, fails };
  std::vector<Step> steps;
  Overall overall = Overall::not_tried;
  std::optional<std::string> root;     // the check whose finding is the root cause, if it fails
  std::vector<std::string> may_follow; // other checks that fail, perhaps because of it
  std::vector<std::string> unrelated;  // others that fail, without a visible connection
  std::string conclusion;              // in words
};
NCCLPROBE_FIELDS(Diagnosis, steps, overall, root, may_follow, unrelated, conclusion)
Diagnosis diagnose(const Case& one, const std::vector<CheckResult>& findings);

// A library that collectives need, as it is loaded.
struct ChainLink {
  std::string part; // "driver", "CUDA runtime", "NCCL", "CUPTI", "MPI"
  std::string version;
  std::string path;
  std::string problem;
  std::vector<int> ranks; // ranks that have it
};
NCCLPROBE_FIELDS(ChainLink, part, version, path, problem, ranks)
// One row per part, version and path.
std::vector<ChainLink> software_chain(const Case& one);

} // namespace ncclprobe::analysis::doctor
