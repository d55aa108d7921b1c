// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/doctor/diagnosis.h"

#include "analysis/doctor/explanations.h"

#include <fmt/ranges.h>

#include <algorithm>

namespace ncclprobe::analysis::doctor {
namespace {

// Prefers findings that follow from no other finding.
const CheckResult* gravest_of(const std::vector<CheckResult>& findings,
                              std::initializer_list<std::string_view> ids) {
  for (bool consequences : {false, true}) {
    const CheckResult* gravest = nullptr;
    for (const CheckResult& one : findings)
      if (std::find(ids.begin(), ids.end(), one.id) != ids.end() &&
          one.follows_from.has_value() == consequences &&
          (gravest == nullptr || one.status > gravest->status ||
           // If all trials succeeded, the last one has all ranks.
           (one.id == "D27" && one.status == CheckStatus::ok &&
            gravest->status == CheckStatus::ok)))
        gravest = &one;
    if (gravest != nullptr)
      return gravest;
  }
  return nullptr;
}

struct Question {
  const char* text;
  std::initializer_list<std::string_view> checks;
  const char* without_gpu = nullptr; // the text if nothing ran on a GPU; null: the same
};
const Question k_questions[] = {
    {"Do all ranks start, with the same software?", {"D01", "D32"}},
    {"Does the driver answer?", {"D02"}},
    {"Is the CUDA runtime compatible with the driver?", {"D04"}},
    {"Do the libraries contain code for these GPUs?", {"D05"}},
    {"Is each library loaded once, and is it the right one?", {"D06"}},
    {"Does every rank have a GPU and enough memory?", {"D07", "D08", "D20"}},
    {"Are the GPUs, links and fabric healthy?", {"D09", "D11", "D12", "D36"}},
    {"Are the processes allowed to do what NCCL needs?", {"D14", "D15", "D16", "D17", "D18"}},
    {"Do a kernel and an all-reduce run, with correct data?",
     {"D27"},
     "Does an all-reduce run, with correct data?"},
};

// What a failure means for the whole job, judged by this failure alone.
std::string meaning_of(const Case& one, const CheckResult& root) {
  struct Meaning {
    std::string_view id;
    const char* text;
  };
  constexpr Meaning k_meanings[] = {
      {"D01", "the launch is broken: later results cannot be trusted"},
      {"D32", "the launch is broken: later results cannot be trusted"},
      {"D02", "fix the driver first: CUDA and PyTorch cannot work without it"},
      {"D04",
       "runtime and driver do not match: update the driver, or use a build for an older CUDA"},
      {"D05", "the build contains no code for these GPUs: 'no kernel image is available'"},
      {"D06", "two copies of a library are loaded into one process"},
      {"D07", "ranks and GPUs are assigned wrongly"},
      {"D08", "a GPU's compute mode does not admit these programs"},
      {"D09", "the NVLink fabric is not ready: fix the fabric manager first"},
      {"D20", "other processes use the GPUs' memory"},
  };
  for (const Meaning& meaning : k_meanings)
    if (meaning.id == root.id)
      return meaning.text;
  if (root.id == "D11") // its own text says what to do
    return "a GPU is not healthy: " + root.fix.text;
  if (root.id == "D12")
    return "a link between devices is not healthy: " + root.fix.text;
  bool wrong = root.symptom == Symptom::wrong_data;
  if (root.id == "D36")
    return wrong ? "direct GPU-to-GPU copies deliver wrong data: " + root.fix.text
                 : "GPUs cannot copy to each other: " + root.fix.text;
  if (root.id == "D27" && one.smoke_tests.empty())
    return root.what.text;
  if (root.id == "D27")
    return wrong ? "collectives deliver wrong data: do not use results from this machine"
                 : "each part looks right, but together they fail: see the workers' last output";
  return "settings or limits of the environment: " + root.fix.text;
}

// The root cause, then the other failures: those that it may explain, and those with no visible
// connection.
void conclude(const Case& one, const CheckResult& root, const std::vector<CheckResult>& findings,
              Diagnosis& diagnosis) {
  diagnosis.overall = Diagnosis::Overall::fails;
  diagnosis.root = root.id;
  std::string& text = diagnosis.conclusion;
  text = fmt::format("{} ({})", meaning_of(one, root), root.id);
  if (!root.may_be_of.empty())
    text += "; possibly caused by " + in_words(root.may_be_of.front());
  std::vector<std::string> maybe;
  std::vector<std::string> apart;
  for (const Question& question : k_questions)
    for (const CheckResult& other : findings) {
      bool asked = std::find(question.checks.begin(), question.checks.end(), other.id) !=
                   question.checks.end();
      if (!asked || other.status != CheckStatus::fail || other.follows_from || &other == &root)
        continue;
      bool possible = std::ranges::find(other.may_be_of, as_cause(root)) != other.may_be_of.end();
      (possible ? maybe : apart).push_back(fmt::format("{}, {}", other.id, other.what.text));
      (possible ? diagnosis.may_follow : diagnosis.unrelated).push_back(other.id);
    }
  if (!maybe.empty())
    text += fmt::format(". It may also have caused (not proven): {}", fmt::join(maybe, "; "));
  if (!apart.empty())
    text += fmt::format(". Other failures, apparently unrelated: {}", fmt::join(apart, "; "));
}

bool has_gpus(const Case& one) {
  return std::any_of(one.surveys.begin(), one.surveys.end(),
                     [](const model::Survey& survey) { return !survey.inventory.gpus.empty(); });
}

// Or would have run, if nothing was run.
bool ran_on_gpus(const Case& one) {
  return one.smoke_tests.empty() ? has_gpus(one)
                                 : std::any_of(one.smoke_tests.begin(), one.smoke_tests.end(),
                                               [](const SmokeTest& smoke_test) {
                                                 return smoke_test.backend == "nvidia";
                                               });
}

} // namespace

Diagnosis diagnose(const Case& one, const std::vector<CheckResult>& findings) {
  Diagnosis diagnosis;
  const CheckResult* root = nullptr;
  for (const Question& question : k_questions) {
    const bool as_without_gpu = question.without_gpu != nullptr && !ran_on_gpus(one);
    Step step{as_without_gpu ? question.without_gpu : question.text,
              {question.checks.begin(), question.checks.end()},
              Step::Answer::not_asked,
              ""};
    const CheckResult* found = gravest_of(findings, question.checks);
    bool follows = found != nullptr && found->follows_from;
    if (found != nullptr) {
      if (found->status != CheckStatus::info) // informational findings give no reason
        step.because = found->what.text;
      if (follows)
        step.because += "; caused by " + in_words(*found->follows_from);
      bool nothing_to_ask = found->id == "D02" && found->status == CheckStatus::info; // no GPU
      if (nothing_to_ask)
        step.because = found->what.text;
      step.answer = nothing_to_ask                          ? Step::Answer::not_asked
                    : found->status == CheckStatus::fail    ? Step::Answer::no
                    : found->status == CheckStatus::unknown ? Step::Answer::unknown
                                                            : Step::Answer::yes;
    }
    // The later checks ran, but their findings may be consequences of this one.
    if (root != nullptr && step.answer != Step::Answer::no) {
      step.answer = Step::Answer::not_asked;
      step.because.clear();
    }
    if (step.answer == Step::Answer::no && !follows && root == nullptr)
      root = found;
    diagnosis.steps.push_back(std::move(step));
  }
  const CheckResult* ran = gravest_of(findings, {"D27"});
  if (root != nullptr) {
    conclude(one, *root, findings, diagnosis);
  } else if (ran == nullptr || ran->status != CheckStatus::ok) {
    diagnosis.conclusion = "no check failed, but no collective was run";
  } else if (has_gpus(one)) {
    diagnosis.overall = Diagnosis::Overall::works;
    diagnosis.conclusion = "collectives work here; the findings concern speed and risk";
  } else {
    diagnosis.overall = Diagnosis::Overall::works_without_gpu;
    diagnosis.conclusion = "no GPU here: only the CPU backend was tested";
  }
  return diagnosis;
}

std::vector<ChainLink> software_chain(const Case& one) {
  std::vector<ChainLink> chain;
  auto add = [&](ChainLink link, const std::vector<int>& ranks) {
    auto same = std::find_if(chain.begin(), chain.end(), [&](const ChainLink& other) {
      return other.part == link.part && other.version == link.version && other.path == link.path &&
             other.problem == link.problem;
    });
    if (same == chain.end())
      same = chain.insert(chain.end(), std::move(link));
    same->ranks.insert(same->ranks.end(), ranks.begin(), ranks.end());
  };
  constexpr std::pair<const char*, const char*> k_parts[] = {{"driver", "cuda_driver"},
                                                             {"CUDA runtime", "cuda_runtime"},
                                                             {"NCCL", "nccl"},
                                                             {"CUPTI", "cupti"},
                                                             {"Gloo", "gloo"}};
  for (const auto& [part, name] : k_parts)
    for (const model::Survey& survey : one.surveys)
      if (const model::Library* library = survey.inventory.library(name))
        add({part, library->version, library->path, library->problem, {}}, survey.ranks);
  for (const model::Survey& survey : one.surveys)
    if (!survey.worker_program.empty())
      add({"worker", survey.worker_program, "chosen: " + survey.worker_chosen_because, "", {}},
          survey.ranks);
  for (const model::Survey& survey : one.surveys)
    if (!survey.mpi.empty())
      add({"MPI", survey.mpi, "", "", {}}, survey.ranks);
  return chain;
}

} // namespace ncclprobe::analysis::doctor
