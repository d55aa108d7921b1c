// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/doctor/diagnosis.h"

#include <algorithm>

namespace ncclprobe::analysis::doctor {
namespace {

const Finding* gravest_of(const std::vector<Finding>& findings,
                          std::initializer_list<std::string_view> ids) {
  const Finding* gravest = nullptr;
  for (const Finding& one : findings)
    if (std::find(ids.begin(), ids.end(), one.id) != ids.end() &&
        // What else stands between devices is a matter of speed.
        (one.id != "D13" || one.severity == Severity::fail) &&
        (gravest == nullptr || one.severity > gravest->severity ||
         // Where all rehearsals went well, the last is the one with all ranks.
         (one.id == "D27" && one.severity == Severity::ok && gravest->severity == Severity::ok)))
      gravest = &one;
  return gravest;
}

struct Question {
  const char* text;
  std::initializer_list<std::string_view> checks;
  const char* if_no; // the conclusion
};

bool has_gpus(const Case& one) {
  return std::any_of(one.surveys.begin(), one.surveys.end(),
                     [](const model::Survey& survey) { return !survey.inventory.gpus.empty(); });
}

// Or would have, if nothing was run.
bool ran_on_gpus(const Case& one) {
  return one.rehearsals.empty() ? has_gpus(one)
                                : std::any_of(one.rehearsals.begin(), one.rehearsals.end(),
                                              [](const Rehearsal& rehearsal) {
                                                return rehearsal.backend == "nvidia";
                                              });
}

} // namespace

Diagnosis diagnose(const Case& one, const std::vector<Finding>& findings) {
  const Question k_questions[] = {
      {"Do all ranks start, with one software?",
       {"D01", "D32"},
       "the launch is broken: nothing after it can be trusted"},
      {"Does the driver answer?",
       {"D02"},
       "the driver: neither CUDA nor PyTorch can work before it does"},
      {"Does the CUDA runtime suit the driver?",
       {"D04"},
       "driver against runtime: update the driver, or take a build for an older CUDA"},
      {"Have the libraries code for these GPUs?",
       {"D05"},
       "a build that leaves these GPUs out: 'no kernel image is available'"},
      {"Is each library mapped once, and the right one?",
       {"D06"},
       "two copies of a library in one process"},
      {"Has every rank a GPU and the memory it needs?",
       {"D07", "D08", "D20"},
       "the GPUs are taken, or wrongly dealt out"},
      {"Are GPUs, links and fabric well?",
       {"D09", "D11", "D12", "D13"},
       "the hardware: take the node out of service"},
      {"May the processes do what NCCL does?",
       {"D14", "D15", "D16", "D17", "D18"},
       "settings or limits of the environment"},
      {ran_on_gpus(one) ? "Do a kernel and an all-reduce run, with right data?"
                        : "Does an all-reduce run, with right data?",
       {"D27"},
       "the parts look right, but do not work together: see what the workers said last"},
  };
  Diagnosis diagnosis;
  bool stopped = false;
  for (const Question& question : k_questions) {
    Step step{question.text, Step::Answer::not_asked, ""};
    const Finding* found = gravest_of(findings, question.checks);
    if (found != nullptr) {
      if (found->severity != Severity::info) // says something, but not why
        step.because = found->what;
      bool nothing_to_ask = found->id == "D02" && found->severity == Severity::info; // no GPU
      if (nothing_to_ask)
        step.because = found->what;
      step.answer = nothing_to_ask                         ? Step::Answer::not_asked
                    : found->severity == Severity::fail    ? Step::Answer::no
                    : found->severity == Severity::unknown ? Step::Answer::unknown
                                                           : Step::Answer::yes;
    }
    // Later checks were made all the same, but what they found may follow from this.
    if (stopped && step.answer != Step::Answer::no)
      step.answer = Step::Answer::not_asked;
    if (stopped && step.answer == Step::Answer::not_asked)
      step.because.clear();
    if (step.answer == Step::Answer::no && !stopped) {
      stopped = true;
      bool never_began = found->id == "D27" && one.rehearsals.empty();
      diagnosis.conclusion = never_began ? found->what : question.if_no;
    }
    diagnosis.steps.push_back(std::move(step));
  }
  const Finding* ran = gravest_of(findings, {"D27"});
  if (!stopped)
    diagnosis.conclusion = ran == nullptr || ran->severity != Severity::ok
                               ? "nothing speaks against it, but no collective was run"
                           : has_gpus(one)
                               ? "collectives work here; what is below is about speed and risk"
                               : "no GPU here: what was proved is the CPU backend";
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
    if (!survey.mpi.empty())
      add({"MPI", survey.mpi, "", "", {}}, survey.ranks);
  return chain;
}

} // namespace ncclprobe::analysis::doctor
